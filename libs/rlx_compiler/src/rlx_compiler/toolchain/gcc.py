"""gcc, for the `c` target: from one C file to an object file that needs no library."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain.run import run_tool

__all__ = ["FLAGS", "compile_c", "version"]

# What the meaning of the code needs: integers wrap, memory is reused with other types, a · b + c may be fused.
# No call into a library may appear: no errno, no loops turned into memcpy.
FLAGS: Final = (
    "-std=c11",
    "-ffreestanding",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-tree-loop-distribute-patterns",
)
_BINARY: Final = (
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
)


def compile_c(source: str, folder: Path, spec: TargetSpec, opt_level: int) -> str:
    """Compiles `source`, a file in `folder`, and gives the object's name. Without optimisation there would be no
    vectors in registers, so the lowest level is -O1."""
    name = f"{Path(source).stem}.o"
    width = ["-mprefer-vector-width=512"] if spec.vector_bits == 512 else []
    level = f"-O{max(1, opt_level)}"
    machine = [f"-march={spec.cpu}"] if spec.features else []
    run_tool(["gcc", *FLAGS, *_BINARY, level, *machine, *width, "-c", source, "-o", name], folder)
    return name


@cache
def version() -> str:
    """The first line of `gcc --version`: distributions patch it, so its number alone would not do."""
    return run_tool(["gcc", "--version"], Path.cwd()).splitlines()[0]
