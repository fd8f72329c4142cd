"""Parametrizations of weights."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis._dtype_info import finfo
from genesis._missing import explain
from genesis.nn import functional as F
from genesis.nn.modules.module import Module
from genesis.nn.utils.parametrize import register_parametrization
from genesis.nn.utils.spectral_norm import as_matrix, power_iteration
from genesis.nn.utils.weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


class _OldKeys:
    """Loads ``<name>_g`` and ``<name>_v``, which the hook of nn.utils.weight_norm saves."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        old = [f"{prefix}{self.name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{self.name}.original{i}"
                state_dict[new] = state_dict.pop(key)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Parametrize a weight by its magnitude (``original0``) and its direction (``original1``).

    There is a magnitude for each slice along ``dim``, or with None, one for the whole weight.

    >>> layer = weight_norm(genesis.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    genesis.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldKeys(name))
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"spectral_norm: dim {dim} is out of range for a weight of shape "
                f"{tuple(weight.shape)}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                vector = _C.randn(size, dtype=weight.dtype, device=weight.device)
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._improve(matrix, 15)

    def _improve(self, matrix: Tensor, times: int) -> None:
        # Here PyTorch begins with u, in the hook with v.
        power_iteration(matrix.T, self._v, self._u, times, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix.detach(), self.n_power_iterations)
        # The graph keeps these; the next step changes the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / _C.dot(u, _C.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Parametrize a weight as divided by an estimate of its largest singular value.

    The weight is seen as a matrix whose rows are its slices along ``dim``: 1 for transposed
    convolutions, else 0. The estimate gets better with each use in training mode.

    >>> layer = spectral_norm(genesis.nn.Linear(20, 40))
    >>> abs(float(genesis.linalg.matrix_norm(layer.weight, 2)) - 1) < 0.3
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"spectral_norm: {type(module).__name__} has no parameter or buffer {name!r}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _orthonormal_columns(a: Tensor) -> Tensor:
    """Q of a = Q R with a positive diagonal of R."""
    reflections, tau = _C.geqrf(a)
    signs = reflections.diagonal(dim1=-2, dim2=-1).sign()
    return _C.linalg_householder_product(reflections, tau) * signs.unsqueeze(-2)


def _has_orthonormal_columns(q: Tensor) -> bool:
    eye = _C.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return bool(_C.allclose(q.mT @ q, eye, atol=10 * q.shape[-2] * finfo(q.dtype).eps))


class _Orthogonal(Module):
    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        q = self._reflected(x) if self.orthogonal_map is _OrthMaps.householder else self._turned(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _turned(self, x: Tensor) -> Tensor:
        """The first columns of a rotation, made from a skew-symmetric matrix."""
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = _C.cat([x, x.new_zeros((*x.shape[:-1], n - k))], -1)
        skew = x - x.mT
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = _C.matrix_exp(skew)
        else:
            eye = _C.eye(n, dtype=x.dtype, device=x.device)
            q = _C.linalg_solve(eye - 0.5 * skew, eye + 0.5 * skew)
        return q if n == k else q[..., :k]

    def _reflected(self, x: Tensor) -> Tensor:
        vectors = x.tril(-1)
        tau = 2 / (1 + (vectors * vectors).sum(-2))
        q = _C.linalg_householder_product(vectors, tau)
        # 1 and -1, which no optimizer may change
        signs = x.detach().diagonal(dim1=-2, dim2=-1).int()
        return q * signs.unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a weight of shape {tuple(self.shape)}, got {tuple(q.shape)}"
            )
        like = q
        wide = q.shape[-2] < q.shape[-1]
        if wide:
            q = q.mT
        n, k = q.shape[-2:]
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                # What registers a parametrization then keeps the weight as it is.
                raise NotImplementedError(
                    f"orthogonal: a weight cannot be assigned to {self.orthogonal_map.name} with "
                    "use_trivialization=False; use_trivialization=True allows it"
                )
            x, tau = _C.geqrf(q)
            diagonal = x.diagonal(dim1=-2, dim2=-1)
            # tau is 0 where LAPACK left a reflection out.
            diagonal.copy_(diagonal.sign() * (1 - 2 * (tau == 0).to(x.dtype)))
            return x.mT if wide else x
        if n != k:
            q = _orthonormal_columns(
                _C.cat([q, _C.randn((*q.shape[:-1], n - k), dtype=q.dtype)], -1)
            )
        else:
            q = q.clone() if _has_orthonormal_columns(q) else _orthonormal_columns(q)
        self.base = q
        # With -1 on the diagonal, no reflections make the identity.
        x = _C.zeros_like(like)
        x.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return x


def orthogonal(
    module: M,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> M:
    """Parametrize a weight to have orthonormal columns (rows, if it has more columns than rows).

    ``orthogonal_map`` makes it from the free parameter: "matrix_exp" (of square weights by default)
    and "cayley" from a skew-symmetric matrix, "householder" (of others by default) from
    reflections. With ``use_trivialization`` it is multiplied by a fixed orthogonal matrix,
    ``base``, so that it starts from the present weight, made orthogonal.

    >>> layer = orthogonal(genesis.nn.Linear(20, 40))
    >>> bool(genesis.dist(layer.weight.T @ layer.weight, genesis.eye(20)) < 1e-4)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"orthogonal: {type(module).__name__} has no parameter or buffer {name!r}")
    if weight.ndim < 2:
        raise ValueError(
            "orthogonal: expected a matrix or a batch of matrices, got a weight of shape "
            f"{tuple(weight.shape)}"
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f"orthogonal: orthogonal_map must be one of {list(_OrthMaps.__members__)}, got "
            f"{orthogonal_map!r}"
        )
    parametrization = _Orthogonal(
        weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization
    )
    return register_parametrization(module, name, parametrization, unsafe=True)


explain(globals())
