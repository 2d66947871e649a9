"""Vectors in C: the types and macros that a source file turned out to need, and how vector operations are spelled.

GNU vectors are values: locals and expressions, never parameters or results, so no calling convention depends on
them. A program that was lowered without vectors (`c:x86-64`) is plain C11. OpenCL C has vectors of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_compiler.emit.c_like.dialect import Dialect, padded

__all__ = ["OpenClVectors", "VectorTypes"]


@dataclass
class VectorTypes:
    """Names vector types as they are used: `f32x16` is sixteen floats, `f32x16_u` the same at any address."""

    dialect: Dialect
    _types: dict[tuple[str, int], DType] = field(default_factory=dict)
    _splats: set[int] = field(default_factory=set)

    def name(self, dtype: DType, lanes: int) -> str:
        """The type of a value; a scalar's for one lane."""
        if lanes == 1:
            return self.dialect.scalar(dtype)
        if dtype == BOOL or dtype.name == "float16":
            dtype = DTYPES["uint8" if dtype == BOOL else "uint16"]
        dtype = dtype.bits_held
        name = f"{ {'float': 'f', 'int': 'i', 'uint': 'u'}[dtype.kind] }{dtype.bits}x{padded(lanes)}"
        self._types[name, padded(lanes)] = dtype
        return name

    def splat(self, dtype: DType, lanes: int, text: str) -> str:
        """A scalar, which must be cheap to name often, in every lane."""
        self._splats.add(padded(lanes))
        return f"RLX_SPLAT_{padded(lanes)}({self.name(dtype, lanes)}, {text})"

    def declarations(self) -> Iterator[str]:
        """What stands at the head of the file."""
        for (name, lanes), dtype in sorted(self._types.items(), key=lambda item: (item[1].name, item[0][1])):
            size = lanes * dtype.itemsize
            yield f"typedef {self.dialect.scalar(dtype)} {name} __attribute__((vector_size({size})));"
            yield f"typedef {name} {name}_u __attribute__((aligned({dtype.itemsize}), may_alias));"
        for lanes in sorted(self._splats):
            yield f"#define RLX_SPLAT_{lanes}(type, x) ((type){{{', '.join(['x'] * lanes)}}})"

    def numbers(self, dtype: DType, numbers: Sequence[int]) -> str:
        """A vector of constants, as many as it has lanes."""
        return f"(({self.name(dtype, len(numbers))}){{{', '.join(map(str, numbers))}}})"

    def same(self, dtype: DType, lanes: int, text: str) -> str:
        """A small number beside a vector in an operation: C takes a scalar there."""
        del dtype, lanes
        return text

    def zero(self, dtype: DType, lanes: int) -> str:
        """What a vector is declared with before its lanes are set."""
        del dtype, lanes
        return "{0}"

    def convert(self, text: str, dtype: DType, lanes: int) -> str:
        """The numbers in another dtype."""
        return f"__builtin_convertvector({text}, {self.name(dtype, lanes)})"

    def reinterpret(self, text: str, dtype: DType, lanes: int) -> str:
        """The bits as another dtype of the same width."""
        return f"(({self.name(dtype, lanes)}){text})"

    def load(self, name: str, index: str, dtype: DType, lanes: int) -> str:
        """As many neighbours as the register has lanes, at any address."""
        kind = self.name(dtype, lanes)
        # Cast to the aligned type: the two are different ones to a conditional expression.
        return f"(({kind})*(const {kind}_u *)({name} + {index}))"

    def store(self, name: str, index: str, dtype: DType, lanes: int, text: str) -> str:
        """The statement that writes a whole vector."""
        return f"*({self.name(dtype, lanes)}_u *)({name} + {index}) = {text};"

    def lane(self, name: str, lane: str | int, dtype: DType) -> str:
        """One lane of a vector that has a name, to read or to set."""
        del dtype
        return f"{name}[{lane}]"

    def slice(self, name: str, dtype: DType, lanes: int, places: Sequence[int]) -> str:
        """The lanes at these places of a vector of `lanes` that has a name."""
        del dtype, lanes
        return f"__builtin_shufflevector({name}, {name}, {', '.join(map(str, places))})"

    def blend(self, mask: str, then: str, otherwise: str, dtype: DType, lanes: int) -> str:
        """`then` where the mask, of the width of `dtype`, has all bits set. The mask has a name."""
        whole = self.name(DTYPES[f"int{dtype.bits}"], lanes)
        parts = f"({mask} & ({whole}){then}) | (~{mask} & ({whole}){otherwise})"
        return f"(({self.name(dtype, lanes)})({parts}))"


class OpenClVectors(VectorTypes):
    """OpenCL's vectors: up to 16 lanes, loaded and stored at any address by functions."""

    def _opencl(self, dtype: DType, lanes: int) -> str:
        if dtype == BOOL or dtype.name == "float16":
            dtype = DTYPES["uint8" if dtype == BOOL else "uint16"]
        return f"{self.dialect.scalar(dtype)}{padded(lanes)}"

    def name(self, dtype: DType, lanes: int) -> str:
        return self.dialect.scalar(dtype) if lanes == 1 else self._opencl(dtype, lanes)

    def splat(self, dtype: DType, lanes: int, text: str) -> str:
        return f"(({self._opencl(dtype, lanes)})({text}))"

    def declarations(self) -> Iterator[str]:
        return iter(())

    def numbers(self, dtype: DType, numbers: Sequence[int]) -> str:
        return f"(({self._opencl(dtype, len(numbers))})({', '.join(map(str, numbers))}))"

    def same(self, dtype: DType, lanes: int, text: str) -> str:
        return self.splat(dtype, lanes, text)

    def zero(self, dtype: DType, lanes: int) -> str:
        return self.splat(dtype, lanes, "0")

    def convert(self, text: str, dtype: DType, lanes: int) -> str:
        return f"convert_{self._opencl(dtype, lanes)}({text})"

    def reinterpret(self, text: str, dtype: DType, lanes: int) -> str:
        return f"as_{self._opencl(dtype, lanes)}({text})"

    def load(self, name: str, index: str, dtype: DType, lanes: int) -> str:
        del dtype
        return f"vload{padded(lanes)}(0, {name} + {index})"

    def store(self, name: str, index: str, dtype: DType, lanes: int, text: str) -> str:
        del dtype
        return f"vstore{padded(lanes)}({text}, 0, {name} + {index});"

    def lane(self, name: str, lane: str | int, dtype: DType) -> str:
        if isinstance(lane, int):
            return f"{name}.s{lane:x}"
        kind = self.dialect.scalar(DTYPES["uint8"] if dtype == BOOL else dtype)
        return f"((__private {kind} *)&{name})[{lane}]"

    def slice(self, name: str, dtype: DType, lanes: int, places: Sequence[int]) -> str:
        return f"{name}.s{''.join(f'{place:x}' for place in places)}"

    def blend(self, mask: str, then: str, otherwise: str, dtype: DType, lanes: int) -> str:
        return f"select({otherwise}, {then}, {mask})"
