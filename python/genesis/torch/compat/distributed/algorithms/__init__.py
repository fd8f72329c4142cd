"""Parts of ``torch.distributed.algorithms`` that Genesis does not have."""
