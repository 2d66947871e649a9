"""The `wasm` target: a WebAssembly module with 128-bit vectors, and what a page needs to load and call it.

`wasm:relaxed-simd` may also fuse a multiplication with an addition, which engines of 2023 and later do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlx_compiler import link
from rlx_compiler.emit import browser, llvm
from rlx_compiler.emit.llvm import WASM32
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.cpu import MAIN_MEMORY, find_device
from rlx_compiler.targets.registry import Built, Target
from rlx_compiler.targets.spec import TargetSpec
from rlx_compiler.toolchain import llvm as codegen

__all__ = ["TARGET"]


def _describe(asked: str) -> TargetSpec:
    device = find_device("wasm", asked)
    return TargetSpec(
        target="wasm",
        cpu=device,
        features=frozenset({"simd128", device}),
        vector_bits=128,
        # An engine on x86-64 has 16 registers, on Arm 32; it keeps some for itself.
        vector_registers=16,
        fma=device == "relaxed-simd",
        l1_bytes=32 << 10,
        l2_bytes=256 << 10,
        native=frozenset({"sqrt", "floor", "ceil", "round"}),
        spaces=(MAIN_MEMORY,),
        local_bytes=128 << 10,  # half of the stack that the linker gives it
    )


def _emit(program: Program, spec: TargetSpec) -> Mapping[str, str]:
    text = llvm.emit(program, spec, WASM32)
    return {**text, browser.LOADER: browser.loader(), browser.TYPES: browser.types(program)}


def _build(sources: Mapping[str, str], spec: TargetSpec, opt_level: int, scratch: Path) -> Built:
    code = codegen.compile_ir(sources["kernel.ll"], WASM32, spec, opt_level)
    (scratch / "kernel.o").write_bytes(code.object)
    module = link.wasm_module(["kernel.o"], scratch)
    texts = {name: text.encode() for name, text in sources.items()}
    return Built({link.WASM: module, **texts})


def _toolchain() -> Sequence[str]:
    return (codegen.version(), link.version())


TARGET: Final = Target("wasm", _describe, _emit, _build, _toolchain)
