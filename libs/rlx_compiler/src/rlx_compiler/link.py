"""The one linker: LLD, as it comes in the `ziglang` wheel. No system linker, no C library, nothing of time or place."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from rlx_base.errors import CompileError
from rlx_base.faults import reach
from rlx_compiler.toolchain.run import run_tool
from rlx_wire.abi import ENTRY

__all__ = ["LIBRARY", "WASM", "code_object", "shared_library", "version", "wasm_module"]

LIBRARY: Final = "librlx_kernel.so"
WASM: Final = "kernel.wasm"
_WASM_STACK: Final = 1 << 18


@cache
def _lld(flavour: str = "ld.lld") -> tuple[str, str]:
    """The command: the wheel's own program, since starting a Python to start it would take longer than linking."""
    spec = importlib.util.find_spec("ziglang")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    for folder in folders:
        zig = Path(folder) / "zig"
        if zig.is_file():
            return (str(zig), flavour)
    raise CompileError("E204", tool=flavour, hint="install the `ziglang` package")


def shared_library(objects: Sequence[str], folder: Path) -> bytes:
    """Links objects in `folder` into a shared library that needs nothing from outside."""
    arguments = [
        "-shared",
        f"-soname={LIBRARY}",
        "--build-id=none",
        "--hash-style=gnu",
        "--gc-sections",
        # Anything undefined would be a call into a C library.
        "--no-undefined",
        "-z",
        "noexecstack",
        "-z",
        "relro",
        "-z",
        "now",
        "-o",
        LIBRARY,
        *objects,
    ]
    reach("compiler.before-link")
    run_tool([*_lld(), *arguments], folder)
    return (folder / LIBRARY).read_bytes()


def wasm_module(objects: Sequence[str], folder: Path) -> bytes:
    """Links objects in `folder` into a WebAssembly module that imports nothing; it exports its entry, its memory and
    functions by number, and `__heap_base`, from where on its memory is the host's to use."""
    arguments = [
        "--no-entry",
        f"--export={ENTRY}",
        "--export=__heap_base",
        "--export-table",
        "--growable-table",
        # The stack lies first, so that running over its end is a trap and not a change of data.
        "--stack-first",
        "-z",
        f"stack-size={_WASM_STACK}",
        "--gc-sections",
        "--strip-all",
        "-o",
        WASM,
        *objects,
    ]
    reach("compiler.before-link")
    run_tool([*_lld("wasm-ld"), *arguments], folder)
    return (folder / WASM).read_bytes()


def code_object(name: str, folder: Path) -> bytes:
    """Links one object in `folder` into what an AMD GPU's runtime loads."""
    run_tool([*_lld(), "-shared", "--build-id=none", "--no-undefined", "-o", "kernel.hsaco", name], folder)
    return (folder / "kernel.hsaco").read_bytes()


@cache
def version() -> str:
    """`LLD 22.1.8`."""
    return " ".join(run_tool([*_lld(), "--version"], Path.cwd()).split()[:2])
