"""The constructor that most optimizers share: every argument is an option."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from genesis.optim.optimizer import Optimizer

Init = TypeVar("Init", bound=Callable[..., None])


def options_from_signature(order: str = "", **fixed: Any) -> Callable[[Init], Init]:
    """Decorate an ``__init__`` with an empty body: its arguments after ``params`` become options.

    ``order`` lists the options in the order of the keys of a group, if it is not the order of the
    signature: ``state_dict`` has PyTorch's order. ``fixed`` are options that are not arguments. An
    optimizer with ``betas`` also accepts ``beta1=`` and ``beta2=``.

    >>> class Descent(Optimizer):
    ...     @options_from_signature()
    ...     def __init__(self, params, lr=0.1, *, maximize=False): ...
    >>> Descent([genesis.nn.Parameter(genesis.ones(1))], 0.5).defaults
    {'lr': 0.5, 'maximize': False}
    """

    def decorate(init: Any) -> Any:
        code = init.__code__
        names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
        defaults = dict(zip(names, init.__defaults__, strict=False)) | (init.__kwdefaults__ or {})
        defaults = {name: defaults[name] for name in order.split() or names} | fixed
        assert len(defaults) == len(names) + len(fixed), f"{order} must list {names}"

        @functools.wraps(init)
        def construct(self: Optimizer, *args: Any, **kwargs: Any) -> None:
            if "betas" in defaults and ("beta1" in kwargs or "beta2" in kwargs):
                if "betas" in kwargs or "betas" in names[: len(args) - 1]:
                    raise TypeError(
                        f"{type(self).__name__}: betas and beta1, beta2 are two names of the same "
                        "options; pass one of them"
                    )
                beta1, beta2 = defaults["betas"]
                kwargs["betas"] = kwargs.pop("beta1", beta1), kwargs.pop("beta2", beta2)
            init(self, *args, **kwargs)  # the body is empty: Python checks the arguments
            params = args[0] if args else kwargs.pop("params")
            positional = dict(zip(names, args[1:], strict=False))
            Optimizer.__init__(self, params, defaults | positional | kwargs)

        return construct

    return decorate
