"""A program for a GPU as text: the kernels of a grid and the functions that they call. A runtime launches them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlx_base.dtypes import INT32
from rlx_compiler.emit.c_like.dialect import Dialect
from rlx_compiler.emit.c_like.entry import kernel_symbol
from rlx_compiler.emit.c_like.module import function_texts
from rlx_compiler.emit.c_like.vectors import VectorTypes
from rlx_compiler.emit.c_like.writer import CWriter
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import BLOCK, THREAD
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import Program
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["LARGEST_ROW", "GridLanguage"]

# Where a grid's rows are limited to so many blocks, longer ones continue in the next row.
LARGEST_ROW: Final = 65535


@dataclass(frozen=True)
class GridLanguage:
    """A dialect with what stands around kernels. `head` begins each file.

    `row` is how a kernel of more blocks than `LARGEST_ROW` finds its own, in a language that limits rows.
    """

    dialect: Dialect
    vectors: type[VectorTypes] = VectorTypes
    head: str = ""
    row: str = ""

    def whole(self, program: Program, spec: TargetSpec) -> str:
        """All kernels as one file."""
        return self._file(program.kernels, program, spec)

    def apart(self, program: Program, spec: TargetSpec) -> dict[str, str]:
        """A file for each kernel, by the kernel's symbol."""
        return {kernel_symbol(kernel.name): self._file((kernel,), program, spec) for kernel in program.kernels}

    def _file(self, kernels: tuple[Kernel, ...], program: Program, spec: TargetSpec) -> str:
        vectors = self.vectors(self.dialect)
        functions: dict[str, Function] = {}
        texts = [
            self._kernel(kernel, CWriter(spec, program.dims, self.dialect, vectors), functions) for kernel in kernels
        ]
        called = function_texts(functions, lambda: CWriter(spec, program.dims, self.dialect, vectors))
        return "\n".join([self.head, *vectors.declarations(), *called, *texts])

    def _kernel(self, kernel: Kernel, writer: CWriter, functions: dict[str, Function]) -> str:
        dialect, symbol, grid = self.dialect, kernel_symbol(kernel.name), kernel.grid
        assert grid is not None, "a kernel without a grid"
        writer.prefix = symbol
        parameters = []
        for place, buffer in enumerate(kernel.params):
            name = f"{symbol}_p{place}" if dialect.parameters_outside else f"p{place}"
            writer.scope.buffers[buffer.name] = name
            qualifier = dialect.constant if buffer.access == "read" else dialect.writable
            kind = dialect.memory(buffer.dtype)
            parameters.append(dialect.parameter.format(type=kind, name=name, qualifier=qualifier, place=place))
        rows = bool(self.row) and grid.blocks > LARGEST_ROW
        block = "block" if rows else dialect.block
        writer.scope.values |= {BLOCK: Value(block, INT32, 1), THREAD: Value(dialect.thread, INT32, 1)}
        first = [self.row.format(blocks=grid.blocks)] if rows else []
        writer.statements(kernel.body)
        functions |= writer.called
        outside = parameters if dialect.parameters_outside else []
        head = dialect.kernel.format(name=symbol, parameters=", ".join(parameters), threads=grid.threads)
        return "\n".join([*outside, *writer.outside, head, *first, *writer.finished(), "}", ""])
