"""The same call in PyTorch and in Genesis: arguments are converted, results are compared."""

from __future__ import annotations

from typing import Any

import genesis
import numpy as np
import torch


def to_genesis(value: Any) -> Any:
    """A value of PyTorch, or a structure of them, as ours."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().resolve_neg()
        if value.dtype is torch.bfloat16:
            made = genesis.from_numpy(array.float().numpy().copy()).bfloat16()
        else:
            made = genesis.from_numpy(array.numpy().copy())
        return made.requires_grad_(True) if value.requires_grad else made
    if isinstance(value, torch.Size):
        return genesis.Size(value)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(genesis, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return genesis.device(str(value))
    if isinstance(value, dict):
        return {key: to_genesis(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*map(to_genesis, (value.start, value.stop, value.step)))
    if type(value) in (list, tuple):
        return type(value)(map(to_genesis, value))
    return value


def leaves(value: Any, kind: type) -> list[Any]:
    """The tensors in a structure."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item, kind)]
    return []


def array(value: Any) -> np.ndarray:
    value = value.detach()
    if str(value.dtype).endswith("bfloat16"):
        value = value.float()
    return (
        value.numpy()
        if isinstance(value, genesis.Tensor)
        else value.resolve_conj().resolve_neg().numpy()
    )


def name_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def assert_same(
    ours: Any, theirs: Any, values: bool = True, rtol: float = 1e-7, grad: bool = True
) -> None:
    """The same structure, shapes, dtypes, whether gradients flow, and values."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, genesis.Tensor), f"a {type(ours).__name__}, not a tensor"
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert name_of(ours.dtype) == name_of(theirs.dtype)
        assert not grad or ours.requires_grad == theirs.requires_grad, "requires_grad"
        if values:
            expected = array(theirs)
            atol = 1e-9
            if expected.dtype in (np.float32, np.complex64):  # sums may cancel
                finite = np.abs(expected[np.isfinite(expected)])
                atol = 1e-7 + 1e-6 * float(finite.max(initial=0))
            np.testing.assert_allclose(array(ours), expected, rtol=rtol, atol=atol)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)), f"a {type(ours).__name__}, not a sequence"
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b, values, rtol, grad)
    elif isinstance(theirs, (bool, int, float, complex, str, type(None))):
        assert not values or ours == theirs or (ours != ours and theirs != theirs)


def assert_same_gradients(
    ours: Any, our_inputs: list[Any], theirs: Any, their_inputs: list[Any], rtol: float = 1e-6
) -> None:
    """The same gradients, for the same random gradients of the results."""
    outputs = [t for t in leaves(theirs, torch.Tensor) if t.requires_grad]
    mine = [t for t in leaves(ours, genesis.Tensor) if t.requires_grad]
    if not outputs or not their_inputs:
        return
    rng = np.random.default_rng(0)
    seeds = []
    for t in outputs:
        seed = rng.normal(size=tuple(t.shape))
        if t.is_complex():
            seed = seed + 1j * rng.normal(size=tuple(t.shape))
        seeds.append(torch.tensor(seed, dtype=t.dtype))
    expected = torch.autograd.grad(outputs, their_inputs, seeds, allow_unused=True)
    found = genesis.autograd.grad(mine, our_inputs, to_genesis(seeds), allow_unused=True)
    for a, b in zip(found, expected, strict=True):
        if a is None or b is None:  # zero, said in two ways
            assert all(g is None or not g.any() for g in (a, b))
        else:
            assert tuple(a.shape) == tuple(b.shape)
            np.testing.assert_allclose(array(a), array(b), rtol=rtol, atol=1e-8)
