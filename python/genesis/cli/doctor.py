"""`genesis doctor`: is this installation in order? Gradients, threads, files, decompositions."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn
from genesis._console import Console
from genesis._environment import describe
from genesis.autograd import gradcheck, gradgradcheck
from genesis.cli.arguments import Parser
from genesis.report._format import plural

Op = Callable[..., Any]

_SECOND = (
    "exp", "sigmoid", "pow", "matmul", "softmax", "gelu", "F.conv2d", "F.layer_norm",
    "F.attention", "F.cross_entropy",
)  # fmt: skip

_ADVICE = (
    "Something is wrong with this installation. Reinstall it first: pip install --force-reinstall "
    "genesis-autograd. If that does not mend it, report the lines above and `genesis info`."
)


_NOT_BY_THE_FIRST = (
    "igamma",
    "igammac",
    "special_zeta",
)  # have no derivative by their first tensor
_ELEMENTWISE = ("pointwise", "activation", "reduction", "scan")


def _smooth_operators(
    tensors: tuple[Tensor, ...],
) -> Iterator[tuple[str, tuple[Op, tuple[Tensor, ...]]]]:
    """Operators of one or two tensors, with the tensors if they have a gradient there."""
    for op in genesis._C.op_info():
        required = [p["type"] for p in op["params"] if p["default"] is None]
        dims = ["int"] if required[-1:] == ["int"] else []
        wanted = len(required) - len(dims)
        fits = 1 <= wanted <= 2 and all(t in ("Tensor", "Operand") for t in required[:wanted])
        if not fits or not op["function"] or op["returns"] != "Tensor":
            continue
        if op["kind"] not in _ELEMENTWISE:
            continue
        leaves = tuple(t.detach().requires_grad_() for t in tensors[:wanted])
        if op["name"] in _NOT_BY_THE_FIRST:
            leaves = (leaves[0].detach(), *leaves[1:])
        if "_polynomial_" in op["name"]:  # has no derivative by its degree
            leaves = (leaves[0], leaves[1].detach())
        function = functools.partial(_call, getattr(genesis._C, op["name"]), (1,) * len(dims))
        try:
            result = function(*leaves)
        except (genesis.ShapeError, genesis.DTypeError):  # of integers, or of other shapes
            continue
        if result.requires_grad and bool(result.isfinite().all()):
            yield op["name"].strip("_"), (function, leaves)


def _call(function: Op, more: tuple[int, ...], *tensors: Tensor) -> Tensor:
    result: Tensor = function(*tensors, *more)
    return result


def gradient_table() -> dict[str, tuple[Op, tuple[Tensor, ...]]]:
    """Operations with arguments at which they are smooth, in float64.

    >>> len(gradient_table()) > 90
    True
    """
    generator = genesis.Generator().manual_seed(5)

    def draw(*shape: int) -> Tensor:
        x = genesis.randn(*shape, generator=generator, dtype=genesis.float64)
        return (x + 0.1 * x.sign()).requires_grad_()  # away from kinks at 0

    def positive(*shape: int) -> Tensor:
        return (draw(*shape).detach().abs() + 0.5).requires_grad_()

    x, y, p, m = draw(3, 4), draw(3, 4), positive(3, 4), draw(4, 5)
    unit = (draw(3, 4).detach().tanh() * 0.8).requires_grad_()
    square = (draw(3, 3).detach() + 4 * genesis.eye(3, dtype=genesis.float64)).requires_grad_()
    label = genesis.tensor([1, 0, 3])
    index = genesis.tensor([[0, 1], [2, 2], [1, 0]])
    table = dict(_smooth_operators((unit.abs() + 0.1, positive(3, 4))))
    definite = (square @ square.T).detach().requires_grad_()
    table["linalg.cholesky"] = (lambda a: genesis.linalg.cholesky(a @ a.T), (square,))
    for name in ("det", "inverse", "logdet", "matrix_exp"):
        table[name] = (getattr(genesis, name), (definite,))
    image, kernel, bias = draw(2, 3, 5, 5), draw(4, 3, 3, 3), draw(4)
    q, k, v = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 6)
    shares = F.softmax(y.detach(), 1)
    table |= {
        "pow": (lambda a, b: a**b, (p, y)),
        "where": (lambda a, b: genesis.where(x > 0, a, b), (x, y)),
        "clamp": (lambda a: a.clamp(-0.7, 0.9), (x,)),
        "cat": (lambda a, b: genesis.cat([a, b], 1), (x, y)),
        "stack": (lambda a, b: genesis.stack([a, b]), (x, y)),
        "getitem": (lambda a: a[1:, ::2] * a[:2, [0, 3]], (x,)),
        "gather": (lambda a: a.gather(1, index), (x,)),
        "scatter_add": (lambda a, b: a.scatter_add(1, index, b[:, :2]), (x, y)),
        "index_select": (lambda a: a.index_select(0, label % 3), (x,)),
        "sort": (lambda a: a.sort(1).values, (x,)),
        "topk": (lambda a: a.topk(2, 1).values, (x,)),
        "matmul": (lambda a, b: a @ b, (x, m)),
        "einsum": (lambda a, b: genesis.einsum("ij,jk->ki", a, b), (x, m)),
        "bmm": (lambda a, b: a @ b.transpose(1, 2), (q, k)),
        "in-place": (lambda a, b: a.clone().mul_(b).add_(a), (x, y)),
        "linalg.solve": (lambda a, b: genesis.linalg.solve(a, b), (square, draw(3, 2))),
        "linalg.slogdet": (lambda a: genesis.linalg.slogdet(a)[1], (square,)),
        "linalg.svd": (lambda a: genesis.linalg.svdvals(a), (draw(3, 4),)),
        "F.linear": (F.linear, (x, draw(5, 4), draw(5))),
        "F.conv2d": (lambda a, w, b: F.conv2d(a, w, b, stride=2, padding=1), (image, kernel, bias)),
        "F.conv1d": (F.conv1d, (draw(2, 3, 7), draw(4, 3, 3), bias)),
        "F.conv_transpose2d": (F.conv_transpose2d, (draw(2, 4, 3, 3), kernel)),
        "F.max_pool2d": (lambda a: F.max_pool2d(a, 2), (image,)),
        "F.avg_pool2d": (lambda a: F.avg_pool2d(a, 2), (image,)),
        "F.interpolate": (lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), (image,)),
        "F.pad": (lambda a: F.pad(a, (1, 2, 0, 1), "reflect"), (image,)),
        "F.layer_norm": (lambda a, w, b: F.layer_norm(a, (4,), w, b), (x, draw(4), draw(4))),
        "F.group_norm": (lambda a: F.group_norm(a, 3), (image,)),
        "F.batch_norm": (lambda a: F.batch_norm(a, None, None, training=True), (image,)),
        "F.embedding": (lambda w: F.embedding(index, w), (draw(3, 4),)),
        "F.attention": (F.scaled_dot_product_attention, (q, k, v)),
        "F.cross_entropy": (lambda a: F.cross_entropy(a, label), (x,)),
        "F.nll_loss": (lambda a: F.nll_loss(F.log_softmax(a, 1), label), (x,)),
        "F.mse_loss": (F.mse_loss, (x, y)),
        "F.smooth_l1_loss": (F.smooth_l1_loss, (x, y)),
        "F.kl_div": (lambda a: F.kl_div(F.log_softmax(a, 1), shares, reduction="sum"), (x,)),
        "F.binary_cross_entropy": (
            lambda a: F.binary_cross_entropy_with_logits(a, shares), (x,)),
        "F.cosine_similarity": (F.cosine_similarity, (x, y)),
        "F.normalize": (F.normalize, (x,)),
    }  # fmt: skip
    return table


@dataclass
class Check:
    """One thing that was looked at; ``problem`` is empty if it is in order."""

    group: str
    name: str
    problem: str = ""


def _gradients() -> Iterator[Check]:
    for name, (function, arguments) in gradient_table().items():
        yield _look("gradients", name, functools.partial(gradcheck, function, arguments))


def _second_gradients() -> Iterator[Check]:
    table = gradient_table()
    for name in _SECOND:
        function, arguments = table[name]
        yield _look("second gradients", name, functools.partial(gradgradcheck, function, arguments))


def _values() -> None:
    x = genesis.arange(6).reshape(2, 3)
    assert (x @ x.T).tolist() == [[5, 14], [14, 50]], "a product of matrices is wrong"
    assert genesis.arange(100000).sum().item() == 4999950000, "a sum is wrong"
    half = genesis.tensor([1 / 3], dtype=genesis.bfloat16).item()
    assert half == 0.333984375, f"bfloat16 rounds 1/3 to {half}"


def _threads() -> None:
    before = genesis.get_num_threads()
    results = []
    try:
        for n in (1, max(2, before)):
            genesis.set_num_threads(n)
            genesis.manual_seed(1)
            a = genesis.randn(300, 500)
            results.append(F.softmax(a @ a.T, 1).sum(0).tolist())
    finally:
        genesis.set_num_threads(before)
    assert results[0] == results[1], "results differ between one thread and several"


def _lapack() -> None:
    a = genesis.tensor([[4.0, 1.0], [2.0, 3.0]], dtype=genesis.float64)
    off = (a @ genesis.linalg.inv(a) - genesis.eye(2, dtype=genesis.float64)).abs().max().item()
    assert off < 1e-12, f"a matrix times its inverse is off by {off:.1e}"
    values = genesis.linalg.eigvalsh(genesis.tensor([[2.0, 1.0], [1.0, 2.0]])).tolist()
    assert abs(values[0] - 1) + abs(values[1] - 3) < 1e-5, f"eigenvalues 1 and 3 came as {values}"


def _files() -> None:
    state = {"w": genesis.arange(5).float(), "b": genesis.tensor([True, False])}
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".safetensors", ".pt", ".npz"):
            path = Path(folder) / f"model{ending}"
            genesis.save(state, path)
            found = genesis.load(path)
            same = all(genesis.equal(genesis.as_tensor(found[k]), v) for k, v in state.items())
            assert same, f"what was saved as {ending} is not what was loaded"


def _numpy() -> None:
    import numpy

    array = numpy.arange(4, dtype=numpy.float32)
    tensor = genesis.from_numpy(array)
    array[0] = 7
    assert tensor[0].item() == 7, "from_numpy copies where it should share memory"
    assert (tensor.numpy() == array).all(), "numpy() gives other numbers"


def _training() -> None:
    with genesis.fork_rng():
        genesis.manual_seed(0)
        model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = genesis.optim.Adam(model.parameters(), lr=0.05)
        x = genesis.linspace(-1, 1, 32).unsqueeze(1)
        for _ in range(150):
            loss = F.mse_loss(model(x), (3 * x).sin())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss.item() < 0.02, f"a small network learned a sine only to a loss of {loss.item():.3f}"


def _look(group: str, name: str, check: Callable[[], Any]) -> Check:
    try:
        check()
    except Exception as error:
        text = str(error).strip().splitlines() or [""]
        return Check(group, name, f"{type(error).__name__}: {text[0]}")
    return Check(group, name)


def checks() -> Iterator[Check]:
    """All checks, each run on demand."""
    for name, check in {
        "values": _values,
        "same bits for any number of threads": _threads,
        "LAPACK": _lapack,
        "files": _files,
        "NumPy": _numpy,
        "training": _training,
    }.items():
        yield _look("basics", name, check)
    yield from _gradients()
    yield from _second_gradients()


def main(arguments: list[str]) -> int:
    """Check and tell; 1 if something is wrong."""
    parser = Parser(
        "genesis doctor",
        "Check this installation in a few seconds: values, threads, files, decompositions, and\n"
        "the gradients of many operations against finite differences.",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list every check")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    console = Console(options.json)
    start = time.perf_counter()
    counts: dict[str, list[int]] = {}
    wrong = []
    for check in checks():
        total = counts.setdefault(check.group, [0, 0])
        total[0] += not check.problem
        total[1] += 1
        if check.problem:
            wrong.append(check)
            console.line(f"wrong  {check.group}: {check.name}: {check.problem}", "bold red")
        elif options.verbose:
            console.line(f"ok     {check.group}: {check.name}")
    seconds = time.perf_counter() - start
    for group, (good, total_count) in counts.items():
        console.line(
            f"{group:18} {good}/{total_count} in order", "" if good < total_count else "green"
        )
    kernels = describe()["genesis"]["kernels in use"]
    console.line(
        f"{kernels} kernels, {plural(genesis.get_num_threads(), 'thread')}, {seconds:.1f} s"
    )
    if wrong:
        console.line(_ADVICE, "red")
    else:
        console.line("All is well.", "bold green")
    console.data({
        "ok": not wrong,
        "checks": {group: total for group, (_, total) in counts.items()},
        "wrong": [{"group": c.group, "name": c.name, "problem": c.problem} for c in wrong],
        "seconds": seconds,
    })  # fmt: skip
    return 1 if wrong else 0
