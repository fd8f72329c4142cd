"""accelerate: a training loop prepared by Accelerator, and its checkpoints."""

import accelerate
import torch

from .helpers import fill, wave


def test_training(check, tmp_path):
    accelerator = accelerate.Accelerator(cpu=True)
    model = fill(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(wave(16, 4), wave(16, 1, start=2.0)), batch_size=4
    )
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    losses = []
    for x, y in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss))
    check(losses=losses)
    accelerator.save_state(str(tmp_path / "state"))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    fill(model, 0.3)
    accelerator.load_state(str(tmp_path / "state"))
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
