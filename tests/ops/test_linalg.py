"""Linear algebra beyond the table: matrices without a result, those that leave something open."""

import subprocess
import sys

import genesis
import numpy as np
import pytest
from genesis import linalg
from genesis.autograd import gradcheck

from tests.ops.op import tensor, to_numpy


def _x(rng, *shape, **kwargs):
    return tensor(rng.normal(size=shape), **kwargs)


# --- no result


@pytest.mark.parametrize("call", [
    linalg.inv, genesis.inverse, lambda a: linalg.solve(a, genesis.ones(2, 3, 1, dtype=a.dtype)),
    lambda a: linalg.matrix_power(a, -1), linalg.cholesky,
])  # fmt: skip
def test_error_names_the_matrix_of_the_batch(call):
    a = tensor(np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0])]))
    with pytest.raises(linalg.LinAlgError, match="matrix 1 of the batch is") as caught:
        call(a)
    assert isinstance(caught.value, RuntimeError)


def test_error_names_the_place_in_several_dimensions_and_none_without_a_batch():
    a = np.broadcast_to(np.eye(2), (2, 3, 2, 2)).copy()
    a[1, 2] = a[1, 1] = 0
    with pytest.raises(linalg.LinAlgError, match=r"linalg.inv: matrix \(1, 1\) of the batch"):
        linalg.inv(tensor(a))
    with pytest.raises(linalg.LinAlgError, match="inverse: the matrix is singular"):
        genesis.inverse(genesis.zeros(2, 2))


def test_not_positive_definite_says_which_minor():
    with pytest.raises(linalg.LinAlgError, match="minor of order 2"):
        linalg.cholesky(genesis.tensor([[1.0, 0.0], [0.0, -1.0]]))


@pytest.mark.parametrize("function", [linalg.svd, linalg.svdvals, linalg.eigh, linalg.eigvalsh])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_inf_and_nan_are_refused_where_iterations_might_not_end(function, value):
    a = genesis.ones(3, 3, 3)
    a[2, 1, 0] = value
    with pytest.raises(linalg.LinAlgError, match="matrix 2 of the batch has inf or nan"):
        function(a)


def test_the_triangle_that_is_not_read_may_hold_anything():
    a = genesis.tensor([[2.0, float("nan")], [0.0, 3.0]])
    assert linalg.eigvalsh(a).tolist() == [2.0, 3.0]
    assert linalg.eigvalsh(a.T, UPLO="U").tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name, args, error, text", [
    ("inv", [(2, 3)], ValueError, r"linalg.inv: A must be square.*\(2, 3\)"),
    ("inv", [(3,)], ValueError, r"at least 2 dimensions.*\(3,\)"),
    ("det", [()], ValueError, "at least 2 dimensions"),
    ("svd", [(3,)], ValueError, "at least 2 dimensions"),
    ("qr", [(3, 3), "full"], ValueError, "mode must be"),
    ("eigh", [(3, 3), "X"], ValueError, "UPLO must be"),
    ("solve", [(3, 3), (2, 2)], ValueError, r"\(3, 3\).*\(2, 2\).*do not fit"),
    ("solve", [(3, 3), ()], ValueError, "do not fit"),
    ("solve", [(2, 3, 3), (4, 3, 1)], ValueError, r"broadcast"),
    ("matrix_power", [(2, 3), 2], ValueError, "square"),
    ("tensorinv", [(2, 3), 1], ValueError, "not square"),
    ("tensorinv", [(2, 2), 0], ValueError, "ind must be positive"),
    ("tensorsolve", [(2, 3), (2,)], ValueError, "do not fit"),
])  # fmt: skip
def test_bad_arguments(name, args, error, text):
    made = [genesis.ones(a) if isinstance(a, tuple) else a for a in args]
    with pytest.raises(error, match=text):
        getattr(linalg, name)(*made)


def test_solve_triangular_checks_shapes_and_says_which_side():
    with pytest.raises(ValueError, match=r"B.shape\[-1\]"):
        linalg.solve_triangular(genesis.ones(2, 2), genesis.ones(2, 3), upper=True, left=False)
    with pytest.raises(TypeError, match="missing argument 'upper'"):
        linalg.solve_triangular(genesis.ones(2, 2), genesis.ones(2, 3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "bool"])
def test_other_dtypes_are_refused_with_a_hint(dtype):
    a = genesis.ones(2, 2, dtype=getattr(genesis, dtype))
    for function in (linalg.inv, linalg.svd, linalg.cholesky, linalg.det):
        with pytest.raises(TypeError, match=rf"float64 or complex, got {dtype}; use A.float\(\)"):
            function(a)
    with pytest.raises(TypeError, match="A is float32 but B is"):
        linalg.solve(genesis.ones(2, 2), a)


