"""What the cases share. Weights and inputs are functions of their place, the same everywhere."""

import torch


def wave(*shape: int, scale: float = 1.0, start: float = 0.0) -> torch.Tensor:
    """Numbers between -scale and scale that look irregular."""
    count = 1
    for n in shape:
        count *= n
    return (
        (torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + start) * scale)
        .float()
        .reshape(shape)
    )


def fill(module: torch.nn.Module, scale: float = 0.1) -> torch.nn.Module:
    """Give a module weights that do not depend on a generator."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            if p.is_floating_point():
                p.copy_(wave(*p.shape, scale=scale, start=float(i)))
                if p.ndim == 1:
                    p.add_(0.5)
    return module


def train(module, loss, steps: int = 2, lr: float = 0.01) -> list[float]:
    """The losses of some steps of SGD."""
    optimizer = torch.optim.SGD(module.parameters(), lr=lr)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(float(value))
    return losses


def same_after_saving(module: torch.nn.Module, path) -> None:
    """The state of a module survives torch.save and torch.load."""
    file = path / "state.pt"
    torch.save(module.state_dict(), file)
    loaded = torch.load(file)
    state = module.state_dict()
    assert list(loaded) == list(state)
    assert all(torch.equal(loaded[key], state[key]) for key in state)
