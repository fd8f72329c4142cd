"""Transforms from unconstrained space to a constraint: ``biject_to`` and ``transform_to``.

>>> transform_to(constraints.positive)(genesis.tensor(0.0))
tensor(1.)

``biject_to(constraint)`` is a bijection; ``transform_to(constraint)`` need not be, and suits
optimizers.
"""

from collections.abc import Callable
from typing import Any

from genesis._missing import explain
from genesis.distributions import constraints, transforms
from genesis.distributions.constraints import Constraint
from genesis.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Factories of transforms by the class of a constraint."""

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Registers `factory(constraint) -> Transform`; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, Constraint):
            raise TypeError(
                f"register: expected a Constraint or a class of them, got {constraint!r}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"no transform is registered for the constraint {constraint!r}; add one "
                "with register()"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _real(constraint: Any) -> Transform:
    return transforms.identity_transform


@biject_to.register(constraints.independent)  # type: ignore[untyped-decorator]
def _biject_to_independent(constraint: Any) -> Transform:
    base = biject_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)  # type: ignore[untyped-decorator]
def _transform_to_independent(constraint: Any) -> Transform:
    base = transform_to(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


@_both(constraints.positive, constraints.nonnegative)
def _positive(constraint: Any) -> Transform:
    if constraint.lower_bound is None or (
        isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0
    ):
        return transforms.ExpTransform()
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _less_than(constraint: Any) -> Transform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint: Any) -> Transform:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if (
        isinstance(lower, (int, float))
        and isinstance(upper, (int, float))
        and (lower, upper) == (0, 1)
    ):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


@biject_to.register(constraints.simplex)  # type: ignore[untyped-decorator]
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)  # type: ignore[untyped-decorator]
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)  # type: ignore[untyped-decorator]
def _transform_to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)  # type: ignore[untyped-decorator]
@transform_to.register(constraints.positive_semidefinite)  # type: ignore[untyped-decorator]
def _transform_to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)  # type: ignore[untyped-decorator]
def _biject_to_cat(constraint: Any) -> Transform:
    return transforms.CatTransform(
        [biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths
    )


@transform_to.register(constraints.cat)  # type: ignore[untyped-decorator]
def _transform_to_cat(constraint: Any) -> Transform:
    return transforms.CatTransform(
        [transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths
    )


@biject_to.register(constraints.stack)  # type: ignore[untyped-decorator]
def _biject_to_stack(constraint: Any) -> Transform:
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)  # type: ignore[untyped-decorator]
def _transform_to_stack(constraint: Any) -> Transform:
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)


explain(globals())
