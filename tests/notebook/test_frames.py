"""Errors name lines of the cell, not those of the notebook that runs it."""

import genesis
import pytest

CELL = """
with genesis.autograd.check_finite():
    genesis.zeros(2).log()
"""


def test_frames_of_the_notebook_are_left_out():
    cell = compile(CELL, "/tmp/ipykernel_1/2.py", "exec")
    shell = compile("exec(cell, names)", "/site-packages/IPython/core/interactiveshell.py", "exec")
    kernel = compile("exec(shell, names)", "/site-packages/ipykernel/kernelapp.py", "exec")
    names = {"cell": cell, "shell": shell, "genesis": genesis}
    names["names"] = names
    with pytest.raises(genesis.autograd.NonFiniteError) as error:
        exec(kernel, names)
    assert "/tmp/ipykernel_1/2.py" in str(error.value)
    assert "interactiveshell" not in str(error.value)
    assert "kernelapp" not in str(error.value)
