"""Checks that each folder of csrc includes only the layers below it, that memory of tensors is
read and written by kernels, and that no modules of the Python package import each other in a circle
when they are loaded.
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

# Functions of kernels that are no Kernel: those that touch no memory of tensors, and those that end
# a capture of genesis.compile themselves.
NO_MEMORY = set(
    [
        "compute_type",
        "counters_for",
        "forward_runs_last",
        "gates_of",
        "input_runs_last",
        "longest_row",
        "require_lapack_size",
        "sort_scratch",
        "weight_runs_last",
    ]
)
END_CAPTURES = set(
    [
        "cholesky",
        "eig",
        "eigh",
        "elementwise",
        "inverse",
        "ldl_factor",
        "ldl_solve",
        "lu_determinant",
        "lu_factor",
        "lu_pivot_ratio",
        "lu_solve",
        "qr",
        "reflections",
        "solve_triangular",
        "stride_add",
        "svd",
    ]
)
# Memory that is reached without Tensor::data(), which ends captures.
RAW = re.compile(
    r"(?:memcpy|memset|memmove|memcmp|memchr|copy_n?|fill_n?|iota)\(.*->data\b(?!\()"  # copied
    r"|\*\s*(?:const )?\w+ = .*(?:->data\b(?!\()|address<)"  # kept as a pointer
    r"|cast<[\w ]+\*>\([^()]*->data\b|\*\w+(?:\.\w+)*\.address<|address<[^>]*>\(\)\["  # read
)
# Pointers that go to kernels, and what looks at addresses only.
POINTERS = {
    ("ops/matmul.cpp", "address<T>()"),
    ("ops/gather.cpp", "flat.data<int64_t>()"),
    ("bindings/canary.cpp", "x->data"),
    ("bindings/replay.cpp", "externals[i]->data"),
    ("bindings/replay.cpp", "externals[k]->data"),
}


def kernel_names(root: pathlib.Path) -> set[str]:
    """Variables of the type Kernel, whose calls a capture sees."""
    names: set[str] = set()
    for path in (root / "csrc" / "kernels").rglob("*.h"):
        for statement in re.findall(r"^\s*inline constinit ([^;]*);", path.read_text(), re.M):
            shorter, text = statement, ""
            while shorter != text:
                text = shorter
                shorter = re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}|//[^\n]*", "", text)
            names |= set(re.findall(r"(\w+)\s*(?:,|$)", text))
    return names


def outside_kernels(root: pathlib.Path) -> list[str]:
    """Uses of memory that genesis.compile would not repeat, and that do not end a capture."""
    known = kernel_names(root) | NO_MEMORY | END_CAPTURES
    bad = []
    for folder in ("autograd", "bindings", "engine", "ops"):
        for path in sorted((root / "csrc" / folder).rglob("*.[hc]*")):
            lines, name = path.read_text().splitlines(), path.relative_to(root / "csrc").as_posix()
            for i, line in enumerate(lines):
                for called in re.findall(r"kernels::(\w+)\(", line):
                    if called not in known:
                        bad.append(
                            f"csrc/{name}:{i + 1}: kernels::{called} is no Kernel; make it one, or "
                            "let it call capture::interrupt() and add it to END_CAPTURES"
                        )
                near = "\n".join(lines[max(0, i - 6) : i + 2])
                allowed = "capture::" in near or "create(" in line or "borrow(" in line
                allowed |= any(name == file and text in line for file, text in POINTERS)
                if RAW.search(line) and not allowed:
                    bad.append(
                        f"csrc/{name}:{i + 1}: memory is used outside a kernel; take it with "
                        "Tensor::data(), or call capture::interrupt() before"
                    )
    return bad


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
    found = violations(ROOT) + outside_kernels(ROOT) + circular_imports(ROOT)
    sys.exit("\n".join(found) or 0)
