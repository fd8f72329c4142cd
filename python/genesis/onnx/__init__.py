"""ONNX files: Genesis does not write them, and queries say so."""

from __future__ import annotations

from typing import Any

from genesis._missing import explain

__all__ = ["OnnxExporterError", "export", "is_in_onnx_export", "register_custom_op_symbolic"]


class OnnxExporterError(RuntimeError):
    """A model could not be exported."""


def is_in_onnx_export() -> bool:
    """Whether a model is being exported now: no."""
    return False


def export(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: save the weights with ``genesis.save`` and export the model with PyTorch."""
    raise OnnxExporterError(
        "onnx.export: Genesis does not write ONNX files; save the state_dict as .safetensors, load "
        "it into the same model with PyTorch, and export that"
    )


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Nothing: a rule for the exporter, which is not there."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing: a rule for the exporter, which is not there."""


def select_model_mode_for_export(model: Any, mode: Any) -> Any:
    """A block in which the model is in this mode."""
    import contextlib

    return contextlib.nullcontext()


explain(globals())
