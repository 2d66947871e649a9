"""The `vulkan` target: a SPIR-V module for each kernel, from GLSL by glslang and looked over by spirv-val."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rlx_compiler.emit.c_like.glsl import GLSL
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import find_device
from rlx_compiler.targets.grid_device import grid_spec
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain.run import run_tool

__all__ = ["TARGET"]

_NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "round"})
_ENVIRONMENT: Final = "vulkan1.1"


def _describe(device: str) -> TargetSpec:
    """1.1's least limits are 128 invocations and 16 KiB; these are what desktop devices and lavapipe have."""
    return grid_spec("vulkan", find_device("vulkan", device), threads=256, shared_bytes=32 << 10, native=_NATIVE)


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    return {f"{symbol}.comp": text for symbol, text in GLSL.apart(program, spec).items()}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    """One call of each tool for all kernels: starting them takes longer than their work."""
    del spec, opt_level
    for name, text in sources.items():
        (scratch / name).write_text(text)
    files: dict[str, bytes] = {}
    for name in sources:
        module = f"{Path(name).stem}.spv"
        run_tool(["glslangValidator", "--quiet", "--target-env", _ENVIRONMENT, "-V", name, "-o", module], scratch)
        run_tool(["spirv-val", "--target-env", _ENVIRONMENT, module], scratch)
        files |= {module: (scratch / module).read_bytes(), name: sources[name].encode()}
    return Built(files, {"modules": len(sources), "accepted_by": list(_toolchain())})


@cache
def _toolchain() -> Sequence[str]:
    glslang = run_tool(["glslangValidator", "--version"], Path.cwd())
    validator = run_tool(["spirv-val", "--version"], Path.cwd())
    version = re.search(r"Glslang Version: (\S+)", glslang)
    return (f"glslang {version[1] if version else 'unknown'}", validator.splitlines()[0])


TARGET: Final = Target("vulkan", _describe, _emit, _build, _toolchain, host_ops=True)
