"""Names and behaviour that packages written for PyTorch rely on, under the import shim."""

import subprocess
import sys
import textwrap

import pytest


def run(tmp_path, code):
    """A program of PyTorch, with Genesis in its place; returns what it printed."""
    file = tmp_path / "program.py"
    file.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(code))
    command = [sys.executable, "-m", "genesis.torch", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_the_constructor_of_tensors(tmp_path):
    assert run(
        tmp_path,
        """
        print(torch.Tensor(3).shape, torch.Tensor(torch.Size([2, 1])).shape)
        print(torch.Tensor([2, 3]), torch.Tensor(torch.Size([])).shape, torch.Tensor().shape)
        print(torch.ones(1).double(), torch.ones(1).type(), torch.ones(1).layout)
        print(torch.ones(1).type("torch.DoubleTensor").dtype, torch.channels_last)
        """,
    ) == [
        "torch.Size([3]) torch.Size([2, 1])",
        "tensor([2., 3.]) torch.Size([]) torch.Size([0])",
        "tensor([1.], dtype=torch.float64) torch.FloatTensor torch.strided",
        "torch.float64 torch.channels_last",
    ]


def test_files_with_objects(tmp_path):
    assert run(
        tmp_path,
        """
        import io, pickle
        from fractions import Fraction
        from torch.serialization import safe_globals

        def again(x, **how):
            file = io.BytesIO()
            torch.save(x, file)
            file.seek(0)
            return torch.load(file, **how)

        model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        copy = again({"model": model, "half": Fraction(1, 2)}, weights_only=False)
        print(copy["half"], torch.equal(copy["model"][0].weight, model[0].weight))
        try:
            again(Fraction(1, 2))
        except pickle.UnpicklingError as error:
            print("Fraction" in str(error))
        with safe_globals([Fraction]):
            print(again(Fraction(1, 2)))
        print(again([torch.float16, torch.device("cpu"), torch.Size([2])]))
        """,
    ) == ["1/2 True", "True", "1/2", "[torch.float16, device(type='cpu'), torch.Size([2])]"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_shared_memory(tmp_path, method):
    assert run(
        tmp_path,
        f"""
        import torch.multiprocessing as mp

        def add(x, model):
            x += 1
            with torch.no_grad():
                model.weight.fill_(7)

        if __name__ == "__main__":
            x, model = torch.zeros(3).share_memory_(), nn.Linear(1, 1).share_memory()
            process = mp.get_context("{method}").Process(target=add, args=(x, model))
            process.start()
            process.join()
            print(x.is_shared(), torch.zeros(3).is_shared(), x.tolist(), model.weight.item())
        """,
    ) == ["True False [1.0, 1.0, 1.0] 7.0"]


def test_names_in_older_and_private_places(tmp_path):
    """Each is where PyTorch has it; what cannot exist on a CPU raises when it is used."""
    code = """
        import torch.distributed._tensor.experimental
        import torch.distributed.fsdp.wrap
        from torch.distributed._composable.fsdp import fully_shard
        from torch.distributed.distributed_c10d import ReduceOp
        from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
        from torch.nn.modules.activation import LeakyReLU
        from torch.nn.modules.batchnorm import SyncBatchNorm
        from torch.nn.modules.lazy import LazyModuleMixin
        from torch.utils.data.dataloader import _DatasetKind
        from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

        assert ReduceOp is torch.distributed.ReduceOp and LeakyReLU is nn.LeakyReLU
        assert not isinstance(torch.ones(1), torch.cuda.FloatTensor)
        assert torch.jit.TracerWarning and torch._inductor.config.patch(x=1)
        for use in (lambda: FullyShardedDataParallel(nn.Linear(1, 1)), torch.cuda.FloatTensor,
                    lambda: torch.export.export(nn.Linear(1, 1), ())):
            try:
                use()
            except RuntimeError as error:
                print(str(error).partition(":")[0])
        i = torch.tensor([[0, 1], [1, 0]])
        print(torch.sparse.FloatTensor(i, torch.ones(2), torch.Size([2, 2])).to_dense().tolist())
        """
    assert run(tmp_path, code) == [
        "distributed.fsdp.FullyShardedDataParallel",
        "cuda.FloatTensor",
        "export.export",
        "[[0.0, 1.0], [1.0, 0.0]]",
    ]


def test_a_lazy_module_of_a_package(tmp_path):
    code = """
        class Lazy(torch.nn.modules.lazy.LazyModuleMixin, nn.Linear):
            cls_to_become = nn.Linear

            def __init__(self):
                super().__init__(0, 0, bias=False)
                self.weight = nn.UninitializedParameter()

            def reset_parameters(self):
                pass

            def initialize_parameters(self, x):
                self.weight.materialize((2, x.shape[-1]))
                self.weight.data.fill_(1)

        layer = Lazy()
        print(layer.has_uninitialized_params(), layer(torch.ones(1, 3)).tolist())
        print(type(layer).__name__, isinstance(nn.UninitializedParameter(),
              nn.parameter.UninitializedTensorMixin))
        """
    assert run(tmp_path, code) == ["True [[3.0, 3.0]]", "Linear True"]


def test_checkpointed_modules(tmp_path):
    code = """
        from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
            apply_activation_checkpointing, CheckpointWrapper)

        model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
        names = list(model.state_dict())
        x = torch.ones(1, 2)
        expected = torch.autograd.grad(model(x).sum(), list(model.parameters()))
        apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, nn.Linear))
        found = torch.autograd.grad(model(x).sum(), list(model.parameters()))
        print(isinstance(model[0], CheckpointWrapper), list(model.state_dict()) == names)
        print(all(torch.equal(a, b) for a, b in zip(expected, found)))
        print(model.load_state_dict(model.state_dict()))
        """
    assert run(tmp_path, code) == ["True True", "True", "<All keys matched successfully>"]


def test_random_tensors_take_the_layout_over(tmp_path):
    code = """
        x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
        for f in (torch.rand_like, torch.randn_like, lambda x, **k: torch.randint_like(x, 3, **k)):
            print(f(x).stride(), f(x, memory_format=torch.contiguous_format).stride())
        print(torch.randint_like(x, high=2).max() < 2)
        """
    assert run(tmp_path, code) == ["(60, 1, 15, 3) (60, 20, 5, 1)"] * 3 + ["tensor(True)"]


def test_private_names_that_packages_import(tmp_path):
    """They have no use here: nothing but this test sees that they are gone."""
    code = """
        from torch.nn.modules.module import _IncompatibleKeys, _EXTRA_STATE_KEY_SUFFIX
        from torch.distributions.transforms import _InverseTransform, _clipped_sigmoid
        from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
        from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
        from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _BaseDataLoaderIter

        print(type(nn.Linear(1, 1).load_state_dict({}, strict=False)).__name__)
        """
    assert run(tmp_path, code) == ["_IncompatibleKeys"]


def test_asking_for_a_module_never_raises_another_error(tmp_path):
    assert run(
        tmp_path,
        """
        from genesis.torch import toplevel
        print(all(hasattr(torch, name) for name in toplevel._IMPORTED_WITH_TORCH))
        print(hasattr(torch, "nested"), hasattr(torch, "_library"))
        import torch._ops
        print(isinstance(torch.ops.aten.add, torch._ops.OpOverloadPacket), torch.per_tensor_affine)
        """,
    ) == ["True", "False False", "True torch.per_tensor_affine"]
