"""``__torch_function__``: each rule of PyTorch's page "Extending PyTorch"."""

import copy
import pickle
import threading
from typing import ClassVar

import genesis
import pytest
from genesis import Tensor, nn, overrides
from genesis.nn import functional as F
from genesis.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    resolve_name,
)


class Scalar:
    """The example of the page: an unrelated class that stands for a diagonal matrix."""

    handled: ClassVar[dict] = {}

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func not in cls.handled or not all(issubclass(t, (Tensor, Scalar)) for t in types):
            return NotImplemented
        return cls.handled[func](*args, **kwargs)


def implements(function):
    def register(f):
        Scalar.handled[function] = f
        return f

    return register


@implements(genesis.mean)
def _mean(input):
    return input.value / input.n


@implements(genesis.add)
def _add(input, other):
    return ("added", input, other)


class Logged(Tensor):
    """Keeps a list of what was called."""

    calls: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture
def calls():
    Logged.calls.clear()
    return Logged.calls


def names(calls):
    return [resolve_name(func) for func, _, _, _ in calls]


# --- unrelated classes


def test_an_unrelated_class_takes_over():
    d = Scalar(5, 10.0)
    assert genesis.mean(d) == 2.0
    assert genesis.add(d, genesis.ones(2))[0] == "added"
    assert genesis.add(genesis.ones(2), d)[0] == "added"


def test_what_nobody_implements_raises_a_type_error():
    with pytest.raises(TypeError, match=r"no implementation found for 'mul'.*Scalar"):
        genesis.mul(Scalar(2, 1.0), genesis.ones(2))


def test_an_operator_asks_an_unrelated_class():
    class Any:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return resolve_name(func), types, len(args)

    x = genesis.ones(2)
    assert x + Any() == ("genesis.Tensor.add", (Any,), 2)
    assert x @ Any() == ("genesis.Tensor.matmul", (Any,), 2)
    assert (x < Any())[0] == "genesis.Tensor.lt"
    y = x
    y -= Any()
    assert y[0] == "genesis.Tensor.sub_"


def test_a_class_without_the_method_is_refused_as_before():
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' must be a Tensor or a number"):
        genesis.add(genesis.ones(2), object())
    with pytest.raises(TypeError, match="unsupported operand"):
        genesis.ones(2) + object()


def test_a_method_that_is_added_later_is_seen():
    class Late:
        pass

    with pytest.raises(TypeError):
        genesis.exp(Late())
    Late.__torch_function__ = classmethod(lambda cls, f, types, args=(), kwargs=None: "late")
    assert genesis.exp(Late()) == "late"
    del Late.__torch_function__
    with pytest.raises(TypeError):
        genesis.exp(Late())


def test_the_other_name():
    class Mine:
        @classmethod
        def __genesis_function__(cls, func, types, args=(), kwargs=None):
            return func, types, args, kwargs

    mine = Mine()
    assert genesis.sum(mine, dim=0) == (genesis.sum, (Mine,), (mine,), {"dim": 0})

    class Sub(Tensor):
        @classmethod
        def __genesis_function__(cls, func, types, args=(), kwargs=None):
            return "sub"

    assert genesis.exp(Sub([1.0])) == "sub"


# --- what is passed


