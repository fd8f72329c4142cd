"""Signatures of PyTorch's functions and ours, and what differs between them.

PyTorch's builtins have none that `inspect` can read; its stubs and docstrings have them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import genesis

REQUIRED = "required"
UNKNOWN = "..."  # a stub that does not say the default


@dataclass(frozen=True)
class Parameter:
    name: str
    default: Any = REQUIRED
    keyword_only: bool = False
    variadic: bool = False  # *args or **kwargs


Signature = tuple[Parameter, ...]


def of_python(function: Any) -> Signature:
    """What `inspect` says."""
    kinds = inspect.Parameter
    return tuple(
        Parameter(
            p.name,
            REQUIRED if p.default is kinds.empty else p.default,
            p.kind in (kinds.KEYWORD_ONLY, kinds.VAR_KEYWORD),
            p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD),
        )
        for p in inspect.signature(function).parameters.values()
    )


def of_torch(owner: str, name: str, value: Any) -> list[Signature]:
    """The overloads of a function, method or class of PyTorch; [] if they are not known."""
    stub = {"torch": "_VariableFunctions", "torch.nn.functional": "_nn", "torch.Tensor": "__init__"}
    builtin = not inspect.isfunction(value) and not inspect.isclass(value)
    if owner in stub and builtin:
        found = _stubs(stub[owner]).get(name) or _stubs("_VariableFunctions").get(name)
        if found:
            return [s for s in found if all(p.name != "self" for p in s)]
    if builtin and (found := _from_docstring(name, value)):
        return [found]
    try:
        return [of_python(value)]
    except (TypeError, ValueError):
        return []


@functools.cache
def _stubs(name: str) -> dict[str, list[Signature]]:
    import torch

    tree: Any = ast.parse((Path(torch.__file__).parent / "_C" / f"{name}.pyi").read_text())
    body = tree.body
    if name == "__init__":
        (body,) = (c.body for c in body if isinstance(c, ast.ClassDef) and c.name == "TensorBase")
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_of_definition(node.args, name == "__init__"))
    return found


def _of_definition(args: ast.arguments, method: bool) -> Signature:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    made = [Parameter(a.arg, _literal(d)) for a, d in zip(positional, defaults, strict=True)]
    if method:
        made = made[1:]
    if args.vararg:
        made.append(Parameter(args.vararg.arg, variadic=True))
    for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        made.append(Parameter(a.arg, _literal(d), keyword_only=True))
    return tuple(made)


def _literal(node: ast.expr | None) -> Any:
    if node is None:
        return REQUIRED
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return UNKNOWN
    return UNKNOWN if value is Ellipsis else value


def _from_docstring(name: str, value: Any) -> Signature | None:
    text = inspect.getdoc(value) or ""
    match = re.match(
        rf"\s*(?:[\w.]*\.)?{re.escape(name)}(\(.*?\))\s*(?:->.*)?$", text, re.MULTILINE
    )
    if match is None:
        return None
    try:
        tree: Any = ast.parse(f"def f{match[1]}: ...")
    except SyntaxError:
        return None
    return _of_definition(tree.body[0].args, False)


def accepts(function: Any, name: str) -> bool:
    """Whether one of our builtins knows a keyword that its signature does not show (an alias)."""
    if not inspect.isbuiltin(function) and not inspect.ismethoddescriptor(function):
        return False
    first = [genesis.ones(1)] if inspect.ismethoddescriptor(function) else []
    try:
        function(*first, **{name: None})
    except TypeError as error:
        return "unexpected keyword" not in str(error)
    except Exception:
        return True
    return True


def differences(theirs: list[Signature], ours: Signature, function: Any = None) -> list[str]:
    """What a call that is right for PyTorch would find different."""
    theirs = [s for s in theirs if not s or not all(p.variadic for p in s)]  # (*args, **kwargs)
    named = {p.name: p for p in ours if not p.variadic}
    takes_any = any(p.variadic and p.keyword_only for p in ours)
    order = [p.name for p in ours if not p.keyword_only and not p.variadic]
    spread = any(p.variadic and not p.keyword_only for p in ours)  # *size
    found: list[str] = []
    renamed = False  # an alias of ours stands for a parameter
    places: dict[str, set[int]] = {}
    for overload in theirs:
        for place, p in enumerate(q for q in overload if not q.keyword_only and not q.variadic):
            places.setdefault(p.name, set()).add(place)
    for overload in theirs:
        for p in overload:
            if p.variadic or p.name.startswith("_"):
                continue
            mine = named.get(p.name)
            if mine is None:
                if accepts(function, p.name):
                    renamed = True
                elif not takes_any and not (spread and not p.keyword_only):
                    found.append(f"no argument {p.name!r}")
                continue
            if p.name in places and not p.keyword_only and not spread:
                if mine.keyword_only:
                    # an alternative to an argument at the same place, as in max(input, other)
                    if len(theirs) == 1 or min(places[p.name]) >= len(order):
                        found.append(f"{p.name!r} is keyword-only")
                elif order.index(p.name) not in places[p.name]:
                    found.append(f"{p.name!r} is at place {order.index(p.name)}")
            # None and () of PyTorch mean "not given": the values of tests say what that means.
            if p.default not in (REQUIRED, UNKNOWN, None, ()) and p.name != "layout":
                if mine.default is REQUIRED:
                    found.append(f"{p.name!r} has no default")
                elif _plain(mine.default) != _plain(p.default):
                    found.append(f"{p.name!r} is {mine.default!r}, not {p.default!r}, by default")
    for p in named.values():
        known = {q.name for s in theirs for q in s}
        if p.default is REQUIRED and theirs and p.name not in known and not found and not renamed:
            found.append(f"{p.name!r} must be given")
    return list(dict.fromkeys(found))


def _plain(value: Any) -> Any:
    """Defaults as both libraries would write them."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    text = getattr(value, "__name__", None) or repr(value)
    return re.sub(r"\b(torch|genesis)\.", "", re.sub(r" at 0x\w+", "", text))
