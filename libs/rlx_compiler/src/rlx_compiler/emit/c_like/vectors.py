"""The vector types and macros that a source file turned out to need, declared at its head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_compiler.emit.c_like.dialect import Dialect, padded

__all__ = ["VectorTypes"]


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
        for (name, lanes), dtype in sorted(self._types.items(), key=lambda item: (item[1].name, item[0][1])):
            size = lanes * dtype.itemsize
            yield f"typedef {self.dialect.scalar(dtype)} {name} __attribute__((vector_size({size})));"
            yield f"typedef {name} {name}_u __attribute__((aligned({dtype.itemsize}), may_alias));"
        for lanes in sorted(self._splats):
            yield f"#define RLX_SPLAT_{lanes}(type, x) ((type){{{', '.join(['x'] * lanes)}}})"
