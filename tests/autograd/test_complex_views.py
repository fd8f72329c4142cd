"""Writing to the real and imaginary parts of a complex tensor inside a graph."""

import genesis
import pytest


def leaf(n=3):
    re, im = genesis.arange(1, n + 1).double(), genesis.arange(n, 0, -1).double()
    return genesis.complex(re, im).requires_grad_()


def test_writing_to_the_real_part_stops_its_gradient():
    x = leaf()
    z = x * 1
    z.real.mul_(3)
    z.imag[1:] = 0
    assert genesis.equal(z.detach().real, 3 * x.detach().real)
    (z.real.sum() + 2 * z.imag.sum()).backward()
    assert genesis.equal(x.grad, genesis.tensor([3 + 2j, 3, 3], dtype=genesis.complex128))


def test_gradients_reach_what_was_written():
    x, r = leaf(), genesis.ones(3, dtype=genesis.float64, requires_grad=True)
    z = x * 1
    z.real = r * 5
    (z * z.conj()).real.sum().backward()
    assert genesis.equal(r.grad, genesis.full((3,), 50.0, dtype=genesis.float64))
    assert genesis.equal(
        x.grad, genesis.complex(genesis.zeros_like(r.detach()), 2 * x.detach().imag)
    )


def test_a_part_taken_before_sees_what_is_written_later():
    x = leaf()
    z = x * 1
    part = z.imag
    z.mul_(2j)
    assert genesis.equal(part.detach(), 2 * x.detach().real)
    part.sum().backward()
    assert genesis.equal(x.grad, genesis.full((3,), 2.0 + 0j, dtype=genesis.complex128))


def test_writing_to_a_complex_view_of_a_real_tensor():
    x = genesis.arange(6).double().reshape(3, 2).requires_grad_()
    y = x * 1
    genesis.view_as_complex(y)[1:].mul_(1j)
    assert y.tolist() == [[0, 1], [-3, 2], [-5, 4]]
    (y * genesis.tensor([[1.0, 2.0]], dtype=genesis.float64)).sum().backward()
    assert x.grad.tolist() == [[1, 2], [2, -1], [2, -1]]


@pytest.mark.parametrize("change", ["real", "imag"])
def test_gradcheck_of_writes_to_parts(change):
    def f(z, r):
        w = z * z
        part = getattr(w, change)
        part.mul_(r)
        part[1:].add_(r[1:] * 2)
        return w * z

    r = genesis.tensor([0.5, -1.5, 2.0], dtype=genesis.float64, requires_grad=True)
    assert genesis.autograd.gradcheck(f, (leaf(), r))
    assert genesis.autograd.gradgradcheck(f, (leaf(), r))


def test_a_part_of_a_leaf_cannot_be_written():
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf"):
        x.real.zero_()
    with genesis.no_grad():
        x.real.zero_()
    assert x.detach().real.tolist() == [0, 0, 0]


def test_the_base_of_a_part():
    z = leaf() * 1
    assert z.real._base is z and genesis.view_as_real(z)._base is z
