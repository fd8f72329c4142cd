"""The place where PyTorch keeps the tracer."""

from genesis.fx.tracer import ProxyableClassMeta, Tracer, symbolic_trace, wrap

__all__ = ["ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]


def is_fx_tracing() -> bool:
    """Whether a trace is being made now, in which values are proxies."""
    from genesis.nn.modules.module import Module

    return "__call__" in vars(Module)


is_fx_symbolic_tracing = is_fx_tracing
