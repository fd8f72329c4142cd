"""Private names of ``torch.nn.parameter``."""

from genesis.nn.parameter import Parameter

__all__ = ["_ParameterMeta"]

_ParameterMeta = type(Parameter)
