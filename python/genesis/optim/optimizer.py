"""What every optimizer has: groups of parameters with their options, and a state per parameter."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from genesis._C import Tensor, enable_grad

ParamGroup = dict[str, Any]


class Optimizer:
    """Base class. A subclass passes its options as ``defaults`` and defines ``step``.

    ``params`` is an iterable of tensors, or of dicts with a key "params" and options that override
    the defaults for that group. ``param_groups`` may be changed between steps.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got a "
                "tensor; put it in a list"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[ParamGroup] = []
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: there are no parameters to optimize")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: ParamGroup) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(
                f"add_param_group: expected a dict with a key 'params', got "
                f"{type(param_group).__name__}"
            )
        group = {**self.defaults, **param_group}
        given = group["params"]
        group["params"] = [given] if isinstance(given, Tensor) else list(given)
        unknown = set(param_group) - set(self.defaults) - {"params"}
        if unknown:
            raise ValueError(
                f"{type(self).__name__}: unknown options {sorted(unknown)} in a parameter group; "
                f"known are {sorted(self.defaults)}"
            )
        seen = {id(p) for old in self.param_groups for p in old["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"{type(self).__name__}: can only optimize tensors, got {type(p).__name__}"
                )
            if not p.is_leaf:
                raise ValueError(
                    f"{type(self).__name__}: can only optimize leaves, got a tensor of shape "
                    f"{tuple(p.shape)} made by {p.grad_fn}; detach() it"
                )
            if id(p) in seen:
                raise ValueError(
                    f"{type(self).__name__}: a parameter of shape {tuple(p.shape)} appears twice"
                )
            seen.add(id(p))
        self.check_options(group)
        self.param_groups.append(group)

    def check_options(self, group: ParamGroup) -> None:
        """Raise if the options of a group make no sense."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                p.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; ``closure`` computes the loss and its gradients first."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    @staticmethod
    def _evaluate(closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def state_dict(self) -> dict[str, Any]:
        """State and options, with numbers in place of the parameters."""
        order = {
            id(p): i
            for i, p in enumerate(p for group in self.param_groups for p in group["params"])
        }
        groups = [
            {**group, "params": [order[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {
            "state": {order[id(p)]: dict(s) for p, s in self.state.items()},
            "param_groups": groups,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` of an optimizer of the same parameters returned."""
        groups = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in groups]
        own = [len(group["params"]) for group in self.param_groups]
        if sizes != own:
            raise ValueError(
                f"load_state_dict: the groups hold {sizes} parameters, this optimizer's hold {own}"
            )
        numbers = [i for group in groups for i in group["params"]]
        params = [p for group in self.param_groups for p in group["params"]]
        by_number = dict(zip(numbers, params, strict=True))
        unknown = sorted(set(state_dict["state"]) - set(by_number))
        if unknown:
            raise ValueError(
                f"load_state_dict: there is state of parameters {unknown}, in no group"
            )
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            state[by_number[number]] = copy.deepcopy(values)
        self.state = state
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update({k: copy.deepcopy(v) for k, v in saved.items() if k != "params"})

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])
