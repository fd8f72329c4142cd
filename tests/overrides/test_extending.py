"""The rules of PyTorch's page "Extending PyTorch" on ``__torch_function__``, here and in PyTorch."""

import importlib
import inspect

import pytest


@pytest.fixture(params=["genesis", "torch"])
def lib(request):
    return pytest.importorskip(request.param)


@pytest.fixture
def overrides(lib):
    return importlib.import_module(f"{lib.__name__}.overrides")


def _scalar_class(handled):
    """The page's first example: a class that is no tensor, and a table of what it handles."""

    class ScalarTensor:
        def __init__(self, n, value):
            self._n, self._value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(t, ScalarTensor) for t in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    return ScalarTensor


def test_a_table_of_functions_gives_an_unrelated_class_its_behaviour(lib):
    kind = _scalar_class(handled := {})
    handled[lib.mean] = lambda input, dim=None: float(input._value) / input._n
    assert lib.mean(kind(5, 2)) == 0.4
    assert lib.mean(kind(5, 2), dim=0) == 0.4
    assert lib.mean(lib.ones(2)).item() == 1


def test_what_no_class_implements_names_the_function_and_the_classes(lib):
    kind = _scalar_class({})
    with pytest.raises(
        TypeError, match=r"(no implementation found|dispatch failed) for '.*add'[\s\S]*ScalarTensor"
    ):
        lib.add(kind(5, 2), lib.ones(2))


def test_after_notimplemented_the_next_class_is_asked(lib):
    asked = []

    def make(name, result):
        def function(cls, func, types, args=(), kwargs=None):
            asked.append(name)
            return result

        return type(name, (), {"__torch_function__": classmethod(function)})()

    first, second, third = make("A", NotImplemented), make("B", "of B"), make("C", "of C")
    assert lib.cat([first, second, third]) == "of B"
    assert asked == ["A", "B"]


def test_types_holds_each_overriding_class_once_and_no_plain_tensor(lib):
    seen = []

    class Sub(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(list(types))
            return super().__torch_function__(func, types, args, kwargs)

    x = lib.ones(2).as_subclass(Sub)
    seen.clear()
    lib.cat([x, lib.ones(1), x])
    assert seen[0] == [Sub]


def test_a_wrapper_of_tensors_unwraps_its_arguments(lib):
    class MetadataTensor:
        def __init__(self, data, metadata=None):
            self._t, self._metadata = lib.as_tensor(data), metadata

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            metadatas = [a._metadata for a in args if hasattr(a, "_metadata")]
            args = [getattr(a, "_t", a) for a in args]
            return MetadataTensor(func(*args, **(kwargs or {})), metadata=metadatas[0])

    x = MetadataTensor([[1.0, 2.0]], metadata={"owner": "Ministry of Silly Walks"})
    for y in (lib.add(x, lib.ones(1)), lib.mul(lib.ones(1, 2), x)):
        assert isinstance(y, MetadataTensor)
        assert y._metadata == {"owner": "Ministry of Silly Walks"}


def test_subclasses_survive_functions_methods_operators_and_indexing(lib):
    Sub = type("SubTensor", (lib.Tensor,), {})
    Sub2 = type("SubTensor2", (Sub,), {})
    x, y = Sub([0.0]), Sub2([1.0])
    for result in (lib.add(x, x), x + 1, lib.ones(1) + x, x.exp(), x[0], lib.nn.functional.relu(x)):
        assert type(result) is Sub
    assert type(lib.add(x, y)) is Sub2
    assert type(y + x) is Sub2


def test_classes_of_which_neither_derives_from_the_other_do_not_mix(lib):
    one, other = type("One", (lib.Tensor,), {}), type("Other", (lib.Tensor,), {})
    with pytest.raises(
        TypeError, match=r"(no implementation found|dispatch failed)[\s\S]*One[\s\S]*Other"
    ):
        lib.add(one([0.0]), other([1.0]))


def test_a_logging_subclass_calls_super(lib, overrides):
    log = []

    class LoggingTensor(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((overrides.resolve_name(func) or "").rpartition(".")[2])
            return super().__torch_function__(func, types, args, kwargs or {})

    x = lib.ones(2).as_subclass(LoggingTensor)
    log.clear()
    y = lib.exp(x)
    assert log[0] == "exp"
    assert type(y) is LoggingTensor


def test_a_subclass_can_switch_overrides_off(lib):
    class Plain(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

    x = lib.ones(2).as_subclass(Plain)
    assert type(x + 1) is lib.Tensor


def test_a_plain_method_is_called_with_a_warning(lib):
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "old"

    with pytest.warns(UserWarning, match="plain method"):
        assert lib.add(Old(), lib.ones(1)) == "old"


def test_a_mode_is_off_inside_its_own_handler(lib, overrides):
    log = []

    class FunctionLog(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(overrides.resolve_name(func).rpartition(".")[2])
            lib.zeros(1)  # not logged
            return func(*args, **(kwargs or {}))

    with FunctionLog():
        lib.ones(2).exp()
    assert log == ["ones", "exp"]


def test_functions_without_tensor_arguments_reach_modes_only(lib, overrides):
    seen = []

    class Sub(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append("class")
            return super().__torch_function__(func, types, args, kwargs)

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append("mode")
            return func(*args, **(kwargs or {}))

    lib.ones(2).as_subclass(Sub)
    seen.clear()
    with Mode():
        lib.ones(2)
    assert seen == ["mode"]


def test_coverage_can_be_tested(lib, overrides):
    functions = overrides.get_overridable_functions()
    assert lib.nn.functional.softmax in functions[lib.nn.functional]
    dummies = overrides.get_testing_overrides()
    assert "input" in inspect.signature(dummies[lib.add]).parameters
    ignored = overrides.get_ignored_functions()
    assert lib.Tensor.as_subclass in ignored
    assert lib.add not in ignored
