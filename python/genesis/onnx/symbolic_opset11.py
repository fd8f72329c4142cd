"""Rules of the ONNX exporter, which is not there: each raises when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis.onnx import OnnxExporterError


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(name)

    def rule(*args: Any, **kwargs: Any) -> Any:
        raise OnnxExporterError(f"onnx.symbolic_opset11.{name}: Genesis does not write ONNX files")

    return rule
