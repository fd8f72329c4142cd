"""state_dict and load_state_dict."""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from genesis import _C
from genesis._C import Tensor
from genesis.nn.modules._hooks import Hooks, RemovableHandle
from genesis.nn.parameter import Parameter

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

EXTRA_STATE_KEY = "_extra_state"
_SHOWN = 8  # lines of a list of hints


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` returns: names that found no value, and values without a name."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


def _as_tensor(value: Any) -> Tensor | None:
    """A tensor of ours, or of another library by DLPack; None for anything else."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "__dlpack__"):
        return _C.from_dlpack(value)
    return None


def _shape(value: Any) -> tuple[int, ...] | None:
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)


def _find_prefix(missing: list[str], unexpected: list[str]) -> tuple[str, str] | None:
    """(prefix of the given keys, "") or ("", prefix of ours) if that is all the difference."""
    for ours, theirs, swap in ((missing, unexpected, False), (unexpected, missing, True)):
        given = set(theirs)
        for key in theirs:
            if key.endswith("." + ours[0]):
                prefix = key[: -len(ours[0])]
                if all(prefix + name in given for name in ours):
                    return ("", prefix) if swap else (prefix, "")
    return None


def _find_renames(
    missing: list[str], unexpected: list[str], own: Mapping[str, Any], given: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Pairs (given key, our key) of the same shape and last name, most similar names first."""
    import difflib  # for errors only

    pairs = [
        (difflib.SequenceMatcher(None, theirs, ours).ratio(), theirs, ours)
        for ours in missing
        for theirs in unexpected
        if ours.rpartition(".")[2] == theirs.rpartition(".")[2]
        and _shape(own.get(ours)) == _shape(given[theirs])
    ]
    renames: dict[str, str] = {}
    for _, theirs, ours in sorted(pairs, key=lambda pair: -pair[0]):
        if theirs not in renames and ours not in renames.values():
            renames[theirs] = ours
    return list(renames.items())


def _hints(module: Module, keys: _IncompatibleKeys, given: Mapping[str, Any]) -> list[str]:
    missing, unexpected = keys
    if not missing or not unexpected:
        return []
    prefix = _find_prefix(missing, unexpected)
    if prefix and prefix[0]:
        return [
            f'The keys have the prefix "{prefix[0]}", which the module does not know: load '
            f"{{k.removeprefix({prefix[0]!r}): v for k, v in state_dict.items()}}."
        ]
    if prefix:
        return [
            f'The keys lack the prefix "{prefix[1]}": load '
            f"{{{prefix[1]!r} + k: v for k, v in state_dict.items()}}."
        ]
    if len(missing) * len(unexpected) > 100_000:
        return []
    renames = _find_renames(missing, unexpected, module.state_dict(keep_vars=True), given)
    if not renames:
        return []
    lines = [f'"{theirs}" -> "{ours}"' for theirs, ours in renames[:_SHOWN]]
    if len(renames) > _SHOWN:
        lines.append(f"and {len(renames) - _SHOWN} more")
    return ["Perhaps renamed (same shape, similar name): " + ", ".join(lines) + "."]


def _as_state_dict(value: Any) -> str:
    """How to get a state dict from the object that was passed instead of one."""
    if isinstance(value, ModuleState):
        return "use its module.state_dict()"
    if isinstance(value, (str, bytes, os.PathLike)):
        return "read the file first: genesis.load(path)"
    return "pass what module.state_dict() or genesis.load() returned"


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


class ModuleState:
    """The part of Module that writes its values to a dict and reads them back."""

    _version = 1
    if TYPE_CHECKING:  # the names are not there when get_type_hints() asks for them
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: Hooks
    _state_dict_hooks: Hooks
    _load_state_dict_pre_hooks: OrderedDict[int, tuple[Callable[..., Any], bool]]
    _load_state_dict_post_hooks: Hooks

    # ---- out ------------------------------------------------------------------------------------

    def state_dict(
        self, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by name, sharing their memory.

        They are detached from the graph unless ``keep_vars``.

        >>> list(genesis.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            replacement = hook(self, destination, prefix, metadata)
            if replacement is not None:
                destination = replacement
        return destination  # type: ignore[no-any-return]

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Write this module's own values, not those of its submodules."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        state = {n: p for n, p in self._parameters.items() if p is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                state[name] = buffer  # type: ignore[assignment]
        return state  # type: ignore[return-value]

    def get_extra_state(self) -> Any:
        """Data of a class in the state_dict besides tensors; to be defined with its setter."""
        raise RuntimeError(
            f"{type(self).__name__}.get_extra_state: not defined, though the state_dict has extra "
            "state; define get_extra_state and set_extra_state together"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take over what ``get_extra_state`` returned."""
        raise RuntimeError(
            f"{type(self).__name__}.set_extra_state: not defined, though the state_dict has extra "
            "state; define get_extra_state and set_extra_state together"
        )

    # ---- in -------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of ``state_dict`` into the parameters and buffers of the same names.

        Unless ``strict`` is False, names without a value and values without a name are an error;
        different shapes always are. With ``assign`` the tensors themselves are taken over, instead
        of their values. Tensors of other libraries are read by DLPack.

        >>> layer = genesis.nn.Linear(2, 3)
        >>> layer.load_state_dict(genesis.nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: state_dict must be a dict, got {type(state_dict).__name__}; "
                + _as_state_dict(state_dict)
            )
        for key in state_dict:
            if not isinstance(key, str):
                raise TypeError(f"load_state_dict: names must be str, got {key!r}")
        metadata = getattr(state_dict, "_metadata", None)
        given = OrderedDict(state_dict)
        if metadata is not None:
            given._metadata = metadata  # type: ignore[attr-defined]
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []

        def load(module: Any, part: dict[str, Any], prefix: str) -> None:
            local: dict[str, Any] = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = True
            module._load_from_state_dict(part, prefix, local, True, *keys, errors)
            for name, child in module._modules.items():
                if child is not None:
                    inner = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(inner)}, inner)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, keys) is not None:
                    raise RuntimeError(
                        "load_state_dict: a post-hook must change the incompatible keys in place "
                        "and return None"
                    )

        load(self, given, "")
        self._report(keys, errors, given, strict)
        return keys

    def _report(
        self, keys: _IncompatibleKeys, errors: list[str], given: dict[str, Any], strict: bool
    ) -> None:
        hints = _hints(self, keys, given)  # type: ignore[arg-type]
        lines = []
        if strict and keys.missing_keys:
            lines.append(f"Missing key(s) in state_dict: {_quoted(keys.missing_keys)}.")
        if strict and keys.unexpected_keys:
            lines.append(f"Unexpected key(s) in state_dict: {_quoted(keys.unexpected_keys)}.")
        if lines:
            lines += hints or ["Build the same model, or pass strict=False to load what fits."]
        if errors:
            lines += [*errors, "Build the model with the sizes of the checkpoint."]
        if lines:
            raise RuntimeError(
                "\n\t".join([f"Error(s) in loading state_dict for {type(self).__name__}:", *lines])
            )
        if not strict and len(keys.unexpected_keys) == len(given) > 0:
            warnings.warn(
                f"load_state_dict: nothing was loaded, since {type(self).__name__} knows none of "
                f"the {len(given)} keys. " + " ".join(hints),
                stacklevel=3,
            )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Read this module's own values. A class may override it to read an older layout."""
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            hook(
                *((self,) if with_module else ()), state_dict, prefix, local_metadata, strict,
                missing_keys, unexpected_keys, error_msgs,
            )  # fmt: skip
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            value = _as_tensor(state_dict[key])
            if value is None:
                error_msgs.append(
                    f"not a tensor: {key} is {type(state_dict[key]).__name__}, expected a tensor "
                    f"of shape {tuple(target.shape)}"
                )
            elif value.shape != target.shape and {value.shape, target.shape} != {(), (1,)}:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {tuple(value.shape)} "
                    f"from checkpoint, the shape in current model is {tuple(target.shape)}."
                )
            elif assign:
                if isinstance(target, Parameter) and not isinstance(value, Parameter):
                    value = Parameter(value, requires_grad=target.requires_grad)
                setattr(self, name, value)
            else:
                if target.is_meta and not value.is_meta:
                    warnings.warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                        "parameter in the current model, which is a no-op. (Did you mean to pass "
                        "`assign=True` to assign items in the state dictionary to their "
                        "corresponding key in the module instead of copying them in place?)",
                        stacklevel=2,
                    )
                with _C.no_grad():
                    target.copy_(value.reshape(target.shape))
        self._load_extra(state_dict, prefix, strict, missing_keys)
        if strict:
            for key in state_dict:
                name, dot, _ = key.removeprefix(prefix).partition(".")
                known = self._modules if dot else own
                if key.startswith(prefix) and name not in known and key != prefix + EXTRA_STATE_KEY:
                    unexpected_keys.append(key)

    def _load_extra(
        self, state_dict: dict[str, Any], prefix: str, strict: bool, missing_keys: list[str]
    ) -> None:
        key = prefix + EXTRA_STATE_KEY
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif key in state_dict:
            self.set_extra_state(state_dict[key])

    # ---- hooks ----------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` is written."""
        return _register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after it was written."""
        return _register(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before the module reads its values.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return _register(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module read its values."""
        return _register(self._load_state_dict_post_hooks, hook)


def _register(hooks: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
