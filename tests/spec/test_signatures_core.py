"""Tensors, devices, dtypes, Functions, random numbers and amp of the original Genesis."""

import copy
import pickle
import subprocess
import sys

import genesis
import numpy as np
import pytest

# ---- devices --------------------------------------------------------------------------------


def test_any_device_can_be_named():
    cuda = genesis.device("cuda")
    assert cuda.type == "cuda" and cuda.index is None and str(cuda) == "cuda"
    assert repr(genesis.device("cuda:1")) == "device(type='cuda', index=1)"
    assert genesis.device("cuda", 1) == genesis.device("cuda:1") == "cuda:1"
    assert genesis.device("cuda:1") != genesis.device("cuda:0") and cuda != genesis.device("cpu")
    assert genesis.device(2) == "cuda:2" and genesis.device(cuda) is cuda
    assert genesis.device("cpu") is genesis.ones(1).device
    assert genesis.device("cpu:0") == genesis.device("cpu")
    assert len({genesis.device("cpu"), genesis.device("cpu:0"), cuda, genesis.device("cuda")}) == 2
    for d in (cuda, genesis.device("cuda:3"), genesis.device("cpu")):
        assert pickle.loads(pickle.dumps(d)) == d == copy.deepcopy(d)
    assert cuda.is_cuda() and not cuda.is_cpu() and genesis.device("cpu").is_cpu()
    assert not cuda.enabled() and genesis.device("cpu").enabled()


@pytest.mark.parametrize("bad", ["gpu", "cuda:", "cuda:x", "cuda:-1", "", "cpu:0:1"])
def test_a_name_of_no_device(bad):
    with pytest.raises(ValueError, match="names no device"):
        genesis.device(bad)


def test_bad_devices():
    with pytest.raises(ValueError, match="given twice"):
        genesis.device("cuda:1", 2)
    with pytest.raises(ValueError, match="negative"):
        genesis.device("cuda", -1)
    with pytest.raises(TypeError, match="device"):
        genesis.device(None)
    with pytest.raises(TypeError, match="index must be an int"):
        genesis.device("cuda", "1")


def _enter(device):
    with genesis.device(device):
        pass


@pytest.mark.parametrize(
    "use",
    [
        lambda d: genesis.ones(2, device=d),
        lambda d: genesis.tensor([1.0], device=d),
        lambda d: genesis.ones(2).to(d),
        lambda d: genesis.nn.Linear(2, 2).to(d),
        lambda d: genesis.nn.Linear(2, 2, device=d),
        lambda d: genesis.Generator(d),
        _enter,
        lambda d: genesis.set_default_device(d),
    ],
)
def test_only_using_a_device_that_is_not_there_raises(use):
    for device in ("cuda", genesis.device("cuda"), genesis.device("cuda:1")):
        with pytest.raises(RuntimeError, match="is not available"):
            use(device)
    use("cpu"), use(genesis.device("cpu"))


def test_methods_to_cuda_raise():
    for move in (genesis.ones(1).cuda, genesis.nn.Linear(1, 1).cuda):
        for args in ((), (0,), ("cuda",)):
            with pytest.raises(RuntimeError, match="is not available"):
                move(*args)


def test_the_module_of_devices():
    from genesis.device import (
        Device,
        DeviceType,
        cpu,
        cuda,
        default_device,
        device,
        set_default_device,
    )

    assert genesis.device is device is Device  # the import left the class in its place
    assert Device("cuda:1") == cuda(1) and cuda() == "cuda" and cpu() == default_device()
    assert cpu().type == DeviceType.CPU and cuda(device_id=0).type == DeviceType.CUDA
    assert DeviceType("cuda") is DeviceType.CUDA
    set_default_device("cpu")
    assert genesis.cpu() == "cpu" and genesis.cuda() == "cuda" and genesis.cuda(1) == "cuda:1"
    assert genesis.cuda_available() is False and genesis.cuda.is_available() is False


