"""Random models as text that either library can build, and a few steps of training."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.fuzz.compare import to_array

ACTIVATIONS = ["ReLU()", "GELU()", "Tanh()", "Sigmoid()", "SiLU()", "ELU()", "LeakyReLU(0.2)", "Softplus()", "Hardtanh()", "Mish()", "CELU()", "SELU()", "Softsign()", "PReLU()", "Hardswish()", "LogSigmoid()", "Tanhshrink()", "Softshrink()", "ReLU6()", "Identity()", "Dropout(0.0)", "Hardsigmoid()", "Threshold(0.1,0.2)"]  # fmt: skip
OPTIMIZERS = {
    "SGD": ["lr=0.05", "lr=0.05, momentum=0.9", "lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01", "lr=0.01, momentum=0.5, dampening=0.1", "lr=0.01, maximize=True"],
    "Adam": ["lr=0.01", "lr=0.01, amsgrad=True", "lr=0.01, betas=(0.5, 0.9), weight_decay=0.1", "lr=0.01, eps=1e-3"],
    "AdamW": ["lr=0.01", "lr=0.01, weight_decay=0.2, amsgrad=True"],
    "RMSprop": ["lr=0.01", "lr=0.01, momentum=0.9, centered=True"],
    "Adagrad": ["lr=0.05", "lr=0.05, lr_decay=0.1, initial_accumulator_value=0.1"],
    "Adadelta": ["lr=0.5", "lr=1.0, rho=0.5"],
    "Adamax": ["lr=0.01"],
    "NAdam": ["lr=0.01", "lr=0.01, weight_decay=0.1, decoupled_weight_decay=True"],
    "RAdam": ["lr=0.01"],
    "ASGD": ["lr=0.01"],
    "Rprop": ["lr=0.01"],
    "LBFGS": ["lr=0.1, max_iter=3"],
}  # fmt: skip
SCHEDULERS = ["StepLR(o, 2)", "ExponentialLR(o, 0.9)", "CosineAnnealingLR(o, 3)", "LinearLR(o)", "OneCycleLR(o, 0.1, total_steps=9, cycle_momentum=False)",
              "MultiStepLR(o, [1, 2])", "CyclicLR(o, 0.01, 0.1, cycle_momentum=False)", "PolynomialLR(o, 4)"]  # fmt: skip


class Plan:
    """A model as text for either library, with the shape of what it takes and gives."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.layers: list[str] = []
        self.batch = rng.randint(2, 4)
        self.kind = rng.choice(["flat", "flat", "image", "line", "sequence"])
        self.channels = rng.choice([2, 4, 6])
        self.size = rng.choice([4, 5, 6, 7])
        self.shape = {
            "flat": (self.batch, self.channels),
            "line": (self.batch, self.channels, self.size),
            "image": (self.batch, self.channels, self.size, self.size),
            "sequence": (self.batch, 3, self.channels),
        }[self.kind]
        for _ in range(rng.randint(1, 5)):
            getattr(self, self.kind)()
        self.layers += ["Flatten()"]

    def flat(self) -> None:
        new = self.rng.choice([2, 3, 4, 8])
        c = self.channels
        layer = self.rng.choice([f"Linear({c}, {new})", f"Linear({c}, {new}, bias=False)", f"LayerNorm({c})", f"BatchNorm1d({c})", f"GroupNorm(1, {c})",
                                 f"RMSNorm({c})", self.rng.choice(ACTIVATIONS), "Softmax(-1)", "LogSoftmax(-1)", f"Unflatten(1, (1, {c})), nn.Flatten()"])  # fmt: skip
        if layer.startswith("Linear"):
            self.channels = new
        self.layers.append(layer)

    def windows(self, dims: int) -> None:
        rng, c = self.rng, self.channels
        new = rng.choice([2, 4, 6])
        groups = rng.choice([1, 1, 2])
        layer = rng.choice(
            [f"Conv{dims}d({c}, {new}, 3, padding=1, groups={groups})", f"Conv{dims}d({c}, {new}, 1)", f"Conv{dims}d({c}, {new}, 3, padding=2, dilation=2)",
             f"Conv{dims}d({c}, {new}, 3, padding='same', padding_mode='circular')", f"ConvTranspose{dims}d({c}, {new}, 3, padding=1, groups={groups})",
             f"BatchNorm{dims}d({c})", f"InstanceNorm{dims}d({c}, affine=True)", f"GroupNorm(2, {c})", f"MaxPool{dims}d(3, 1, 1)", f"AvgPool{dims}d(3, 1, 1)",
             f"AdaptiveAvgPool{dims}d({self.size})", f"AdaptiveMaxPool{dims}d({self.size})", rng.choice(ACTIVATIONS), f"Conv{dims}d({c}, {new}, 3, stride=2, padding=1), nn.Upsample(size={(self.size,) * dims})",
             f"LPPool{dims}d(2, 1)", "LocalResponseNorm(2)" if dims == 2 else "Tanh()"]
        )  # fmt: skip
        if layer.startswith("Conv"):
            self.channels = new
        self.layers.append(layer)

    def line(self) -> None:
        self.windows(1)

    def image(self) -> None:
        self.windows(2)

    def sequence(self) -> None:
        c = self.channels
        self.layers.append(
            self.rng.choice([f"TransformerEncoderLayer({c}, 2, 8, dropout=0.0, batch_first=True)", f"LayerNorm({c})", f"Linear({c}, {c})", self.rng.choice(ACTIVATIONS),
                             f"TransformerEncoderLayer({c}, 2, 8, dropout=0.0, batch_first=True, norm_first=True)", f"RMSNorm({c})"])
        )  # fmt: skip

    def text(self) -> str:
        return f"nn.Sequential({', '.join('nn.' + layer for layer in self.layers)})"


def train(library: Any, text: str, optimizer: str, scheduler: str, state: dict[str, np.ndarray] | None,
          x: np.ndarray, steps: int, noise: float = 0.0) -> tuple[dict[str, np.ndarray], list[float]]:  # fmt: skip
    """Parameters and buffers afterwards, and the losses. With `noise`, gradients that are zero but for
    rounding are so much of the largest one."""
    names = {"nn": library.nn, "optim": library.optim}
    model = eval(text, names)
    if state is not None:
        model.load_state_dict({k: library.tensor(v) for k, v in state.items()})
    o = (
        eval(f"optim.{optimizer}", names | {"parameters": list(model.parameters())})
        if list(model.parameters())
        else None
    )
    s = eval(f"optim.lr_scheduler.{scheduler}", names | {"o": o}) if o and scheduler else None
    losses = []

    def closure() -> Any:
        if o is not None:
            o.zero_grad()
        loss = (model(library.tensor(x)) ** 2).mean()
        if loss.requires_grad:
            loss.backward()
        if noise:
            gradients = [p.grad for p in model.parameters() if p.grad is not None]
            largest = max((float(g.abs().max()) for g in gradients if g.numel()), default=0.0)
            for g in gradients:
                g[g.abs() < 1e-5 * largest] = noise * largest
        return loss

    for _ in range(steps):
        losses.append(float(closure() if o is None else o.step(closure)))
        if s is not None:
            s.step()
    model.eval()
    losses.append(float((model(library.tensor(x)) ** 2).mean()))
    return {k: to_array(v) for k, v in model.state_dict().items()}, losses
