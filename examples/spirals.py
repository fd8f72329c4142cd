"""A small network learns to tell two spirals apart: all there is to training, in 60 lines.

python examples/spirals.py [--steps 1500]
"""

import argparse
import math
import time

import genesis
import genesis.nn.functional as F
from genesis import nn, optim


def spirals(n: int) -> tuple[genesis.Tensor, genesis.Tensor]:
    """Points on two interleaved spirals, with some noise, and which spiral each is on."""
    label = genesis.arange(n) % 2
    turn = genesis.rand(n).sqrt() * 3 * math.pi
    angle = turn + label * math.pi
    xy = genesis.stack([turn * angle.cos(), turn * angle.sin()], dim=1) / (3 * math.pi)
    return xy + 0.01 * genesis.randn(n, 2), label


def layer(inputs: int, outputs: int) -> list[nn.Parameter]:
    bound = 1 / math.sqrt(inputs)
    return [
        nn.Parameter(genesis.empty(outputs, inputs).uniform_(-bound, bound)),
        nn.Parameter(genesis.empty(outputs).uniform_(-bound, bound)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    steps = parser.parse_args().steps

    genesis.manual_seed(0)
    x, label = spirals(1000)
    test_x, test_label = spirals(1000)
    layers = [layer(2, 64), layer(64, 64), layer(64, 2)]
    optimizer = optim.SGD([p for pair in layers for p in pair], lr=0.2, momentum=0.9)

    def network(x: genesis.Tensor) -> genesis.Tensor:
        for weight, bias in layers[:-1]:
            x = F.linear(x, weight, bias).tanh()
        return F.log_softmax(F.linear(x, *layers[-1]), dim=1)

    def accuracy(x: genesis.Tensor, label: genesis.Tensor) -> float:
        with genesis.no_grad():
            return (network(x).argmax(dim=1) == label).float().mean().item()

    start = time.perf_counter()
    for step in range(1, steps + 1):
        loss = -network(x).gather(1, label.unsqueeze(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step:5d}/{steps}  loss {loss.item():.4f}  "
                  f"accuracy {accuracy(x, label):.3f}", flush=True)  # fmt: skip
    seconds = time.perf_counter() - start
    final = accuracy(test_x, test_label)
    print(f"{steps} steps in {seconds:.2f} s; accuracy on new points {final:.3f}")


if __name__ == "__main__":
    main()