def test_a_vector_cannot_stand_on_the_left_of_a_matrix():
    with pytest.raises(ValueError, match="left=True"):
        linalg.solve(genesis.ones(2, 2), genesis.ones(2), left=False)


# --- singular matrices that have a result


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_det_has_both_gradients_at_singular_matrices(rank, rng):
    a = rng.normal(size=(4, 4))
    u, s, vh = np.linalg.svd(a)
    s[rank:] = 0
    a = tensor((u * s) @ vh, requires_grad=True)
    assert gradcheck(linalg.det, a, order=2)


def test_det_has_a_third_derivative(rng):
    assert gradcheck(linalg.det, _x(rng, 3, 3, requires_grad=True), order=3)


def test_slogdet_of_a_singular_matrix_is_minus_infinity_and_has_no_gradient():
    a = genesis.zeros(2, 2, requires_grad=True)
    sign, logabsdet = linalg.slogdet(a)
    assert sign.item() == 0 and logabsdet.item() == float("-inf")
    with pytest.raises(linalg.LinAlgError, match="has no gradient"):
        logabsdet.backward()


def test_pinv_of_lower_rank(rng):
    left, right = rng.normal(size=(4, 2)), rng.normal(size=(2, 3))
    np.testing.assert_allclose(
        to_numpy(linalg.pinv(tensor(left @ right))), np.linalg.pinv(left @ right), atol=1e-12
    )
    leaves = (tensor(left, requires_grad=True), tensor(right, requires_grad=True))
    assert gradcheck(lambda x, y: linalg.pinv(x @ y), leaves, order=2)


def test_eigenvalues_that_coincide_have_a_gradient_of_their_sum():
    a = genesis.eye(3, dtype=genesis.float64).requires_grad_()
    linalg.eigvalsh(a).sum().backward()
    assert to_numpy(a.grad).tolist() == np.eye(3).tolist()


# --- what is arbitrary has no gradient


def test_full_svd_has_gradients_of_what_is_not_arbitrary(rng):
    a = _x(rng, 4, 2, requires_grad=True)
    u, s, vh = linalg.svd(a)
    assert tuple(u.shape) == (4, 4)
    np.testing.assert_allclose(to_numpy(u[:, :2] * s @ vh), to_numpy(a), atol=1e-12)
    np.testing.assert_allclose(to_numpy(u.T @ u), np.eye(4), atol=1e-12)
    for transpose in (False, True):

        def first(a, transpose=transpose):
            u, s, vh = linalg.svd(a.T if transpose else a)
            return s, vh[:2].abs(), u[:, :2].abs()

        assert gradcheck(first, a, order=2)
    (grad,) = genesis.autograd.grad(
        (u * genesis.arange(4.0, dtype=u.dtype)).sum(), a, retain_graph=True
    )
    first_columns = (u[:, :2] * genesis.arange(2.0, dtype=u.dtype)).sum()
    (wanted,) = genesis.autograd.grad(first_columns, a)
    np.testing.assert_array_equal(to_numpy(grad), to_numpy(wanted))  # the others are constants


def test_forms_with_info_do_not_raise():
    a = genesis.stack([genesis.eye(2), genesis.zeros(2, 2), -genesis.eye(2)])
    assert linalg.cholesky_ex(a).info.tolist() == [0, 1, 1]
    assert linalg.inv_ex(a).info.tolist() == [0, 1, 0]
    assert linalg.inv_ex(a).inverse[1].isnan().all()
    x, info = linalg.solve_ex(a, genesis.ones(2))
    assert info.tolist() == [0, 1, 0] and x[2].tolist() == [-1.0, -1.0]
    assert linalg.ldl_factor_ex(a).info.tolist() == [0, 1, 0]
    for function, args in [
        (linalg.cholesky_ex, ()),
        (linalg.inv_ex, ()),
        (linalg.solve_ex, (genesis.ones(2),)),
        (linalg.ldl_factor_ex, ()),
    ]:
        with pytest.raises(linalg.LinAlgError, match="matrix 1 of the batch"):
            function(a, *args, check_errors=True)


def test_ldl_has_no_gradient_of_its_factors():
    a = genesis.eye(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="ldl_factor: has no gradient"):
        linalg.ldl_factor(a).LD.sum().backward()


def test_complete_qr_has_no_gradient_where_q_is_arbitrary(rng):
    a = _x(rng, 3, 2, requires_grad=True)
    q, r = linalg.qr(a, mode="complete")
    assert tuple(q.shape) == (3, 3) and tuple(r.shape) == (3, 2)
    np.testing.assert_allclose(to_numpy(q @ r), to_numpy(a), atol=1e-12)
    assert gradcheck(
        lambda a: (linalg.qr(a, "complete").R, linalg.qr(a, "complete").Q[:, :2]), a, order=2
    )
    with pytest.raises(RuntimeError, match="mode='reduced'"):
        q.sum().backward()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 0)])