@pytest.mark.parametrize("first", ["import genesis.device", "from genesis.tensor import Tensor"])
def test_modules_beside_names_do_not_hide_them(first):
    code = (
        f"{first}\nimport genesis.tensor, genesis.device, genesis\n"
        "assert genesis.tensor([1]).tolist() == [1] and genesis.device('cpu').type == 'cpu'\n"
        "genesis.anything = 3; assert genesis.anything == 3\n"
        "from genesis.tensor import *; assert tensor is genesis.tensor and ones_like\n"
        "assert type(genesis).__name__ in ('module', '_Package'); print('ok')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ok\n"


# ---- tensors --------------------------------------------------------------------------------


def test_tensor_constructor_with_a_layout():
    storage = np.arange(6.0, dtype=np.float32)
    x = genesis.Tensor(storage, shape=(2, 2), stride=(3, 1), offset=1, requires_grad=True)
    assert x.tolist() == [[1, 2], [4, 5]] and x.requires_grad and x.is_leaf
    assert genesis.Tensor(storage, shape=(3, 2)).tolist() == storage.reshape(3, 2).tolist()
    assert genesis.Tensor(shape=(2, 3), dtype="float64").dtype == genesis.float64
    with pytest.raises((ValueError, RuntimeError)):
        genesis.Tensor(storage, shape=(4, 4))


def test_tensor_members():
    x = genesis.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.numel() == 4 and x.element_size() == 4 and x.is_floating_point()
    assert x.is_contiguous() and not x.T.is_contiguous() and isinstance(x.data_ptr(), int)
    assert x.cpu() is x and x.to("cpu") is x and x.to(genesis.float64).dtype == genesis.float64
    assert x.to_dtype("float16").dtype == genesis.float16 and x.float() is x
    assert x.numpy().tolist() == x.tolist() and x.ndim == 2 and x.dtype == genesis.float32
    assert not x.is_view and x[0].is_view and x[1].storage_offset() == 2
    assert x.stride() == (2, 1) and x.strides == (2, 1) and tuple(x.stride) == (2, 1)
    y = x.clone().requires_grad_(requires_grad=True)
    assert y.requires_grad and not y.detach().requires_grad and y.data.tolist() == x.tolist()
    assert genesis.zeros(2, 2).copy_(x).tolist() == x.tolist()
    assert x.all() and x.any(dim=0, keepdim=True).shape == (1, 2) and x.all(dim=1).shape == (2,)
    assert genesis.zeros(2).fill_(3).tolist() == [3, 3] and x.sum().item() == 10
    assert genesis.ones_like(x).tolist() == [[1, 1], [1, 1]]
    assert x.free() is None and x.tolist() == [[1, 2], [3, 4]]


def test_hooks_of_tensors():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 10)
    assert x.apply_hooks(genesis.ones(2)).tolist() == [10, 10]
    x.sum().backward()
    assert x.grad.tolist() == [10, 10]
    handle.remove()
    assert x.apply_hooks(genesis.ones(2)).tolist() == [1, 1]
    y = x * 2
    y.set_creator(y.creator)
    y.set_creator(y.creator, idx=0)
    with pytest.raises(RuntimeError, match="set_creator"):
        y.set_creator((x + 1).creator)


def test_the_module_of_tensors():
    from genesis.tensor import Tensor, ones_like, tensor

    assert Tensor is genesis.Tensor and tensor([1.0], dtype=None, device=None).shape == (1,)
    assert tensor([1.0], requires_grad=True).requires_grad and ones_like(tensor([5])).item() == 1


# ---- Functions, grad modes ------------------------------------------------------------------


