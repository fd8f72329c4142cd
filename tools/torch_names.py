"""Write the public names of the PyTorch that is installed to python/genesis/torch/names.txt.

    python tools/torch_names.py

Run it when the version of PyTorch that Genesis follows changes; tests/torch/test_names.py checks
that the file is current. Names of other devices than the CPU are left out.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
import types
import warnings
from pathlib import Path

PLACE = Path(__file__).parents[1] / "python" / "genesis" / "torch" / "names.txt"

MODULES = """
torch torch.accelerator torch.amp torch.ao.quantization torch.autograd torch.autograd.forward_ad
torch.autograd.function torch.autograd.functional torch.autograd.graph
torch.autograd.profiler torch.backends torch.compiler torch.cpu torch.cpu.amp torch.distributed
torch.distributed.algorithms.join torch.distributed.checkpoint torch.distributed.device_mesh
torch.distributed.fsdp torch.distributed.optim torch.distributed.pipelining torch.distributed.rpc
torch.distributed.tensor torch.distributed.tensor.parallel torch.distributions
torch.distributions.constraint_registry torch.distributions.constraints torch.distributions.kl
torch.distributions.transforms torch.export torch.fft torch.func torch.functional torch.futures
torch.fx torch.hub torch.jit torch.library torch.linalg torch.masked torch.monitor
torch.multiprocessing torch.nested torch.nn torch.nn.attention torch.nn.attention.bias
torch.nn.attention.flex_attention torch.nn.functional torch.nn.init torch.nn.parallel
torch.nn.parameter torch.nn.utils torch.nn.utils.parametrizations torch.nn.utils.parametrize
torch.nn.utils.prune torch.nn.utils.rnn torch.nn.utils.stateless torch.onnx torch.optim
torch.optim.lr_scheduler torch.optim.swa_utils torch.overrides torch.package torch.profiler
torch.quasirandom torch.random torch.return_types torch.serialization torch.signal.windows
torch.sparse torch.special torch.storage torch.testing torch.types torch.utils torch.utils.benchmark
torch.utils.checkpoint torch.utils.cpp_extension torch.utils.data torch.utils.data.distributed
torch.utils.dlpack torch.utils.flop_counter torch.utils.hooks torch.utils.model_zoo
torch.utils.tensorboard
""".split()  # noqa: SIM905
CLASSES = ["torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer"]
DEVICES = {
    *("cuda", "cudnn", "gpu", "hip", "hpu", "ipu", "miopen", "mps", "mtia", "nccl", "nvprof"),
    *("ucc", "vulkan", "xccl", "xla", "xpu"),
}
VERSION = "2.13"
EXTRA = {"torch.utils.tensorboard": ["SummaryWriter"]}  # the module needs another package


def main() -> None:
    PLACE.write_text(render(collect()))


def collect() -> dict[str, list[str]]:
    """The public names of each module and class."""
    import torch

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            found[name] = EXTRA.get(name) or names_of(importlib.import_module(name))
        for name in CLASSES:
            module, _, kind = name.rpartition(".")
            owner = getattr(importlib.import_module(module), kind)
            found[name] = sorted(n for n in dir(owner) if n[0] != "_" and not names_device(n))
    assert torch.__version__.startswith(VERSION), f"written for {VERSION}, not {torch.__version__}"
    return found


def names_of(module: types.ModuleType) -> list[str]:
    """What a module declares public, or else what is defined in it or bound from C++."""
    declared = set(getattr(module, "__all__", ()))
    names = set(declared)
    if not declared or module.__name__ == "torch":  # torch.unique is not in torch.__all__
        names |= {n for n in dir(module) if belongs(module, getattr(module, n))}
    return sorted(
        n
        for n in names
        if hasattr(module, n)
        and not n.startswith("_")
        and not isinstance(getattr(module, n), types.ModuleType)
        and not names_device(n)
    )


def belongs(module: types.ModuleType, value: object) -> bool:
    """Whether a name of a module without `__all__` is its own, not an import for its code."""
    if not callable(value):
        return type(value).__module__.startswith("torch")
    if inspect.isbuiltin(value) or isinstance(value, types.BuiltinFunctionType):
        return True
    home = getattr(value, "__module__", None) or ""
    return home == module.__name__ or home.startswith((f"{module.__name__}.", "torch._C"))


def names_device(name: str) -> bool:
    """Whether a name is about one device other than the CPU."""
    return not DEVICES.isdisjoint(name.lower().split("_"))


def render(found: dict[str, list[str]]) -> str:
    lines = [f"# PyTorch {VERSION}: public names on a CPU. Written by tools/torch_names.py."]
    for module, names in found.items():
        lines.append(module)
        lines += textwrap.wrap(
            " ".join(names), 100, initial_indent=" ", subsequent_indent=" ", break_on_hyphens=False
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
