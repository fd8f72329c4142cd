"""Steps of random programs, as text that both libraries can run: `L` is the library, `F` its
nn.functional. A program is built beside PyTorch, whose tensors say which shapes there are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

UNARY = [
    "exp",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "abs",
    "neg",
    "square",
    "erf",
    "atan",
    "expm1",
    "relu",
    "floor",
    "sign",
    "trunc",
    "round",
]
SAFE_UNARY = ["{}.abs().sqrt()", "{}.abs().log1p()", "({}.abs() + 1).log()", "({}.abs() + 0.5).rsqrt()", "({}.abs() + 0.5).reciprocal()",
              "F.gelu({})", "F.silu({})", "F.softplus({})", "F.leaky_relu({}, 0.1)", "F.elu({})", "F.hardtanh({})", "{}.clamp(-1, 0.5)",
              "F.hardswish({})", "F.logsigmoid({})", "{}.logit(eps=0.1)", "{}.nan_to_num()", "F.softshrink({})"]  # fmt: skip
BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / ({}.abs() + 1)", "L.maximum({}, {})", "L.minimum({}, {})", "L.atan2({}, {})",
          "L.hypot({}, {})", "L.where({} > 0, {}, 0.5)", "L.lerp({}, {}, 0.3)", "L.addcmul({0}, {0}, {1})", "L.copysign({}, {})",
          "L.logaddexp({}, {})", "L.xlogy({}, {}.abs() + 1)", "L.fmod({}, {}.abs() + 1)", "L.remainder({}, {}.abs() + 1)",
          "F.mse_loss({}, {}, reduction='none')", "F.smooth_l1_loss({}, {})", "L.addcdiv({0}, {0}, {1}.abs() + 1)"]  # fmt: skip
COMPARE = ["{} > {}", "{} <= {}", "{} == {}", "{} != {}", "L.isclose({}, {})"]
REDUCE = ["sum", "mean", "amax", "amin", "prod", "logsumexp", "std", "var", "norm", "nansum"]
INPLACE_UNARY = [
    "exp_",
    "sin_",
    "tanh_",
    "sigmoid_",
    "neg_",
    "abs_",
    "zero_",
    "relu_",
    "square_",
    "round_",
]
NUMBERS = ["0.5", "2", "-1.5", "3", "0", "1"]


def leaf_text(rng: random.Random, name: str, dtype: str) -> str:
    rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
    shape = tuple(rng.choice([1, 2, 2, 3, 3, 4]) for _ in range(rank))
    values = np.array([round(rng.gauss(0, 1.5), 3) for _ in range(int(np.prod(shape)))])
    if not dtype.startswith("float"):
        values = np.rint(values * 2)
        text = str(values.astype(int).reshape(shape).tolist())
        return f"{name} = L.tensor({text}, dtype=L.{dtype})"
    text = str(values.reshape(shape).tolist())
    grad = ", requires_grad=True" if rng.random() < 0.8 else ""
    return f"{name} = L.tensor({text}, dtype=L.{dtype}{grad})"


class Builder:
    """Writes a program step by step and runs it with PyTorch, so that most steps are valid."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.steps: list[str] = []
        self.space: dict[str, Any] = {"L": torch, "F": torch.nn.functional}
        self.count = 0
        self.dtype = rng.choice(["float64"] * 5 + ["float32"] * 3)

    def build(self, length: int) -> list[str]:
        for i in range(self.rng.randint(1, 3)):
            dtype = self.dtype if i == 0 or self.rng.random() < 0.8 else self.rng.choice(["int64", "float32", "int32"])  # fmt: skip
            self.add(leaf_text(self.rng, f"w{i}", dtype))
        makers = self.makers()
        tries = 0
        while len(self.steps) < length and tries < 4 * length:
            tries += 1
            made = self.rng.choice(makers)
            text = made()
            if text:
                self.add(text)
        return self.steps

    def makers(self) -> list[Callable[[], str]]:
        return [self.view, self.view, self.inplace, self.inplace, self.assign, self.unary, self.binary, self.binary,
                self.reduce, self.index, self.join, self.function, self.convert, self.modes, self.order]  # fmt: skip

    def add(self, text: str) -> None:
        before = dict(self.space)
        try:
            exec(text, self.space)
        except Exception:
            self.space = before
            if self.rng.random() < 0.97:
                return
        else:
            for name, value in list(self.space.items()):
                if isinstance(value, torch.Tensor) and value.numel() > 4000:
                    del self.space[name]
        self.steps.append(text)

    # --- choosing

    def tensors(self, good: Callable[[torch.Tensor], bool] = lambda t: True) -> list[str]:
        return [n for n, t in self.space.items() if isinstance(t, torch.Tensor) and good(t)]

    def pick(self, good: Callable[[torch.Tensor], bool] = lambda t: True) -> str:
        found = self.tensors(good)
        if not found:
            return self.rng.choice(self.tensors())
        return self.rng.choice(found[-4:] if self.rng.random() < 0.5 else found)

    def floating(self) -> str:
        return self.pick(lambda t: t.is_floating_point())

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.space[name].shape)

    def dim(self, name: str) -> int:
        rank = len(self.shape(name))
        return self.rng.randint(-rank, rank - 1) if rank else self.rng.choice([0, -1])

    def other(self, name: str) -> str:
        """A tensor that broadcasts with `name`, or a number."""
        if self.rng.random() < 0.25:
            return f"L.tensor({self.rng.choice(NUMBERS)}, dtype=L.{self.dtype})"

        def fits(t: torch.Tensor) -> bool:
            pairs = zip(reversed(t.shape), reversed(self.shape(name)), strict=False)
            return all(a == b or a == 1 or b == 1 for a, b in pairs)

        return self.pick(fits)

    def apart(self, x: str, y: str) -> str:
        """`y` without memory of `x`: what a write that reads what it writes gives is not defined."""
        other = self.space.get(y)
        if other is None or x == y:
            return y
        shared = other.untyped_storage().data_ptr() == self.space[x].untyped_storage().data_ptr()
        return f"{y}.clone()" if shared else y

    # --- steps

    def view(self) -> str:
        x = self.pick()
        shape, rng = self.shape(x), self.rng
        rank, d = len(shape), self.dim(x)
        size = max(1, shape[d]) if rank else 1
        order = list(range(rank))
        rng.shuffle(order)
        flat = int(np.prod(shape))
        forms = [
            f"{x}[{rng.randrange(-size, size)}]" if rank else f"{x}[None]",
            f"{x}[{rng.randint(-2, 2)}:{rng.randint(-1, 4)}]",
            f"{x}[..., ::{rng.randint(1, 2)}]",
            f"{x}[:, {rng.randint(0, 1)}:]",
            f"{x}[None, ...]",
            f"{x}.transpose({d}, {self.dim(x)})",
            f"{x}.permute({', '.join(map(str, order))})" if rank else f"{x}.view(1)",
            f"{x}.reshape(-1)",
            f"{x}.view({flat})",
            f"{x}.unsqueeze({d})",
            f"{x}.squeeze()",
            f"{x}.flatten()",
            f"{x}.expand({', '.join(['2', *['-1'] * rank])})",
            f"{x}.narrow({d}, {rng.randrange(size)}, 1)",
            f"{x}.select({d}, {rng.randrange(size)})",
            f"{x}.diagonal()",
            f"{x}.unbind({d})[{rng.randrange(size)}]",
            f"{x}.split(2, {d})[0]",
            f"{x}.chunk(2, {d})[-1]",
            f"{x}.unfold({d}, {rng.randint(1, 2)}, 1)",
            f"{x}.detach()" if rng.random() < 0.5 else f"{x}.view_as({x})",
            f"{x}.movedim(0, -1)",
            f"{x}.mT",
            f"L.as_strided({x}, ({size},), (1,))",
        ]
        return f"{self.new()} = {rng.choice(forms)}"

    def inplace(self) -> str:
        x, rng = self.pick(), self.rng
        y = self.apart(x, self.other(x))
        forms = [
            f"{x} += {y}", f"{x} *= {y}", f"{x} -= {y}", f"{x} /= 2",
            f"{x}.add_({y}, alpha=2)", f"{x}.mul_({y})", f"{x}.copy_({y})", f"{x}.sub_({y})",
            f"{x}.fill_({rng.choice(NUMBERS)})", f"{x}.clamp_(-1, 1)",
            f"{x}.masked_fill_({x} > 0, {rng.choice(NUMBERS)})", f"{x}.addcmul_({x}, {y})", f"{x}.lerp_({y}, 0.25)",
            f"{x}.pow_(2)", f"{x}.{rng.choice(INPLACE_UNARY)}()", f"{x}.div_({y}.abs() + 1)",
            f"{x}.transpose_({self.dim(x)}, 0)", f"{x}.unsqueeze_(0)",
        ]  # fmt: skip
        return rng.choice(forms)

    def assign(self) -> str:
        x, rng = self.pick(), self.rng
        shape = self.shape(x)
        if not shape or not shape[0]:
            return f"{x}[...] = {rng.choice(NUMBERS)}"
        y = self.apart(x, self.other(x)) if rng.random() < 0.7 else rng.choice(NUMBERS)
        i = rng.randrange(shape[0])
        indices = [rng.randrange(-shape[0], shape[0]) for _ in range(rng.randint(1, 3))]
        forms = [
            f"{x}[{i}] = {y}", f"{x}[:{i + 1}] = {y}", f"{x}[..., -1] = {y}", f"{x}[{x} > 0] = {rng.choice(NUMBERS)}",
            f"{x}[L.tensor([{i}])] = {y}", f"{x}[{x} < 0] *= 2", f"{x}[{i}] += {y}", f"{x}[...] = {y}",
            f"{x}.index_fill_(0, L.tensor([{i}]), 2)", f"{x}.index_put_((L.tensor({indices}),), {self.apart(x, self.pick())}, accumulate=True)",
            f"{x}.select(0, {i}).mul_(3)", f"{x}.index_add_(0, L.tensor([{i}]), {self.apart(x, self.pick())})",
            f"{x}.scatter_(0, {x}.argsort(dim=0, stable=True), 1.5)", f"{x}[False] = {y}",
        ]  # fmt: skip
        return rng.choice(forms)

    def unary(self) -> str:
        x = self.floating()
        if self.rng.random() < 0.5:
            return f"{self.new()} = {x}.{self.rng.choice(UNARY)}()"
        return f"{self.new()} = {self.rng.choice(SAFE_UNARY).format(x)}"

    def binary(self) -> str:
        x = self.pick()
        form = self.rng.choice(BINARY if self.rng.random() < 0.85 else COMPARE)
        pair = [x, self.other(x)]
        if self.rng.random() < 0.4:
            pair.reverse()
        return f"{self.new()} = {form.format(*pair)}"

    def reduce(self) -> str:
        x, rng = self.floating(), self.rng
        d, keep = self.dim(x), rng.random() < 0.4
        name = rng.choice(REDUCE)
        forms = [
            f"{x}.{name}({d}, keepdim={keep})" if name not in ("norm",) else f"{x}.norm(dim={d}, keepdim={keep})",
            f"{x}.{name}()" if name not in ("logsumexp",) else f"{x}.logsumexp({d})",
            f"{x}.max({d})[0]", f"{x}.min({d}).values", f"{x}.max()", f"{x}.median()",
            f"{x}.cumsum({d})", f"{x}.cumprod({d})", f"{x}.argmax({d})", f"({x} > 0).any({d})", f"({x} > 0).sum()",
            f"{x}.norm(1)", f"{x} / {x}.norm()", f"{x}.logcumsumexp({d})", f"{x}.cummax({d})[0]",
        ]  # fmt: skip
        return f"{self.new()} = {rng.choice(forms)}"

    def index(self) -> str:
        x, rng = self.pick(), self.rng
        shape = self.shape(x)
        if not shape or not shape[0]:
            return ""
        indices = [rng.randrange(-shape[0], shape[0]) for _ in range(rng.randint(1, 4))]
        positive = [i % shape[0] for i in indices]
        forms = [
            f"{x}[L.tensor({indices})]", f"{x}[{indices}]", f"{x}[{x} > 0]", f"{x}[L.tensor([{indices}])]", f"{x}[..., L.tensor([0])]",
            f"{x}.index_select(0, L.tensor({positive}))", f"{x}.gather(0, {x}.argsort(dim=0, stable=True)[:1])", f"{x}.take(L.tensor({indices}))",
            f"{x}[[{indices[0]}, 0], ..., 0]", f"L.take_along_dim({x}, {x}.argsort(dim=-1, stable=True), -1)", f"{x}.masked_select({x} > 0)",
            f"{x}.scatter_add(0, {x}.argsort(dim=0, stable=True), {x})", f"{x}.nonzero()", f"{x}.masked_fill({x} > 0, 1)", f"{x}[0, None, ..., -1]",
        ]  # fmt: skip
        return f"{self.new()} = {rng.choice(forms)}"

    def join(self) -> str:
        x, rng = self.pick(), self.rng
        y = self.pick(lambda t: tuple(t.shape) == self.shape(x))
        forms = [f"L.cat([{x}, {y}], {self.dim(x)})", f"L.stack([{x}, {y}], {self.dim(x)})", f"{x}.repeat(2, {', '.join(['1'] * len(self.shape(x)))})".replace(", )", ")"),
                 f"L.outer({x}.reshape(-1), {y}.reshape(-1))", f"{x}.tile(2)", f"{x}.roll(1, {self.dim(x)})", f"{x}.flip({self.dim(x)})",
                 f"L.broadcast_tensors({x}, {y})[1]", f"L.tensordot({x}, {y}, {len(self.shape(x))})", f"{x}.clone()", f"{x}.contiguous()",
                 f"{x}.repeat_interleave(2, {self.dim(x)})", f"L.block_diag({x}.reshape(1, -1), {y}.reshape(1, -1))"]  # fmt: skip
        return f"{self.new()} = {rng.choice(forms)}"

    def function(self) -> str:
        x, rng = self.floating(), self.rng
        d = self.dim(x)
        last = max(1, self.shape(x)[-1]) if self.shape(x) else 1
        y = self.pick(lambda t: t.dim() >= 1 and t.shape[0] == last and t.is_floating_point())
        forms = [
            f"F.softmax({x}, {d})", f"F.log_softmax({x}, {d})", f"F.layer_norm({x}, ({last},))", f"{x} @ {y}", f"{x} @ {x}.mT", f"L.matmul({y}, {y}.mT)",
            f"F.normalize({x}, dim={d})", f"F.cross_entropy({x}.reshape(-1, {last}), L.zeros({x}.numel() // {last}, dtype=L.int64))",
            f"F.pad({x}, (1, 1))", f"F.pad({x}, (0, -1))", f"{x}.tril()", f"{x}.triu(1)", f"L.einsum('i,j->ij', {x}.reshape(-1), {y}.reshape(-1))",
            f"{x}.dist({x} * 2)", f"F.avg_pool1d({x}.reshape(1, 1, -1), 1)", f"F.max_pool1d({x}.reshape(1, 1, -1), 2)", f"F.linear({x}, L.ones(2, {last}, dtype={x}.dtype))",
            f"F.conv1d({x}.reshape(1, 1, -1), L.ones(1, 1, 2, dtype={x}.dtype), padding=1)", f"F.rms_norm({x}, ({last},))", f"F.mse_loss({x}, {x}.detach() * 0.5)",
            f"F.huber_loss({x}, L.zeros_like({x}))", f"F.cosine_similarity({x}, {x} + 1, dim={d})", f"F.interpolate({x}.reshape(1, 1, -1), scale_factor=2)",
            f"{x}.diff(dim={d})", f"L.trapezoid({x}, dim={d})", f"F.glu(L.cat([{x}, {x}], {d}), {d})", f"{x}.var(dim={d}, correction=0)",
        ]  # fmt: skip
        return f"{self.new()} = {rng.choice(forms)}"

    def convert(self) -> str:
        x = self.pick()
        how = self.rng.choice(["float()", "double()", "int()", "long()", "bool()", f"to(L.{self.dtype})", "half().double()", "type_as(w0)"])  # fmt: skip
        return f"{self.new()} = {x}.{how}"

    def modes(self) -> str:
        x = self.pick()
        y = self.other(x)
        forms = [f"with L.no_grad(): {x}.mul_(2)", f"with L.no_grad(): {self.new()} = {x} + {y}", f"{x}.detach().add_(1)", f"{x}.detach_()",
                 f"{x}.requires_grad_()", f"{x}.sum().backward(retain_graph=True)", f"{self.new()} = {x}.data", f"{x}.retain_grad()",
                 f"{self.new()} = L.autograd.grad({x}.sum(), w0, retain_graph=True, allow_unused=True)[0]",
                 f"{self.new()} = L.autograd.grad(({x} ** 2).sum(), w0, create_graph=True)[0]", f"{x}.grad = None"]  # fmt: skip
        return self.rng.choice(forms)

    def order(self) -> str:
        x = self.floating()
        d = self.dim(x)
        forms = [f"{x}.sort(dim={d}, stable=True)[{self.rng.randint(0, 1)}]", f"{x}.topk(1, {d})[0]", f"{x}.kthvalue(1, {d}).values", f"{x}.unique()",
                 f"{x}.argsort(dim={d}, descending=True, stable=True)", f"{x}.msort()", f"L.searchsorted({x}.reshape(-1).sort()[0], {x})", f"{x}.quantile(0.5)"]  # fmt: skip
        return f"{self.new()} = {self.rng.choice(forms)}"