def test_func_types_args_and_kwargs(calls):
    x, y = Logged([1.0, 2.0]), genesis.ones(2)
    calls.clear()
    genesis.sub(y, x, alpha=2)
    assert calls == [(genesis.sub, (Logged,), (y, x), {"alpha": 2})]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x * 2, "genesis.Tensor.mul"),
        (lambda x: 2 * x, "genesis.Tensor.mul"),
        (lambda x: x.mul(2), "genesis.Tensor.mul"),
        (lambda x: genesis.mul(x, 2), "genesis.mul"),
        (lambda x: x.__imul__(2), "genesis.Tensor.mul_"),
        (lambda x: 2 - x, "genesis.Tensor.__rsub__"),
        (lambda x: 2 / x, "genesis.Tensor.__rtruediv__"),
        (lambda x: 2**x, "genesis.Tensor.__rpow__"),
        (lambda x: x**2, "genesis.Tensor.pow"),
        (lambda x: -x, "genesis.Tensor.neg"),
        (lambda x: abs(x), "genesis.Tensor.abs"),
        (lambda x: x == 1, "genesis.Tensor.eq"),
        (lambda x: x[0], "genesis.Tensor.__getitem__"),
        (lambda x: x.__setitem__(0, 1.0), "genesis.Tensor.__setitem__"),
        (lambda x: len(x), "genesis.Tensor.__len__"),
        (lambda x: 1.0 in x, "genesis.Tensor.__contains__"),
        (lambda x: repr(x), "genesis.Tensor.__repr__"),
        (lambda x: x.shape, "genesis.Tensor.shape.__get__"),
        (lambda x: x.T, "genesis.Tensor.T.__get__"),
        (lambda x: x.grad, "genesis.Tensor.grad.__get__"),
        (lambda x: setattr(x, "requires_grad", True), "genesis.Tensor.requires_grad.__set__"),
        (lambda x: x.dim(), "genesis.Tensor.dim"),
        (lambda x: genesis.cat([genesis.ones(1), x]), "genesis.cat"),
        (lambda x: genesis.stack((x, x)), "genesis.stack"),
        (lambda x: genesis.einsum("i,i", x, x), "genesis.einsum"),
        (lambda x: genesis.linalg.vector_norm(x), "genesis.linalg_vector_norm"),
        (lambda x: F.mse_loss(x, genesis.ones(2)), "genesis.nn.functional.mse_loss"),
        (lambda x: F.mish(x), "genesis.nn.functional.mish"),
        (lambda x: F.normalize(x, dim=0), "genesis.nn.functional.normalize"),
        (lambda x: nn.init.zeros_(x), "genesis.nn.init.zeros_"),
        (lambda x: genesis.where(x > 5, x, 0), "genesis.Tensor.gt"),
        (lambda x: genesis.ones(2).copy_(x), "genesis.Tensor.copy_"),
        (lambda x: genesis.exp(genesis.ones(2), out=x), "genesis.exp"),
        (lambda x: format(x, ""), "genesis.Tensor.__format__"),
        (lambda x: copy.deepcopy(x), "genesis.Tensor.__deepcopy__"),
    ],
)
def test_the_function_is_the_public_one(calls, call, name):
    x = Logged([1.0, 2.0])
    calls.clear()
    call(x)
    assert names(calls)[0] == name
    assert overrides.is_tensor_method_or_property(calls[0][0]) == name.startswith("genesis.Tensor")


def test_numbers_of_one_element(calls):
    one = Logged([3.0])
    calls.clear()
    assert (float(one), int(one), bool(one)) == (3.0, 3, True)
    assert [1, 2][genesis.tensor(1).as_subclass(Logged)] == 2
    slots = ["__float__", "__int__", "__bool__"]
    assert [n for n in names(calls)[:3]] == [f"genesis.Tensor.{n}" for n in slots]


# --- subclasses of Tensor


class Metres(Tensor):
    pass


class Kilometres(Metres):
    pass


def test_the_default_keeps_the_subclass():
    x = Metres([1.0, 2.0])
    for y in (
        x + 1,
        1 - x,
        x.exp(),
        genesis.exp(x),
        x[0],
        x.T,
        x.sum(),
        F.relu(x),
        genesis.cat([x]),
    ):
        assert type(y) is Metres
    assert [type(y) for y in x.split(1)] == [Metres, Metres]
    values = genesis.max(x, 0)
    assert type(values).__name__ == "max" and type(values.indices) is Metres
    assert type(x.shape) is genesis.Size and type(x.numel()) is int


def test_the_default_keeps_the_most_derived_class():
    assert type(Metres([1.0]) + Kilometres([1.0])) is Kilometres
    assert type(Kilometres([1.0]) + Metres([1.0])) is Kilometres


def test_unrelated_subclasses_are_not_mixed_by_the_default():
    class Seconds(Tensor):
        pass

    with pytest.raises(TypeError, match="no implementation found for 'add'"):
        Metres([1.0]) + Seconds([1.0])


