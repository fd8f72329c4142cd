"""Every public callable, and what its parameters are for by their names."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import genesis
import genesis.nn.utils.parametrizations
from genesis import nn

from tests.ops.op import Op
from tests.ops.table import OPS

MODULES = {
    "genesis": genesis,
    "genesis.linalg": genesis.linalg,
    "genesis.special": genesis.special,
    "genesis.nn.functional": nn.functional,
    "genesis.nn.init": nn.init,
    "genesis.nn.utils": nn.utils,
    "genesis.nn.utils.rnn": nn.utils.rnn,
    "genesis.func": genesis.func,
    "genesis.autograd": genesis.autograd,
    "genesis.autograd.functional": genesis.autograd.functional,
    "genesis.testing": genesis.testing,
    "genesis.random": genesis.random,
    "genesis.debug": genesis.debug,
    "genesis.amp": genesis.amp,
}

# These change the process, so that the next case would not be the same alone; or they write files.
LEFT_OUT = set(
    [
        "set_num_threads",
        "set_default_dtype",
        "set_printoptions",
        "set_rng_state",
        "set_autocast_dtype",
        "seed",
        "set_autocast_cache_enabled",
        "set_autocast_enabled",
        "set_autocast_cpu_dtype",
        "set_autocast_cpu_enabled",
        "set_anomaly_enabled",
        "load",
        "save",
        "clear_autocast_cache",
        "autocast_increment_nesting",
        "autocast_decrement_nesting",
        "printoptions",
        "fork_rng",
        "__class__",
        "__init__",
        "__new__",
        "__init_subclass__",
        "__subclasshook__",
        "__getattribute__",
        "__setattr__",
        "__delattr__",
        "__del__",
        "__dir__",
        "__sizeof__",
        "__buffer__",
        "__release_buffer__",
        "__class_getitem__",
        "share_memory_",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "data_ptr",
        "__dlpack__",
        "_set_parameter",
        "set_grad_enabled",
        "set_detect_anomaly",
        "set_multithreading_enabled",
        "inference_mode",
        "checkpoint",
    ]
)

# Which of Arguments makes a parameter of a name.
KINDS: dict[str, str] = {}
for _kind, _names in {
    "tensor": "input self tensor mat mat1 mat2 vec vec1 vec2 batch1 batch2 weight bias src source a b "
    "mask condition tensor1 tensor2 target running_mean running_var query key out the_template "
    "input1 input2 x1 x2 x y A B gradient q p_matrix log_probs anchor positive negative var",
    "index": "index indices target_lengths input_lengths offsets",
    "tensor_or_number": "other value exponent end start mean std min max repeats",
    "number": "alpha beta p low high step lambd sigma median to from_ base fill_value threshold s "
    "negative_slope rtol atol eps margin lambda_ gain momentum lower upper temperature tau delta",
    "integer": "dim0 dim1 n m steps num_samples num_classes padding_idx k storage_offset count offset "
    "start_dim end_dim length dimension sections chunks minlength bins divisor_override N r groups "
    "upscale_factor downscale_factor diagonal order num_groups num_heads size_average blank",
    "integers": "size sizes shape stride shapes repeats reps kernel_size padding dilation pad "
    "output_padding output_size normalized_shape scale_factor split_size_or_sections shifts",
    "dims": "dim dims axis axes source_dim destination dim_1 dim_2",
    "data_type": "dtype type1 type2",
    "flag": "keepdim requires_grad replacement training inplace descending stable largest sorted "
    "unbiased accumulate right upper return_inverse return_counts full log_input align_corners "
    "ceil_mode count_include_pad affine batch_first",
    "tensors_of": "tensors arrays xi",
    "word": "reduction mode equation reduce approximate indexing rounding_mode side ord driver",
}.items():
    KINDS |= dict.fromkeys(_names.split(), _kind)


@dataclass
class Public:
    """A callable, how to write a call of it, and the rows of the op table that say how it is used."""

    path: str  # genesis.nn.functional.conv2d, or Tensor.add_
    function: Callable[..., Any]
    parameters: list[inspect.Parameter]
    rows: list[Op] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def writes(self) -> bool:
        """It is meant to change what it is given."""
        name = self.name
        if name.startswith("__"):
            return (name.startswith("__i") and name not in ("__invert__", "__int__", "__index__", "__iter__")) or name in ("__setitem__", "__setstate__")  # fmt: skip
        return name.endswith("_") or self.path.startswith(("genesis.nn.init", "genesis.nn.utils")) or name in ("backward", "retain_grad")  # fmt: skip

    def names(self) -> list[str]:
        """An error must have one of these."""
        short = self.name.strip("_").lower().removeprefix("linalg_").removeprefix("special_")
        called = [short, short.removeprefix("i"), short.removeprefix("r"), f"{short}_"]
        called += [row.called.lower() for row in self.rows if row.called]
        called += [row.name.rpartition(".")[2].lower() for row in self.rows]
        return [name for name in called if name] + ALSO.get(short, [])


# What errors of operators and of aliases say.
ALSO = {
    "getitem": ["index"], "setitem": ["index"], "truediv": ["div"], "floordiv": ["floor_divide"], "mod": ["remainder"],
    "lshift": ["bitwise_left_shift"], "rshift": ["bitwise_right_shift"], "and": ["bitwise_and"], "or": ["bitwise_or"],
    "xor": ["bitwise_xor"], "invert": ["bitwise_not"], "array": ["numpy"], "len": ["len"], "bool": ["bool"],
}  # fmt: skip


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _rows() -> dict[str, list[Op]]:
    rows: dict[str, list[Op]] = {}
    for op in OPS:
        rows.setdefault(op.name.rpartition(".")[2], []).append(op)
    return rows


def public() -> list[Public]:
    rows = _rows()
    found: dict[Any, Public] = {}

    def add(path: str, function: Callable[..., Any]) -> None:
        name = path.rpartition(".")[2]
        if name in LEFT_OUT or any(function is p.function for p in found.values()):
            return
        plain = name.strip("_")
        matching = rows.get(name) or rows.get(plain) or rows.get(plain.removeprefix("i")) or []
        found[path] = Public(path, function, _parameters(function), matching)

    for path, module in MODULES.items():
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if name.startswith("_") or not isinstance(
                value, (types.FunctionType, types.BuiltinFunctionType)
            ):
                continue
            if name not in getattr(module, "__all__", [name]) or value.__module__ in (
                "typing",
                "math",
            ):
                continue
            add(f"{path}.{name}", value)
    for name in sorted(dir(genesis.Tensor)):
        value = getattr(genesis.Tensor, name, None)
        if callable(value) and not (name.startswith("_") and not name.startswith("__")):
            add(f"Tensor.{name}", value)
    return list(found.values())
