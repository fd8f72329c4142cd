"""Writes the pages of the reference: one entry for every public name, filled by autodoc.

`pages()` needs no Sphinx, so a test can check that no name is missing.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import coverage
import function_examples as examples
import genesis
from formulas import FORMULAS
from introductions import introduction
from sections import FUNCTIONS, MODULES, NAMESPACES, NATIVE, SUBJECTS


def setup(app: Any) -> dict[str, bool]:
    app.connect(
        "builder-inited", lambda app: write(Path(app.srcdir) / "reference", app.config.language)
    )
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("autodoc-process-signature", process_signature)
    return {"parallel_read_safe": True}


def write(folder: Path, language: str = "en") -> None:
    """Write the pages; those that have not changed keep their date, so Sphinx skips them."""
    folder.mkdir(exist_ok=True)
    wanted = pages(language)
    for old in folder.glob("*.rst"):
        if old.stem not in wanted:
            old.unlink()
    for name, text in wanted.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def pages(language: str = "en") -> dict[str, str]:
    """The text of every page by its name."""
    made = {"tensor": tensor_page(language), **function_pages(language)}
    for name, title in MODULES.items():
        made[name.removeprefix("genesis.")] = module_page(name, title, language)
    made["namespaces"] = namespaces_page(language)
    made["pytorch"] = coverage.page()
    tree = "\n".join(f"   {name}" for name in made)
    made["index"] = (
        f"{heading('Reference', '=')}{introduction('index', language)}"
        f".. toctree::\n   :maxdepth: 1\n\n{tree}\n"
    )
    return made


def namespaces_page(language: str) -> str:
    """The modules that programs of PyTorch import, each with what it says of itself."""
    lines = []
    for name in NAMESPACES:
        doc = (importlib.import_module(f"genesis.{name}").__doc__ or "").split("\n\n")[0]
        lines.append(f"``genesis.{name}``\n   {' '.join(doc.split())}\n")
    return (
        heading("PyTorch's other namespaces", "=")
        + introduction("namespaces", language)
        + "\n".join(lines)
    )


def heading(title: str, line: str) -> str:
    return f"{title}\n{line * max(len(title), 4)}\n\n"


def entry(module: str, name: str) -> str:
    value = getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    if inspect.isclass(value):
        first = home(value, name)
        if first != module:
            same = f"The same as :class:`{first}.{name}`."
            return f".. py:class:: {full}\n   :no-index:\n\n   {same}\n"
        return f".. autoclass:: {full}\n   :members:\n"
    if callable(value):
        return f".. autofunction:: {full}\n"
    shown = "" if " at 0x" in repr(value) else f"   :value: {value!r}\n"
    if module != "genesis" and getattr(genesis, name, None) is value:  # described there
        shown += "   :no-index:\n"
    return f".. py:data:: {full}\n{shown}"


def home(value: type, name: str) -> str:
    """The module of the reference that describes a class; others point there."""
    holders = [m for m in ("genesis", *MODULES) if has(m, name, value)]
    return min(holders, key=lambda m: (not value.__module__.startswith(m), len(m)))


def has(module: str, name: str, value: type) -> bool:
    found = importlib.import_module(module)
    return name in found.__all__ and getattr(found, name) is value


def entries(module: str, names: list[str]) -> str:
    return "\n".join(entry(module, name) for name in names)


def function_pages(language: str) -> dict[str, str]:
    """The names of `genesis` itself, by subject."""
    names: dict[str, list[str]] = {page: [] for page in FUNCTIONS}
    for name in sorted(set(genesis.__all__) - {"Tensor", "__version__"}):
        if not isinstance(getattr(genesis, name), ModuleType):
            names[page_of(name)].append(name)
    return {
        page: heading(title, "=") + introduction(page, language) + entries("genesis", names[page])
        for page, title in FUNCTIONS.items()
    }


@functools.cache
def operator_pages() -> dict[str, str]:
    return {op["name"]: op["page"] for op in genesis._C.op_info() if op["function"] and op["page"]}


def page_of(name: str) -> str:
    """The page of a name of `genesis`."""
    neural = name in genesis.nn.functional.__all__
    return operator_pages().get(name, "neural" if neural else "settings")


def tensor_page(language: str) -> str:
    names = [n for n in dir(genesis.Tensor) if not n.startswith("_") and hasattr(genesis.Tensor, n)]
    attributes, methods, shared, written = [], [], [], []
    for name in names:
        value = inspect.getattr_static(genesis.Tensor, name)
        if not callable(value):
            attributes.append(f".. autoattribute:: genesis.Tensor.{name}\n")
            continue
        group = written if name.endswith("_") else shared if hasattr(genesis, name) else methods
        group.append(f".. automethod:: genesis.Tensor.{name}\n")
    return "\n".join(
        [
            heading("Tensor", "=") + introduction("tensor", language),
            ".. autoclass:: genesis.Tensor\n",
            heading("Attributes", "-"),
            *attributes,
            heading("Methods", "-"),
            *methods,
            heading("Functions as methods", "-"),
            *shared,
            heading("In place", "-"),
            *written,
        ]
    )


def module_page(name: str, title: str, language: str) -> str:
    module = importlib.import_module(name)
    names = [n for n in module.__all__ if not isinstance(getattr(module, n), ModuleType)]
    text = heading(f"{name}: {title}", "=")
    text += introduction(name.removeprefix("genesis."), language)
    if module.__doc__:
        text += "\n".join(rst(inspect.cleandoc(module.__doc__).splitlines())) + "\n\n"
    groups: dict[str, list[str]] = {}
    for n in sorted(names):
        groups.setdefault(subject(name, n), []).append(n)
    for group in sorted(groups, key=lambda g: (g == "", g)):
        if group:
            text += heading(group, "-") + introduction(group, language)
        elif len(groups) > 1:
            text += heading("Other names", "-")
        text += entries(name, groups[group]) + "\n"
    return text


def subject(module: str, name: str) -> str:
    """The section of a name of nn or nn.functional; "" elsewhere."""
    if module == "genesis.nn.functional" and name in NATIVE:
        return NATIVE[name]
    package = {"genesis.nn": "genesis.nn.modules", "genesis.nn.functional": module}.get(module)
    for file, title in SUBJECTS.items() if package else ():
        try:
            found = importlib.import_module(f"{package}.{file}")
        except ModuleNotFoundError:  # some subjects are only in one of the two
            continue
        if name in found.__all__:
            return title
    return ""


CODE = re.compile(
    r"(:\w+(?::\w+)?:`[^`]+`|``.+?``|`[^`]+`|\*\*\S[^*]*\*\*|(?<!\w)\*[A-Za-z][^*]*\*(?!\w))"
)


def rst(lines: list[str]) -> list[str]:
    """Docstrings are read as text; what looks like markup but is arithmetic is escaped."""
    text, examples, formula = [], False, False
    for line in lines:
        examples = line.lstrip().startswith(">>>") or (examples and bool(line.strip()))
        if line.strip():
            formula = line.startswith(".. math::") or (formula and line.startswith(" "))
        text.append(line if examples or formula else escape(line))
    return text


def escape(line: str) -> str:
    pieces = CODE.split(line)
    pieces[::2] = [re.sub(r"([*|\\])|(?<=\w)(_)(?!\w)", r"\\\1\2", p) for p in pieces[::2]]
    return "".join(pieces)


def process_docstring(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    named_tuple = bool(lines) and lines[0].startswith("Alias for field number")
    lines[:] = [] if named_tuple else rst(lines)
    module, _, function = name.rpartition(".")
    if what == "function" and module in ("genesis", "genesis.nn.functional"):
        lines += details(module, function, obj)


# What the shapes of results are, by kind of operator.
SHAPES = {
    "pointwise": "that of the arguments, broadcast together",
    "activation": "that of ``input``",
    "reduction": "that of ``input`` without the dimensions ``dim``, which have size 1 with "
    "``keepdim``; one element if ``dim`` is not given",
    "scan": "that of ``input``",
    "matrix": "by the rules of :func:`matmul` over the last two dimensions, the others broadcast",
    "loss": "one element, or that of ``input`` with ``reduction='none'``",
    "norm": "that of ``input``",
    "random": "``size``, or that of ``input``",
}


def details(module: str, name: str, function: Any) -> list[str]:
    """Arguments with types and defaults, shapes and an example of an operator."""
    op = examples.operators().get(name) or examples.operators().get(f"_{name}")
    lines = [""]
    if op is not None:
        if name in FORMULAS:
            lines += ["", ".. math::", "", f"   {FORMULAS[name]}", ""]
        for p in op["params"]:
            star = r"\*" if p["variadic"] else ""
            default = "" if p["default"] is None else f"default ``{p['default']}``"
            only = "keyword only" if p["keyword_only"] else ""
            lines.append(f":param {star}{p['name']}: {', '.join(filter(None, (default, only)))}")
            lines.append(f":type {star}{p['name']}: {python_type(p['type'])}")
        lines += [f":rtype: {python_type(op['returns'])}", ""]
        if op["kind"] in SHAPES and op["returns"] == "Tensor":
            lines += [f"Shape of the result: {SHAPES[op['kind']]}.", ""]
    if ">>>" not in (inspect.getdoc(function) or ""):
        code = examples.code_of(module, name)
        if code is not None:
            lines += ["", *examples.run(code), ""]
    return lines


def python_type(text: str) -> str:
    """A type of a signature as Python writes it."""
    optional = text.endswith("?")
    parts = [TYPES.get(part, part) for part in text.rstrip("?").split("|")]
    parts = [
        f"sequence of {part.removesuffix('[]')}" if part.endswith("[]") else part for part in parts
    ]
    return " or ".join([*parts, "None"] if optional else parts)


TYPES = {
    "DType": "dtype",
    "Device": "device",
    "MemoryFormat": "memory_format",
    "Operand": "Tensor or number",
    "Scalar": "number",
    "Self": "Tensor",
    "int[]": "int or sequence of int",
    "ndarray": "numpy.ndarray",
}


def process_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Defaults of dataclasses that are made anew are no Python, so that types would stay long."""
    if signature is None or "<factory>" not in signature:
        return None
    return re.sub(r"~[\w.]+\.", "", signature).replace("<factory>", "..."), returns