def test_gradients_flow_through_subclasses():
    x = Metres([1.0, 2.0])
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert type(x.grad) is Tensor
    y = genesis.ones(2, requires_grad=True)
    y.as_subclass(Metres).sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_as_subclass_and_make_subclass():
    x = genesis.ones(2)
    y = x.as_subclass(Metres)
    assert type(y) is Metres and y.data_ptr() == x.data_ptr()
    z = Tensor._make_subclass(Metres, x, True)
    assert type(z) is Metres and z.requires_grad and z.is_leaf and z.data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="a subclass of Tensor"):
        x.as_subclass(int)


def test_copies_and_pickles_keep_the_subclass():
    x = Metres([1.0])
    assert type(copy.copy(x)) is type(copy.deepcopy(x)) is Metres
    assert type(pickle.loads(pickle.dumps(x))) is Metres


def test_parameters_and_buffers_make_plain_tensors():
    for kind in (nn.Parameter, nn.Buffer):
        x = kind(genesis.ones(2))
        assert type(x * 2) is Tensor
        assert not has_torch_function_unary(x)


def test_subclasses_are_asked_before_their_superclasses_and_left_before_right():
    order = []

    def tensor_class(name, *bases):
        def function(cls, func, types, args=(), kwargs=None):
            order.append(name)
            return NotImplemented

        return type(name, bases, {"__torch_function__": classmethod(function)})

    first, second = tensor_class("first", Tensor), tensor_class("second", Tensor)
    derived = tensor_class("derived", first)
    args = [second([1.0]), first([1.0]), derived([1.0]), first([2.0])]
    with pytest.raises(TypeError, match="no implementation found for 'cat'"):
        genesis.cat(args)
    assert order == ["second", "derived", "first"]


def test_super_is_the_way_to_the_function(calls):
    x = Logged([1.0])
    calls.clear()
    y = x.exp().log()
    assert type(y) is Logged
    assert names(calls) == ["genesis.Tensor.exp", "genesis.Tensor.log"]


# --- switching off


def test_disabled_for_subclasses():
    x = Metres([1.0])
    with DisableTorchFunctionSubclass():
        assert type(x + 1) is Tensor
        assert not has_torch_function_unary(x)
        with DisableTorchFunctionSubclass():
            pass
        assert type(x + 1) is Tensor
    assert type(x + 1) is Metres


def test_disabling_holds_for_one_thread():
    found = []
    with DisableTorchFunctionSubclass():
        thread = threading.Thread(target=lambda: found.append(type(Metres([1.0]) + 1)))
        thread.start()
        thread.join()
    assert found == [Metres]


# --- modes


class Log(TorchFunctionMode):
    def __init__(self, log=None):
        self.log = [] if log is None else log

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_everything_in_its_block():
    mode = Log()
    x = genesis.ones(2)
    with mode:
        y = genesis.zeros(2) + x
        F.mse_loss(y, x)
        y.shape
        genesis.nn.Linear(2, 2)(x)
    x + 1
    assert mode.log[:4] == [
        "genesis.zeros",
        "genesis.Tensor.add",
        "genesis.nn.functional.mse_loss",
        "genesis.Tensor.shape.__get__",
    ]
    assert "genesis.nn.functional.linear" in mode.log or "genesis.linear" in mode.log
    assert mode.log[-1] != "genesis.Tensor.add"