def test_function_module():
    from genesis.function import (
        AccumulateGrad,
        Context,
        Function,
        cast_to_bf16,
        cast_to_fp16,
        cast_to_fp32,
    )

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, Context)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = genesis.tensor([3.0], requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.item() == 6
    AccumulateGrad(x).apply_grad(genesis.tensor([1.0]))
    assert x.grad.item() == 7
    AccumulateGrad(y := genesis.zeros(1, requires_grad=True)).apply_grad(genesis.ones(1))
    assert y.grad.item() == 1
    with pytest.raises(TypeError, match="AccumulateGrad"):
        AccumulateGrad(3)
    mixed = {"a": [genesis.ones(1), 2], "b": (genesis.tensor([1]), "text")}
    for cast, dtype in (
        (cast_to_fp16, genesis.float16),
        (cast_to_bf16, genesis.bfloat16),
        (cast_to_fp32, genesis.float32),
    ):
        made = cast(mixed)
        assert made["a"][0].dtype == dtype and made["a"][1] == 2
        assert made["b"][0].dtype == genesis.int64 and made["b"][1] == "text"


def test_grad_mode_module():
    from genesis.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled()
        with enable_grad():
            assert is_grad_enabled()
        with set_grad_enabled(mode=True):
            assert is_grad_enabled()


# ---- random, amp, dtypes --------------------------------------------------------------------


def test_random_module():
    from genesis import random

    g = random.Generator(device="cpu")
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    state = g.get_state()
    first = genesis.rand(3, generator=g)
    g.set_state(state)
    assert genesis.equal(genesis.rand(3, generator=g), first)
    assert isinstance(g.seed(), int)
    g.manual_seed(1)
    seeds = [g.next_seed(), g.next_seed()]
    g.manual_seed(1)
    assert [g.next_seed(), g.next_seed()] == seeds and seeds[0] != seeds[1]
    assert random.default_generator() is random.default_generator is genesis.default_generator
    assert random.manual_seed(5) is random.default_generator() and random.initial_seed() == 5
    state = random.get_rng_state()
    for arguments in ({}, {"devices": []}, {"devices": None, "enabled": True}):
        with random.fork_rng(**arguments):
            genesis.rand(1)
        assert genesis.equal(random.get_rng_state(), state)
    with random.fork_rng(enabled=False):
        genesis.rand(1)
    assert not genesis.equal(random.get_rng_state(), state)
    random.set_rng_state(state)
    assert isinstance(random.seed(), int)


def test_amp_module():
    from genesis.amp import AMPPolicy, GradScaler, autocast, get_amp_dtype

    half, single = genesis.ones(1).half(), genesis.ones(1)
    assert get_amp_dtype(AMPPolicy.FP16) == genesis.float16
    with autocast("cpu", enabled=True, dtype=genesis.bfloat16):
        assert get_amp_dtype(AMPPolicy.FP16) == genesis.bfloat16
        assert (single @ single).dtype == genesis.bfloat16
    assert get_amp_dtype("fp32") == genesis.float32 and get_amp_dtype("preserve", half) is None
    assert get_amp_dtype(None, single, [half]) == genesis.float32
    assert get_amp_dtype("promote", half, other={"x": half}) is None
    with autocast("cpu", False):  # the original's order: device_type, enabled, dtype
        assert (single @ single).dtype == genesis.float32
    with autocast("cpu", True, genesis.float16):
        assert (single @ single).dtype == genesis.float16
    with pytest.warns(UserWarning, match="'cuda' is not available"):
        autocast(device_type="cuda")
    scaler = GradScaler(
        init_scale=2.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=1, enabled=True
    )
    p = genesis.nn.Parameter(genesis.ones(1))
    optimizer = genesis.optim.SGD([p], lr=0.5)
    scaler.scale(p.sum()).backward()
    assert p.grad.item() == 2
    scaler.unscale_(optimizer)
    assert p.grad.item() == 1
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0.5 and scaler.get_scale() == 4


def test_dtypes_module():
    from genesis.dtypes import (
        DType,
        get_dtype,
        infer_dtype_from_data,
        is_floating_point,
        is_integer,
    )

    assert get_dtype(None) == genesis.float32 and get_dtype("int8") is genesis.int8
    assert get_dtype(np.float16) == get_dtype(np.dtype("float16")) == genesis.float16
    assert get_dtype(genesis.bool) is genesis.bool and isinstance(genesis.float32, DType)
    with pytest.raises(ValueError, match="get_dtype"):
        get_dtype("float33")
    assert is_floating_point("bfloat16") and not is_floating_point(genesis.int32)
    assert is_integer("uint8") and not is_integer("bool") and not is_integer(genesis.float16)
    for data, expected in (
        (42, "int64"), (3.14, "float32"), (True, "bool"), ([1, 2], "int64"), ([1.0], "float32"),
        (np.ones(2), "float32"), (np.ones(2, "int16"), "int16"), (genesis.ones(1).half(), "float16"),
    ):  # fmt: skip
        assert infer_dtype_from_data(data) == expected
    assert genesis.get_dtype("int32") == genesis.int32 and genesis.is_integer("int32")


def test_dtypes_of_other_libraries():
    torch = pytest.importorskip("torch")
    assert genesis.dtypes.get_dtype(torch.bfloat16) == genesis.bfloat16


# ---- idioms of PyTorch ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"),
        ("BFloat16Tensor", "bfloat16"), ("LongTensor", "int64"), ("IntTensor", "int32"),
        ("ShortTensor", "int16"), ("CharTensor", "int8"), ("ByteTensor", "uint8"),
        ("BoolTensor", "bool"),
    ],
)  # fmt: skip
def test_tensors_of_one_dtype(name, dtype):
    cls = getattr(genesis, name)
    x = cls([1, 0])
    assert type(x) is genesis.Tensor and x.dtype == dtype and x.tolist() == [1, 0]
    assert cls(2, 3).shape == (2, 3) and cls(genesis.Size([4])).shape == (4,)
    assert cls().shape == (0,) and cls(np.ones(2)).dtype == dtype and cls(2, 3).dtype == dtype
    assert isinstance(x, cls) and not isinstance([1, 0], cls)
    other = genesis.ones(1, dtype="int32" if dtype != "int32" else "int64")
    assert not isinstance(other, cls) and other.to(cls).dtype == dtype
    with pytest.raises(RuntimeError, match="not available"):
        cls([1], device="cuda")


