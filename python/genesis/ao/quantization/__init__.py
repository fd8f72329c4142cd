"""Quantization: marks in a model, which do nothing until it is converted; that raises."""

from __future__ import annotations

from typing import Any, NoReturn

from genesis._C import Tensor
from genesis._missing import explain
from genesis.nn.modules.module import Module

__all__ = [
    "DeQuantStub",
    "FakeQuantizeBase",
    "ObserverBase",
    "QuantStub",
    "QuantWrapper",
    "convert",
    "fuse_modules",
    "prepare",
    "prepare_qat",
    "quantize_dynamic",
]


def _no_quantization(what: str) -> NoReturn:
    raise RuntimeError(
        f"quantization.{what}: Genesis has no quantized operators; use float16 or bfloat16 to save "
        "memory"
    )


class QuantStub(Module):
    """Where a model begins to be quantized; the identity until then."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a model ends to be quantized; the identity until then."""


class QuantWrapper(Module):
    """A model between the two marks."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant = QuantStub()
        self.dequant = DeQuantStub()
        self.module = module

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


class ObserverBase(Module):
    """Modules that look at values to choose a scale. There are none."""


class FakeQuantizeBase(Module):
    """Modules that round as quantization would. There are none."""


def fuse_modules(model: Module, modules_to_fuse: Any, inplace: bool = False, **kw: Any) -> Module:
    """Raises, as there is nothing to fuse for; see ``nn.utils.fusion`` for batch norms."""
    _no_quantization("fuse_modules")


def prepare(model: Module, inplace: bool = False, **kwargs: Any) -> Module:
    """Raises: there are no quantized operators."""
    _no_quantization("prepare")


def prepare_qat(model: Module, mapping: Any = None, inplace: bool = False) -> Module:
    """Raises: there are no quantized operators."""
    _no_quantization("prepare_qat")


def convert(module: Module, mapping: Any = None, inplace: bool = False, **kwargs: Any) -> Module:
    """Raises: there are no quantized operators."""
    _no_quantization("convert")


def quantize_dynamic(model: Module, *args: Any, **kwargs: Any) -> Module:
    """Raises: there are no quantized operators."""
    _no_quantization("quantize_dynamic")


explain(globals())
