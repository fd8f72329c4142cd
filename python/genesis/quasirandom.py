"""Points that fill the unit cube more evenly than random ones: Sobol sequences, made by SciPy."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence in the unit cube, one after the other.

    ``scramble`` shuffles the sequence with ``seed``. Needs the package scipy.

    >>> genesis.quasirandom.SobolEngine(2).draw(3).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """

    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"SobolEngine: dimension must be between 1 and {self.MAXDIM}, got {dimension}"
            )
        self.dimension = dimension
        self.scramble = scramble
        if scramble and seed is None:
            seed = int(_C.randint(0, 2**31 - 1, (1,)).item())
        self.seed = seed
        self.num_generated = 0
        self._engine = self._make()

    def _make(self) -> Any:
        try:
            from scipy.stats import qmc  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ImportError("SobolEngine needs the package scipy: pip install scipy") from None
        return qmc.Sobol(self.dimension, scramble=self.scramble, rng=self.seed)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: _C.dtype | None = None) -> Tensor:
        """The next ``n`` points, as rows."""
        import warnings

        with warnings.catch_warnings():  # SciPy advises powers of two
            warnings.simplefilter("ignore", UserWarning)
            points = self._engine.random(n)
        self.num_generated += n
        made = _C.from_numpy(points).to(dtype or _C.get_default_dtype())
        return made if out is None else out.resize_(made.shape).copy_(made)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: _C.dtype | None = None
    ) -> Tensor:
        """The next ``2**m`` points; as many as were drawn before must be a power of two, too."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"SobolEngine.draw_base2: {self.num_generated} points were drawn, and {n} more are "
                f"{total}, which is no power of two; draw another number, or reset()"
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Start again."""
        self._engine.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out ``n`` points."""
        self._engine.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        more = ", scramble=True" if self.scramble else ""
        seed = f", seed={self.seed}" if self.seed is not None else ""
        return f"SobolEngine(dimension={self.dimension}{more}{seed})"


explain(globals())
