"""``torch.nn.modules.rnn`` has the cells as well."""

from genesis.nn.modules.rnn_cell import RNNCellBase

__all__ = ["RNNCellBase"]
