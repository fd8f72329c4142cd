"""safetensors.torch: files of tensors and of models."""

import safetensors.torch
import torch

from .helpers import fill, wave


def test_files(tmp_path):
    tensors = {"a": wave(3, 4), "b": torch.arange(5), "c": wave(2).to(torch.bfloat16)}
    safetensors.torch.save_file(tensors, tmp_path / "x.safetensors", {"format": "pt"})
    loaded = safetensors.torch.load_file(tmp_path / "x.safetensors")
    assert all(
        torch.equal(loaded[k], tensors[k]) and loaded[k].dtype == tensors[k].dtype for k in tensors
    )
    again = safetensors.torch.load(safetensors.torch.save(tensors))
    assert all(torch.equal(again[k], tensors[k]) for k in tensors)


def test_model(tmp_path):
    model = fill(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)))
    safetensors.torch.save_model(model, str(tmp_path / "m.safetensors"))
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    missing, unexpected = safetensors.torch.load_model(other, tmp_path / "m.safetensors")
    assert not missing
    assert not unexpected
    assert torch.equal(other[0].weight, model[0].weight)
