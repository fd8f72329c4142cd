"""Checks that each folder of csrc includes only the layers below it, and that no modules of the
Python package import each other in a circle when they are loaded.
"""

import ast
import graphlib
import pathlib
import re
import sys

ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "autograd": {"core"},
    "plan": {"core", "kernels"},
    "ops": {"core", "kernels", "autograd"},
    "engine": {"core", "autograd", "ops"},
    "bindings": {"core", "autograd", "plan", "ops", "engine"},
}
OUTSIDE = {"Python.h": {"bindings"}, "cblas.h": {"kernels"}}


def violations(root: pathlib.Path) -> list[str]:
    bad = []
    for path in sorted((root / "csrc").rglob("*.[hc]*")):
        here = path.relative_to(root).parts[1]
        for include in re.findall(r'#include ["<]([\w/.]+)[">]', path.read_text()):
            there = include.split("/")[0]
            if there in ALLOWED and there != here and there not in ALLOWED[here]:
                bad.append(f"{path.relative_to(root)}: {here}/ may not include {there}/")
            if there in OUTSIDE and here not in OUTSIDE[there]:
                bad.append(f"{path.relative_to(root)}: {here}/ may not include {include}")
    return bad


def imports_when_loaded(body: list[ast.stmt]) -> set[str]:
    """The names that a module imports outside of functions and of `if TYPE_CHECKING`."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            names |= imports_when_loaded(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            names |= imports_when_loaded(inner)
    return names


def circular_imports(root: pathlib.Path) -> list[str]:
    """A circle of modules, each of which imports the next when it is loaded; or nothing."""
    modules = {}
    for path in (root / "python" / "genesis").rglob("*.py"):
        parts = path.relative_to(root / "python").with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = path
    graph = {}
    for name, path in modules.items():
        graph[name] = set()
        for target in imports_when_loaded(ast.parse(path.read_text()).body):
            while target and target not in modules:  # a name in a module
                target = target.rpartition(".")[0]
            # Loading genesis.nn.utils loads genesis.nn too, unless we are inside of it.
            while target and not f"{name}.".startswith(f"{target}."):
                graph[name].add(target)
                target = target.rpartition(".")[0]
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [f"modules import each other: {' <- '.join(error.args[1])}"]
    return []


if __name__ == "__main__":
    ROOT = pathlib.Path(__file__).parents[1]
    sys.exit("\n".join(violations(ROOT) + circular_imports(ROOT)) or 0)
