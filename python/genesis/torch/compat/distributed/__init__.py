"""Submodules of ``torch.distributed`` that ``genesis.distributed`` does not have."""
