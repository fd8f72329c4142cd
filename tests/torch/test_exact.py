"""What differs under the name torch: what PyTorch prints, reads and refuses."""

import pytest

from tests.torch.test_shim import program, run_torch

PROGRAMS = {
    "named tuples": """
        x = torch.eye(2)
        assert repr(x.max(dim=0)).startswith("torch.return_types.max("), repr(x.max(dim=0))
        assert repr(torch.linalg.slogdet(x)).startswith("torch.return_types.linalg_slogdet(")
        assert repr(torch.slogdet(x)).startswith("torch.return_types.slogdet(")
        assert isinstance(torch.linalg.slogdet(x), torch.return_types.linalg_slogdet)
        """,
    "masks of uint8": """
        x = torch.arange(6.0).view(2, 3)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert x[(x > 3).byte()].tolist() == [4.0, 5.0]
            assert x[np.array([1, 0], dtype=np.uint8)].tolist() == [[0.0, 1.0, 2.0]]
            x[0, torch.tensor([1, 0, 1], dtype=torch.uint8)] = -1
        assert len(seen) == 3 and "torch.uint8" in str(seen[0].message)
        assert x[0].tolist() == [-1.0, 1.0, -1.0]
        assert x[np.uint8(1)].tolist() == [3.0, 4.0, 5.0]
        """,
    "lists that are tuples": """
        x = torch.arange(12).view(3, 4)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert x[[[0, 2], [1, 3]]].tolist() == [1, 11]
            assert x[[torch.tensor(2), torch.tensor(1)]] == 9
            assert x[[slice(1, 3), 0]].tolist() == [4, 8]
            x[[[0], [0]]] = 7
        assert len(seen) == 4 and "non-tuple" in str(seen[0].message)
        assert x[0, 0] == 7 and x[[0, 2]].shape == (2, 4)
        """,
    "types of nodes": """
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        assert type(y.grad_fn).__name__ == y.grad_fn.name() == "MulBackward0"
        assert type(y.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
        assert isinstance(y.grad_fn, torch.autograd.graph.Node)

        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.factor = 2
                return 2 * x

            @staticmethod
            def backward(ctx, dy):
                assert len(ctx.saved_tensors) == 1
                return ctx.factor * dy

        z = Twice.apply(x)
        assert type(z.grad_fn).__name__ == "TwiceBackward"
        assert repr(z.grad_fn).startswith("<torch.autograd.function.TwiceBackward object at")
        node = weakref.ref(z.grad_fn)
        z.sum().backward()
        assert x.grad.tolist() == [2, 2]
        del z
        gc.collect()
        assert node() is None
        """,
    "hooks after accumulation": """
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: p.grad)
        try:
            x.sum().backward()
        except RuntimeError as error:
            assert "must return None, got" in str(error)
        else:
            raise AssertionError("nothing was raised")
        """,
    "switches of overrides": """
        class Metres(torch.Tensor):
            pass

        x = Metres([1.0])
        assert type(x + 1) is Metres
        with torch._C.DisableTorchFunctionSubclass():
            assert type(x + 1) is torch.Tensor
        assert torch.overrides.resolve_name(torch.Tensor.mul) == "torch.Tensor.mul"
        assert torch.overrides.is_tensor_method_or_property(torch.Tensor.mul)
        """,
    "import *": """
        from torch import *
        from torch.nn import *
        from torch.nn.functional import *

        assert tensor([1.0]).dtype is float32 and "zeros" in torch.__all__
        assert isinstance(Linear(1, 1), Module) and relu(ones(1)) == 1
        assert not {"Tape", "debug"} & set(globals())
        """,
    "functions of NumPy": """
        x = torch.arange(4.0)
        for made in (np.concatenate([x, x]), np.stack([x, x]), np.where(x > 1, x, 0), np.vstack([x])):
            assert type(made) is np.ndarray and made.dtype == np.float32, made
        assert type(np.mean(x)) is torch.Tensor and type(np.sin(x)) is torch.Tensor
        assert np.allclose(x, x) and np.dot(x, x) == 14 and np.reshape(x, (2, 2)).shape == (2, 2)
        try:
            np.stack([x.requires_grad_()])
        except RuntimeError as error:
            assert "detach" in str(error)
        else:
            raise AssertionError("nothing was raised")
        """,
    "arrays with negative strides": """
        try:
            torch.from_numpy(np.arange(3)[::-1])
        except ValueError as error:
            assert "negative strides" in str(error)
        else:
            raise AssertionError("nothing was raised")
        """,
    "weights of recurrent layers": """
        lstm = torch.nn.LSTM(2, 3, num_layers=2)
        assert lstm._flat_weights_names[:2] == ["weight_ih_l0", "weight_hh_l0"]
        assert len(lstm._flat_weights) == 8 and lstm._flat_weights[0] is lstm.weight_ih_l0
        """,
    "transformed distributions": """
        from torch.distributions import ExpTransform, Normal, TransformedDistribution

        made = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
        assert repr(made) == "TransformedDistribution()"
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch_does(name, tmp_path):
    start = "        import gc, warnings, weakref\n        import numpy as np, torch"
    file = program(tmp_path, start + PROGRAMS[name] + "print('done')")
    done = run_torch(file)
    assert done.stdout == "done\n", done.stderr
