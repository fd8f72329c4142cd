"""no_grad, enable_grad, set_grad_enabled, inference_mode."""

import threading

import genesis
import pytest

from tests.autograd.leaves import leaf

MODES = ["no_grad", "enable_grad", "inference_mode"]


def test_no_grad_builds_no_graph():
    x = leaf(1.0)
    with genesis.no_grad():
        assert not genesis.is_grad_enabled()
        y = x * 2
    assert genesis.is_grad_enabled()
    assert not y.requires_grad
    assert y.grad_fn is None


def test_modes_nest_and_are_left_as_they_were_found():
    with genesis.no_grad():
        with genesis.enable_grad():
            assert genesis.is_grad_enabled()
            with genesis.no_grad():
                assert not genesis.is_grad_enabled()
            assert genesis.is_grad_enabled()
        assert not genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()


def test_an_exception_leaves_the_mode():
    with pytest.raises(KeyError), genesis.no_grad():
        raise KeyError
    assert genesis.is_grad_enabled()


def test_a_mode_object_can_be_entered_again():
    mode = genesis.no_grad()
    for _ in range(2):
        with mode:
            assert not genesis.is_grad_enabled()
        assert genesis.is_grad_enabled()


def test_set_grad_enabled_is_a_call_a_context_and_a_decorator():
    try:
        genesis.set_grad_enabled(False)
        assert not genesis.is_grad_enabled()
    finally:
        genesis.set_grad_enabled(True)
    with genesis.set_grad_enabled(False):
        assert not genesis.is_grad_enabled()
        with genesis.set_grad_enabled(True):
            assert genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()

    @genesis.set_grad_enabled(False)
    def function(x):
        return x * 2

    assert genesis.is_grad_enabled()
    assert not function(leaf(1.0)).requires_grad


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("called", [True, False], ids=["with parentheses", "without"])
def test_modes_decorate_functions(mode, called):
    mode_type = getattr(genesis, mode)

    def function(x):
        """What it does."""
        return x * 2

    decorated = (mode_type() if called else mode_type)(function)
    with genesis.no_grad():
        assert decorated(leaf(1.0)).requires_grad == (mode == "enable_grad")
    assert decorated(leaf(1.0)).requires_grad == (mode == "enable_grad")
    assert decorated.__name__ == "function"
    assert decorated.__doc__ == "What it does."


def test_the_mode_belongs_to_the_thread():
    seen = {}

    def other():
        seen["at start"] = genesis.is_grad_enabled()
        genesis.set_grad_enabled(False)
        seen["result"] = (leaf(1.0) * 2).requires_grad

    with genesis.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()
    assert seen == {"at start": True, "result": False}


def test_inference_tensors_cannot_enter_a_graph():
    x = leaf(1.0)
    with genesis.inference_mode():
        y = x * 2
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad_()
    y.clone().requires_grad_()
