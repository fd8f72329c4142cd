"""Programs that PyTorch exports: Genesis makes none."""

from __future__ import annotations

from genesis.torch.compat._absent import absent_class, absent_function

__all__ = ["Dim", "ExportedProgram", "export", "export_for_training", "load", "save"]

_INSTEAD = "save the state_dict and export the model with PyTorch"
Dim = absent_class("export.Dim", _INSTEAD)
ExportedProgram = absent_class("export.ExportedProgram", _INSTEAD)
export, export_for_training, load, save, register_dataclass = (
    absent_function(f"export.{name}", _INSTEAD)
    for name in ("export", "export_for_training", "load", "save", "register_dataclass")
)