def test_vectors_of_nothing_are_the_identity(shape):
    a = genesis.zeros(*shape)
    u, _, vh = linalg.svd(a)
    q, _ = linalg.qr(a, mode="complete")
    for m in (u, vh, q):
        np.testing.assert_array_equal(to_numpy(m), np.broadcast_to(np.eye(m.shape[-1]), m.shape))
    assert tuple(linalg.svd(a, full_matrices=False).U.shape) == (*shape[:-1], 0)


# --- sizes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_matrices(dtype, rng):
    a = tensor(rng.normal(size=(70, 70)), dtype)
    tall = tensor(rng.normal(size=(90, 40)), dtype)
    tolerance = 1e-3 if dtype == "float32" else 1e-10

    def close(x, y):
        np.testing.assert_allclose(to_numpy(x), to_numpy(y), atol=tolerance)

    eye = genesis.eye(70, dtype=a.dtype)
    close(a @ linalg.inv(a), eye)
    close(a @ linalg.solve(a, eye), eye)
    for m in (tall, tall.T):
        q, r = linalg.qr(m)
        close(q @ r, m)
        u, s, vh = linalg.svd(m, full_matrices=False)
        close(u * s @ vh, m)
        close(linalg.svdvals(m), s)
    symmetric = a @ a.T / 70 + eye
    w, v = linalg.eigh(symmetric)
    close(v * w @ v.T, symmetric)
    lower = linalg.cholesky(symmetric)
    close(lower @ lower.T, symmetric)
    close(linalg.slogdet(symmetric).logabsdet, w.log().sum())


def test_a_stack_gives_what_its_matrices_give_whatever_the_number_of_threads(rng):
    stack = _x(rng, 500, 6, 6)
    before = genesis.get_num_threads()
    try:
        for threads in (1, 3):
            genesis.set_num_threads(threads)
            inverse, svd = linalg.inv(stack), linalg.svd(stack)
            for i in (0, 123, 499):
                assert linalg.inv(stack[i]).tolist() == inverse[i].tolist()
                assert linalg.svd(stack[i]).Vh.tolist() == svd.Vh[i].tolist()
    finally:
        genesis.set_num_threads(before)


def test_results_are_named_tuples():
    a = genesis.eye(2)
    assert linalg.eigh(a).eigenvalues.shape == (2,)
    assert linalg.svd(a).Vh.shape == (2, 2)
    assert linalg.qr(a).Q.shape == (2, 2)
    assert linalg.slogdet(a).sign.item() == 1


def test_the_library_is_opened_at_the_first_use():
    program = """
import genesis
def opened(): return "libscipy_openblas.so" in open("/proc/self/maps").read()
genesis.ones(2, 2) @ genesis.ones(2, 2)
before = opened()
genesis.linalg.inv(genesis.eye(2))
print(before, opened())
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("equation, shapes", [("i,i->i", (3, 3)), ("i,j->ij", (3, 2))])
def test_einsum_without_a_sum_promotes(equation, shapes):
    x = genesis.arange(shapes[0])
    y = genesis.ones(shapes[1], dtype=genesis.float64) * 2
    z = genesis.einsum(equation, x, y)
    assert z.dtype == genesis.float64
    expected = np.einsum(equation, x.numpy(), y.numpy())
    np.testing.assert_array_equal(z.numpy(), expected)
    assert genesis.einsum(equation, x > 0, y > 0).dtype == genesis.bool


def test_einsum_with_numbers_in_place_of_letters():
    x, y = genesis.randn(2, 3, 4), genesis.randn(4, 5, requires_grad=True)
    genesis.testing.assert_close(
        genesis.einsum(x, [0, 1, 30], y, [30, 2], [2, 0, 1]), genesis.einsum("abc,cd->dab", x, y)
    )
    genesis.testing.assert_close(genesis.einsum(x, [..., 1], y, [1, 0], [..., 0]), x @ y)
    genesis.testing.assert_close(genesis.einsum(y, [1, 0]), y.T)
    genesis.einsum(y, [0, 1], []).backward()
    genesis.testing.assert_close(y.grad, genesis.ones(4, 5))
    assert genesis.einsum(y[:, :4], [0, 0]).ndim == 0
    with pytest.raises(ValueError, match="from 0 to 51, got 52"):
        genesis.einsum(y, [0, 52])
    with pytest.raises(ValueError, match="pass the list"):
        genesis.einsum(y)
    with pytest.raises(TypeError, match="einsum"):
        genesis.einsum(y, 3)