def test_variable():
    from genesis.autograd import Variable

    data = genesis.ones(2)
    x = Variable(data, requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and not data.requires_grad and isinstance(data, Variable)
    x.data.fill_(5)
    assert data.tolist() == [5, 5]
    assert not Variable(data).requires_grad
    with pytest.raises(TypeError, match="Variable"):
        Variable([1.0])


def test_questions_about_storage():
    x = genesis.ones(2)
    assert x.layout is genesis.strided and x.layout != genesis.sparse_coo
    assert repr(x.layout) == "genesis.strided" and isinstance(x.layout, genesis.layout)
    assert (
        not x.is_sparse and not x.is_quantized and pickle.loads(pickle.dumps(x.layout)) is x.layout
    )
    genesis._assert(x.sum() == 2, "fine")
    with pytest.raises(AssertionError, match="not fine"):
        genesis._assert(False, "not fine")


def test_a_parameter_may_be_written_in_part():
    p = genesis.nn.Parameter(genesis.zeros(3, 2))
    p[0] = 1.0
    p[genesis.tensor([1, 2])] = genesis.full((2, 2), 4.0)
    p[:, 1:] = 7.0
    assert p.is_leaf and p.requires_grad and p.tolist() == [[1, 7], [4, 7], [4, 7]]
    with pytest.raises(RuntimeError, match="leaf Variable"):
        p[0] = genesis.ones(2, requires_grad=True) * 2
    x = genesis.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x[0] = 1.0
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x += 1
    genesis.nn.init.normal_(x), genesis.nn.init.ones_(p)  # without no_grad
    assert p.is_leaf and x.is_leaf


def test_bfloat16_arrays():
    code = (
        "import sys, warnings; sys.modules['ml_dtypes'] = None\n"
        "import genesis, numpy as np\n"
        "x = genesis.tensor([1.5, -2.0], dtype=genesis.bfloat16)\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    a, b = x.numpy(), np.asarray(x)\n"
        "assert a.dtype == b.dtype == np.float32 and a.tolist() == b.tolist() == [1.5, -2.0]\n"
        "assert len(seen) == 1 and 'ml_dtypes' in str(seen[0].message), seen"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
