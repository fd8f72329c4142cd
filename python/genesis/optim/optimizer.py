"""What every optimizer has: groups of parameters with options, a state per parameter, hooks."""

from __future__ import annotations

import copy
import functools
import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from genesis import _C
from genesis._C import Tensor, enable_grad

ParamGroup = dict[str, Any]
StateDict = dict[str, Any]
Closure = Callable[[], Any]
Hooks = OrderedDict[int, Callable[..., Any]]

_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()


class RemovableHook:
    """What registering a hook returns: ``remove()`` takes the hook off again."""

    _last_id = 0

    def __init__(self, hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> None:
        RemovableHook._last_id += 1
        self.id = RemovableHook._last_id
        self._hooks = hooks
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHook:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHook:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer.

    >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("step")):
    ...     genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))]).step()
    step
    """
    return RemovableHook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHook:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer.

    >>> with register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("done")):
    ...     genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))]).step()
    done
    """
    return RemovableHook(_global_post_hooks, hook)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with the hooks around it. A step that calls its parent's runs them once."""

    @functools.wraps(step)
    def with_hooks(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if _C._capturing() and not self._stepping:
            from genesis._compile import host as _host

            if _host.hosts is not None:
                if args or kwargs:
                    _C._capture_interrupt("an optimizer's step is called with arguments")
                plain = type(self).step is Optimizer.step and not args and not kwargs
                again = functools.partial(with_hooks, self, *args, **kwargs)
                return _host.repeated(self, self._step_again if plain else again)
        self._opt_called = True
        if self._stale_checks:
            self._warn_of_stale_gradients()
        if "_step_pre_hooks" not in self.__dict__:  # a subclass that does without our __init__
            self._make_hooks()
        if self._stepping or not (
            self._step_pre_hooks or self._step_post_hooks or _global_pre_hooks or _global_post_hooks
        ):
            return step(self, *args, **kwargs)
        self._stepping = True
        try:
            given: tuple[Any, ...] = (self, *args)
            for hook in (*_global_pre_hooks.values(), *self._step_pre_hooks.values()):
                changed = hook(self, given, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{type(self).__name__}.step: a pre-hook must return None or a tuple "
                        f"(args, kwargs), got {changed!r}"
                    )
                given, kwargs = changed
            result = step(*given, **kwargs)
            for hook in (*self._step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, given, kwargs)
            return result
        finally:
            self._stepping = False

    return with_hooks


class Optimizer:
    """Base class. A subclass passes its options as ``defaults`` and defines ``step``.

    ``params`` is an iterable of tensors, of pairs (name, tensor), or of dicts with a key "params"
    and options that override the defaults for that group. ``param_groups`` and ``state`` may be
    changed between steps.

    >>> class SignDescent(Optimizer):
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.data.add_(p.grad.sign(), alpha=-group["lr"])
    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> (p * p).sum().backward()
    >>> SignDescent([p], {"lr": 0.5}).step()
    >>> p.tolist()
    [0.5, 0.5]
    """

    _stepping = False
    _opt_called = False
    _stale_checks = 2  # steps in which to check for gradients that were not cleared
    _seen: tuple[Tensor, int] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any] | None = None) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got a "
                "tensor; put it in a list"
            )
        module = hasattr(params, "parameters")
        if module or not isinstance(params, Iterable):
            came = f"the module {type(params).__name__}" if module else repr(params)
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got "
                f"{came}; pass model.parameters() first, then the options"
            )
        self.defaults = {} if defaults is None else defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[ParamGroup] = []
        self._make_hooks()
        groups = list(params)
        if not groups:
            raise ValueError(
                f"{type(self).__name__}: there are no parameters to optimize: params is empty; "
                "keep layers in nn.ModuleList, not in a plain list, and pass model.parameters() "
                "itself, not what is left of it after a loop"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._step_pre_hooks: Hooks = OrderedDict()
        self._step_post_hooks: Hooks = OrderedDict()
        self._state_dict_pre_hooks: Hooks = OrderedDict()
        self._state_dict_post_hooks: Hooks = OrderedDict()
        self._load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._load_state_dict_post_hooks: Hooks = OrderedDict()

    # --- groups

    def add_param_group(self, param_group: ParamGroup) -> None:
        """Add parameters with their own options."""
        name = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(
                f"add_param_group: expected a dict with a key 'params', got {param_group!r}"
            )
        given = param_group["params"]
        if isinstance(given, (set, frozenset)):
            raise TypeError(
                f"{name}: params must have an order, which a set has not: its order changes from "
                "run to run; use a list"
            )
        entries = [given] if isinstance(given, Tensor) else list(given)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        if names:
            if len(names) != len(entries):
                raise ValueError(f"{name}: either all parameters have names or none has")
            param_group["param_names"] = names
            entries = [entry[1] for entry in entries]
        param_group["params"] = entries
        if any(("param_names" in g) != ("param_names" in param_group) for g in self.param_groups):
            raise ValueError(f"{name}: either all parameter groups have names or none has")
        for key, value in self.defaults.items():
            param_group.setdefault(key, value)
        self._check_params(param_group)
        self.check_options(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, group: ParamGroup) -> None:
        name = type(self).__name__
        elsewhere = {id(p) for old in self.param_groups for p in old["params"]}
        own: set[int] = set()
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"{name}: can only optimize tensors, got {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad or group.get("differentiable")):
                raise ValueError(
                    f"{name}: can only optimize leaves, got a tensor of shape {tuple(p.shape)} "
                    f"made by {p.grad_fn}; detach() it"
                )
            if id(p) in elsewhere:
                raise ValueError(
                    f"{name}: a parameter of shape {tuple(p.shape)} is in another group already"
                )
            if id(p) in own:
                raise ValueError(
                    f"{name}: a parameter of shape {tuple(p.shape)} is twice in one group; each "
                    "step would update it twice"
                )
            own.add(id(p))

    def check_options(self, group: ParamGroup) -> None:
        """Raise if the options of a group make no sense."""

    def _require(self, ok: bool, what: str, value: Any) -> None:
        if not ok:
            raise ValueError(f"{type(self).__name__}: {what}, got {value}")

    def _require_not_negative(self, group: ParamGroup, *names: str) -> None:
        for name in names:
            self._require(bool(group[name] >= 0), f"{name} must not be negative", group[name])

    def _require_betas(self, group: ParamGroup, name: str = "betas") -> None:
        first, second = group[name]
        ok = 0 <= first < 1 and 0 <= second < 1
        self._require(bool(ok), f"{name} must be at least 0 and below 1", group[name])

    # --- steps

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for group in self.param_groups:
            _C._zero_grads(group["params"], set_to_none)

    def reset_grad(self) -> None:
        """Another name of `zero_grad`."""
        self.zero_grad()

    @property
    def params(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    def _warn_of_stale_gradients(self) -> None:
        """Warn if all that happened to a gradient since the last step is that more was added."""
        self._stale_checks -= 1
        seen, self._seen = self._seen, None
        grads = [p.grad for group in self.param_groups for p in group["params"]]
        if self._stale_checks:
            least = min((g for g in grads if g is not None), key=Tensor.numel, default=None)
            self._seen = None if least is None else (least, least._version)
        elif (
            seen
            and seen[0]._version == seen[1] + 1
            and seen[0]._writer == "backward"
            and any(g is seen[0] for g in grads)  # not only of another loss, and dropped since
        ):
            warnings.warn(
                f"{type(self).__name__}.step: backward() added to the gradients of the step "
                "before, which are still there; call optimizer.zero_grad() before every backward()",
                stacklevel=3,
            )

    @_hooked
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters once; ``closure`` computes the loss and its gradients first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if "genesis.sparse" in sys.modules:  # otherwise there are no sparse gradients
                group = self._update_sparse(group)
            if group.get("differentiable"):
                self._differentiable_update(group)
            else:
                self._update(group)
        return loss

    def _step_again(self) -> None:
        """``step()`` in a replay of a compiled function, where most often nothing is special."""
        special = self._stale_checks or self._step_pre_hooks or self._step_post_hooks
        if special or _global_pre_hooks or _global_post_hooks or "genesis.sparse" in sys.modules:
            self.step()
            return
        for group in self.param_groups:
            if group.get("differentiable"):
                self._differentiable_update(group)
            else:
                self._update(group)

    def _refuse_complex(self, group: ParamGroup) -> None:
        for p in group["params"]:
            if p.grad is not None and p.is_complex():
                raise RuntimeError(
                    f"{type(self).__name__} does not support complex parameters, got one of shape "
                    f"{tuple(p.shape)}; use Adam, or optimize genesis.view_as_real(p)"
                )

    # --- sparse gradients

    def _update_sparse(self, group: ParamGroup) -> ParamGroup:
        """Update what has a sparse gradient. The result is the group of the other parameters."""
        dense = _dense()
        params = [p for p in group["params"] if p.grad is not None]
        sparse = [p for p in params if p.grad.layout is not dense]
        if not sparse:
            return group
        for p in sparse:
            grad = p.grad.detach().to_sparse().coalesce()
            values = -grad.values() if group.get("maximize") else grad.values()
            with _C.no_grad():
                self._sparse_formula(p, grad.indices(), values, self.state[p], group)
        others = [p for p in group["params"] if not any(p is q for q in sparse)]
        return {**group, "params": others}

    def _sparse_formula(
        self, p: Tensor, index: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup
    ) -> None:
        """Update the elements of a parameter at ``index``, whose gradient is ``g``."""
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam "
            "instead; SGD and Adagrad support them too, or use sparse=False"
        )

    def _update(self, group: ParamGroup) -> None:
        """Update the parameters of one group."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    # --- steps that are part of the graph

    def _differentiable_update(self, group: ParamGroup) -> None:
        for p in group["params"]:
            if p.grad is not None:
                g = -p.grad if group["maximize"] else p.grad
                p.copy_(self._formula(p.clone(), g, self.state[p], group))

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        """The new value of a parameter, by differentiable operations; updates its state."""
        raise ValueError(f"{type(self).__name__}: differentiable=True needs a formula")

    @staticmethod
    def _advance(state: dict[str, Any]) -> float:
        state["step"] = state.get("step", _C.tensor(0.0)) + 1
        return float(state["step"])

    @staticmethod
    def _decayed(p: Tensor, g: Tensor, group: ParamGroup) -> tuple[Tensor, Tensor]:
        if group["decoupled_weight_decay"]:
            return p * (1 - group["lr"] * group["weight_decay"]), g
        return p, g + group["weight_decay"] * p

    @staticmethod
    def _moments(
        g: Tensor, state: dict[str, Any], beta1: float, beta2: float
    ) -> tuple[Tensor, Tensor]:
        start = g.detach() * 0
        state["exp_avg"] = state.get("exp_avg", start).lerp(g, 1 - beta1)
        state["exp_avg_sq"] = beta2 * state.get("exp_avg_sq", start) + (1 - beta2) * g * g
        return state["exp_avg"], state["exp_avg_sq"]

    # --- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHook:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other ones."""
        return RemovableHook(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHook:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHook(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHook:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return RemovableHook(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHook:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; it may return another one."""
        return RemovableHook(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHook:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another one."""
        return RemovableHook(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHook:
        """Call ``hook(optimizer)`` after ``load_state_dict``."""
        return RemovableHook(self._load_state_dict_post_hooks, hook, prepend)

    # --- state

    def state_dict(self) -> StateDict:
        """State and options, with numbers in place of the parameters: PyTorch's layout."""
        for hook in self._state_dict_pre_hooks.values():
            hook(self)
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        order: dict[int, int] = {}
        for p in params:
            order.setdefault(id(p), len(order))
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [order[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            order[id(key)] if isinstance(key, Tensor) else key: values
            for key, values in self.state.items()
        }
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over, in copies, what ``state_dict`` of an optimizer of such parameters returned.

        Floating tensors take the dtype of their parameter, except the counter "step".
        """
        if not isinstance(state_dict, dict):
            raise TypeError(
                f"load_state_dict: expected a dict, what state_dict() of an optimizer returns, "
                f"got {type(state_dict).__name__}"
            )
        state_dict = state_dict.copy()
        for hook in self._load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        _check_structure(state_dict)
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in groups]
        own = [len(group["params"]) for group in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"load_state_dict: the groups hold {sizes} parameters, this optimizer's hold {own}"
            )
        numbers = chain.from_iterable(group["params"] for group in groups)
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        by_number = dict(zip(numbers, params, strict=True))
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            p = by_number.get(number)
            state[number if p is None else p] = _adapted(values, p, None)
        self.state = state
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({k: copy.deepcopy(v) for k, v in saved.items() if k != "params"})
        for hook in self._load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _check_structure(state_dict: Any) -> None:
    """Raise unless these are the groups and the state of an optimizer."""
    groups, state = state_dict["param_groups"], state_dict["state"]
    if not isinstance(groups, (list, tuple)):
        raise TypeError(
            f"load_state_dict: 'param_groups' must be a list, got {type(groups).__name__}"
        )
    for i, group in enumerate(groups):
        if not isinstance(group, dict) or not isinstance(group.get("params"), (list, tuple)):
            raise TypeError(f"load_state_dict: group {i} must be a dict with a list of 'params'")
    if not isinstance(state, dict) or not all(isinstance(v, dict) for v in state.values()):
        raise TypeError(
            "load_state_dict: 'state' must be a dict of dicts, one for each parameter, as "
            "state_dict() of an optimizer returns it"
        )


def _adapted(value: Any, param: Tensor | None, key: str | None) -> Any:
    """A copy of a state that was saved, as this parameter needs it."""
    if isinstance(value, Tensor):
        copied = value.detach().clone()
        if param is None or key == "step" or not (param.is_floating_point() or param.is_complex()):
            return copied
        return copied.to(param.dtype)
    if isinstance(value, dict):
        return {k: _adapted(v, param, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_adapted(v, param, None) for v in value)
    return copy.deepcopy(value)


def __getattr__(name: str) -> Any:
    if name == "SGD":
        from genesis.optim.sgd import SGD

        return SGD
    if name in ("Adam", "AdamW"):
        from genesis.optim import adam

        return getattr(adam, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- PyTorch's names, for optimizers of other packages

ParamsT = Iterable[Any]
params_t = ParamsT


class _RequiredParameter:
    """Stands for an option without a default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of ``step``: gradients are recorded if the option ``differentiable`` is set."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with _C.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return step


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether to use a fused step, or lists of tensors: neither by default on a CPU."""
    return False, False


def _dense() -> Any:
    from genesis import _legacy

    return _legacy.strided


def _get_value(x: Any) -> Any:
    """A number, also of a tensor of one element."""
    return x.item() if isinstance(x, Tensor) else x


_stack_if_compiling = _get_value


def _dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or of a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _view_as_real(params: list[Tensor], *state_and_grads: Any) -> None:
    """Nothing: parameters are real."""


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of a step count."""
    return _C.float64 if _C.get_default_dtype() == _C.float64 else _C.float32


def _disable_dynamo_if_unsupported(*args: Any, **kwargs: Any) -> Any:
    """A decorator that changes nothing."""
    return lambda function: function
