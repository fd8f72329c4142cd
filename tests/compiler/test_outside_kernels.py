"""Memory that is used outside kernels ends a capture, and tools/layers.py finds new uses."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import genesis
import pytest
from genesis import _C

ROOT = pathlib.Path(__file__).parents[2]


def layers() -> Any:
    path = ROOT / "tools" / "layers.py"
    if not path.exists():
        pytest.skip("the sources are not here")
    spec = importlib.util.spec_from_file_location("layers", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_use_in_the_sources_is_declared():
    assert layers().outside_kernels(ROOT) == []


@pytest.mark.parametrize(
    "line",
    [
        "std::memcpy(t->data, from, 8);",
        "float* p = t.address<float>();",
        "const char* p = t->data;",
        "const float x = *t.address<float>();",
        "t.address<int64_t>()[0] = 1;",
        "auto x = *reinterpret_cast<const float*>(t->data);",
        "kernels::another(t.view());",
    ],
)
def test_a_new_use_is_found(line, tmp_path):
    (tmp_path / "csrc" / "ops").mkdir(parents=True)
    (tmp_path / "csrc" / "kernels").mkdir()
    (tmp_path / "csrc" / "kernels" / "a.h").write_text(
        "inline constinit Kernel<void(View y, View x)> one, two{.writes = 0b11};\n"
    )
    file = tmp_path / "csrc" / "ops" / "new.cpp"
    file.write_text(f"{line}\n")
    assert len(layers().outside_kernels(tmp_path)) == 1
    file.write_text("kernels::one(t.view());\nkernels::two(t.view());\nt.data<float>()[0] = 1;\n")
    assert layers().outside_kernels(tmp_path) == []


@pytest.mark.parametrize(
    "f, reason",
    [
        (lambda x: genesis.linalg.cholesky(x @ x.T + 9 * genesis.eye(4)), "LAPACK"),
        (lambda x: genesis.linalg.det(x), "LAPACK"),
        (lambda x: genesis.special.zeta(x + 9, 2.0), "loop"),
        (lambda x: genesis.frexp(x)[0], "outside a kernel"),
        (lambda x: genesis.nextafter(x, x + 1), "outside a kernel"),
    ],
)
def test_breaks_name_the_operation_and_results_follow_the_arguments(f, reason):
    compiled = genesis.compile(f)
    for _ in range(4):
        x = genesis.randn(4, 4)
        assert _C._to_bytes(compiled(x)) == _C._to_bytes(f(x))
    (first,) = genesis.compiler.explain(f, genesis.randn(4, 4)).breaks
    assert reason in first.reason and pathlib.Path(__file__).name in str(first)


def test_a_result_in_given_memory_is_computed_each_time():
    buffer = genesis.zeros(5)

    @genesis.compile
    def f(x):
        genesis.special.i0(x, out=buffer)
        return buffer + 1

    x = genesis.randn(5)
    for _ in range(3):
        f(x)
    x = genesis.randn(5)
    assert _C._to_bytes(f(x)) == _C._to_bytes(genesis.special.i0(x) + 1)
