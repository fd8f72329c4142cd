"""How typed code uses genesis. mypy reads this file (test_types.py); nobody runs it."""

from typing import Any

import genesis
import numpy as np
from genesis import Tensor, nn, optim
from genesis.autograd import grad, gradcheck
from genesis.nn import functional as F
from typing_extensions import assert_type


def creation(array: "np.ndarray[Any, Any]") -> list[Tensor]:
    made = [
        genesis.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        genesis.from_numpy(array),
        genesis.zeros(2, 3),
        genesis.zeros((2, 3), dtype=genesis.float64, device="cpu"),
        genesis.full((2,), 7, dtype="int32"),
        genesis.arange(0, 10, 2),
        genesis.rand(3, generator=genesis.Generator().manual_seed(0)),
        genesis.randint(0, 10, (3,)),
        genesis.normal(0.0, 1.0, (2,)),
        genesis.Tensor([1.0]),
    ]
    shape: tuple[int, ...] = made[0].numpy().shape
    assert len(shape) == made[0].ndim
    return made


def properties(x: Tensor) -> None:
    assert_type(x.shape, genesis.Size)
    assert_type(x.size(), genesis.Size)
    assert_type(x.size(0), int)
    assert_type(x.size + 1, int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.grad, Tensor | None)
    assert_type(x.requires_grad, bool)
    assert_type(x.dtype, genesis.dtype)
    assert_type(x.numel(), int)
    rows, columns = x.shape
    assert_type(rows * columns, int)
    x.grad = None
    x.requires_grad = True


def arithmetic(x: Tensor, y: Tensor) -> Tensor:
    z = x + y * 2 - 1.5 / x
    assert_type(z, Tensor)
    assert_type(x @ y, Tensor)
    assert_type(-x, Tensor)
    assert_type(x == y, Tensor)
    assert_type(x < 3, Tensor)
    x += 1
    assert_type(x.add_(1), Tensor)
    assert_type(x[0, ..., None], Tensor)
    x[0] = 5
    assert_type(x.sum(dim=0, keepdim=True), Tensor)
    assert_type(x.mean(dim=(0, 1)), Tensor)
    assert_type(x.sort(dim=0).values, Tensor)
    assert_type(x.float().exp().clamp(min=0.0), Tensor)
    assert_type(float(x), float)
    for row in x:
        assert_type(row, Tensor)
    return F.softmax(z, dim=-1)


def gradients(x: Tensor) -> bool:
    with genesis.no_grad():
        x.mul_(2)
    with genesis.set_grad_enabled(False), genesis.inference_mode():
        pass
    (g,) = grad((x * x).sum(), x, create_graph=True)
    assert_type(g, Tensor)
    handle = x.register_hook(lambda dy: dy * 2)
    handle.remove()
    g.sum().backward(retain_graph=True)
    return gradcheck(lambda t: (t * t).sum(), x)


@genesis.no_grad()
def decorated(x: int) -> str:
    return str(x)


@genesis.no_grad
def plainly_decorated(x: int) -> str:
    return str(x)


assert_type(decorated(1), str)
assert_type(plainly_decorated(1), str)


def training() -> None:
    w = nn.Parameter(genesis.ones(2))
    assert_type(nn.Linear(2, 3), nn.Linear)
    assert_type(w.detach(), Tensor)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    optimizer.zero_grad()
    F.relu(w).sum().backward()
    optimizer.step()
    assert_type(genesis.finfo(genesis.float32).eps, float)
    assert_type(genesis.memory.allocated(), int)


class Square(genesis.Function):
    @staticmethod
    def forward(ctx: genesis.autograd.Context, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.note = "free"
        return x * x

    @staticmethod
    def backward(ctx: genesis.autograd.Context, dy: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * dy


def recording(x: Tensor) -> None:
    tape = genesis.Tape()
    with tape:
        y = Square.apply(x)
    grads = tape.backward(y)
    assert_type(grads[x], Tensor)
    assert_type(grads.get(x), Tensor | None)
    assert_type(tape.operations[0].name, str)
    with genesis.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        x.exp()


def fitting(x: Tensor) -> None:
    history = genesis.fit(nn.Linear(2, 1), (x, x), nn.MSELoss(), metrics="mae")
    assert_type(history.last("val_mae"), float)
    assert_type(history["loss"], list[float])
    accuracy = genesis.metrics.Accuracy()
    accuracy.update(x, x)
    assert_type(accuracy.compute(), Tensor)
    assert_type(accuracy.merge(genesis.metrics.Accuracy()), genesis.metrics.Accuracy)
    assert_type(genesis.data.transforms.Resize(8)(x), Tensor)
