"""Join, for scripts that use it in place of DistributedDataParallel.join."""

import contextlib

import pytest
from genesis.distributed.algorithms.join import Join


class Model:
    def __init__(self):
        self.inside, self.options = False, None

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False
    ):
        self.inside, self.options = True, (divide_by_initial_world_size, enable)
        try:
            yield
        finally:
            self.inside = False


def test_all_models_are_inside_and_left():
    first, second = Model(), Model()
    with Join([first, second], divide_by_initial_world_size=False):
        assert first.inside and second.inside
    assert not first.inside and not second.inside
    assert first.options == (False, True)


def test_an_error_inside_leaves_the_block():
    model = Model()
    with pytest.raises(KeyError), Join([model]):
        raise KeyError
    assert not model.inside


def test_mistakes():
    with pytest.raises(ValueError, match="joinables is empty"):
        Join([])
    with pytest.raises(TypeError, match="int has no join"):
        Join([3])
