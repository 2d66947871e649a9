"""The target that CONTRIBUTING adds as its example: under a hundred lines, and its code is taken by LLVM and LLD."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from rlx_compiler.targets import registry
from tests.matrix.cells import ops_cell

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_example_of_a_target_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.S) if block.startswith('"""The `')]
    assert source.count("\n") < 100
    module = ModuleType("ppc64le")
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)
    known = {**registry._targets(), module.TARGET.name: module.TARGET}
    monkeypatch.setattr(registry, "_targets", lambda: known)
    for device in ("ppc64le", "ppc64le:pwr8"):
        cell = ops_cell("kinds", device, ("conv2d", "matmul", "softmax", "cast"), 2)
        assert (cell.result, cell.cases) == ("accepted", 8), cell.detail