def test_a_mode_can_replace_results():
    class Twos(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is genesis.ones:
                return genesis.full(*args, 2.0)
            return func(*args, **(kwargs or {}))

    with Twos():
        assert genesis.ones((2,)).tolist() == [2.0, 2.0]
    assert genesis.ones(2).tolist() == [1.0, 1.0]


def test_modes_nest():
    log = []

    class Named(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(self.name)
            return func(*args, **(kwargs or {}))

    x = genesis.ones(1)
    with Named("outer"), Named("inner"):
        x.exp()
    assert log == ["inner", "outer"]


def test_a_mode_comes_before_subclasses_and_may_decline(calls):
    class Declines(TorchFunctionMode):
        seen = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            Declines.seen += 1
            return NotImplemented if types else func(*args, **(kwargs or {}))

    x = Logged([1.0])
    calls.clear()
    with Declines():
        x.exp()
    assert Declines.seen == 2 and names(calls) == ["genesis.Tensor.exp"]


def test_a_mode_ends_with_an_error_and_holds_for_one_thread():
    mode = Log()
    with pytest.raises(ZeroDivisionError), mode:
        1 / 0
    genesis.ones(1)
    assert mode.log == []
    with mode:
        thread = threading.Thread(target=lambda: genesis.ones(1).exp())
        thread.start()
        thread.join()
    assert mode.log == []


def test_disable_torch_function_switches_modes_off_too():
    mode = Log()
    with mode, DisableTorchFunction():
        genesis.ones(2) + 1
    assert mode.log == []
    with mode, DisableTorchFunctionSubclass():
        genesis.ones(2).exp()
    assert mode.log == ["genesis.ones", "genesis.Tensor.exp"]


def test_a_mode_without_the_method_says_so():
    with (
        pytest.raises(NotImplementedError, match="must define __torch_function__"),
        TorchFunctionMode(),
    ):
        genesis.ones(1)


# --- functions of one's own


def test_functions_that_dispatch_themselves():
    def double(x):
        if has_torch_function((x,)):
            return handle_torch_function(double, (x,), x)
        return x * 2

    seen = []

    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types, args, kwargs))
            return "mine"

    mine = Mine()
    assert double(mine) == "mine" and seen == [(double, (Mine,), (mine,), {})]
    assert double(genesis.ones(1)).tolist() == [2.0]
    assert has_torch_function_variadic(1, mine) and not has_torch_function_variadic(1, "a")
    with Log():
        assert has_torch_function(())


def test_wrap_torch_function():
    @overrides.wrap_torch_function(lambda x, scale=1: (x,))
    def scaled(x, scale=1):
        return x * scale

    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func is scaled, kwargs

    assert scaled(Mine(), scale=3) == (True, {"scale": 3})
    assert scaled(genesis.ones(1), scale=3).tolist() == [3.0]


def test_is_tensor_like():
    assert is_tensor_like(genesis.ones(1)) and is_tensor_like(Scalar(1, 1))
    assert is_tensor_like(nn.Parameter(genesis.ones(1)))
    assert not is_tensor_like(1.0) and not is_tensor_like([genesis.ones(1)])


# --- the lists


def test_every_overridable_function_has_a_name():
    found = overrides.get_overridable_functions()
    assert {genesis, F, genesis.linalg, Tensor} <= set(found)
    for functions in found.values():
        for function in functions:
            assert resolve_name(function), function
    assert genesis.add in found[genesis] and F.mse_loss in found[F]
    assert genesis.zeros in overrides.get_ignored_functions()
    assert not overrides.get_ignored_functions() & {f for fs in found.values() for f in fs}
    assert resolve_name(len) is None


def test_testing_overrides_have_the_parameters_of_the_functions():
    table = overrides.get_testing_overrides()
    assert table[genesis.add](genesis.ones(1), 2) == -1


def _native_calls():
    """Each native function that takes a tensor first, called with an object that overrides."""
    for op in genesis._C.op_info():
        first = op["params"][0] if op["params"] else None
        public = not op["name"].startswith("_")
        if (
            op["function"]
            and public
            and first
            and first["type"] in ("Tensor", "Operand", "Tensor[]")
        ):
            yield op


@pytest.mark.parametrize("op", [pytest.param(op, id=op["name"]) for op in _native_calls()])
def test_every_native_function_can_be_overridden(op):
    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, args

    function, mine = getattr(genesis, op["name"]), Mine()
    required = sum(p["default"] is None and not p["variadic"] for p in op["params"])
    given = [p for p in op["params"] if p["default"] is None and p["keyword_only"]]
    args = [[mine] if op["params"][0]["type"] == "Tensor[]" else mine]
    args += [mine] * (required - len(given) - 1)
    kwargs = {p["name"]: mine for p in given}
    assert function(*args, **kwargs)[:2] == (function, (Mine,))


@pytest.mark.parametrize(
    "name", [n for n in F.__all__ if isinstance(getattr(F, n), genesis._C._Overridable)]
)
def test_every_function_of_nn_functional_can_be_overridden(name):
    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, args, kwargs

    function, mine = getattr(F, name), Mine()
    assert function(mine, reduction="x") == (function, (Mine,), (mine,), {"reduction": "x"})
    assert function.__name__ == name
    assert pickle.loads(pickle.dumps(function)) is function
