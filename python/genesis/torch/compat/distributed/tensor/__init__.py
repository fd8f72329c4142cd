"""Parts of ``torch.distributed.tensor`` that ``genesis.distributed.tensor`` does not have."""
