"""How the examples of the documentation are run."""

import multiprocessing

import pytest


@pytest.fixture(autouse=True)
def workers_are_forked():
    """The classes of an example are in no module that a worker could import otherwise."""
    method = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(method, force=True)
