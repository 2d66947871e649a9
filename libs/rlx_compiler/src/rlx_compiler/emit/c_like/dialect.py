"""What the languages of the C family spell differently, as data: C11, OpenCL C, Metal, GLSL and WGSL.

The defaults of a `Dialect` are those of C. Types have one spelling as values and, where it differs, another one in
memory (`stored`): what a language lacks of small integers lies there in words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, DType
from rlx_base.errors import CompileError
from rlx_compiler.emit.numbers import float_bits, nearest, wrapped

__all__ = ["C11", "INTEGERS", "Dialect", "padded"]

INTEGERS: Final = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_integer and dtype.bits >= 8)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates, with the parts that each takes.

    `types` by name of dtype; `stored` where memory holds another type; `functions` by name and dtype; `kernel` and
    `function` are headers with {name}, {result} and {parameters}; `parameter` a buffer's with {type}, {name},
    {qualifier}, {place}; `argument` a function's. `immutable` and `mutable` declare a local with {type}, {name},
    {value}. `cuts` gives, for integers that are computed in wider ones, how a result ({value}) is brought back.
    `binds_results`: what is stored or returned has a name first, so that its declaration is in force for it.
    `own_truth`: truth values are a type of their own. `wide_integers`: small ones are held in words, so a
    conversion has to cut them too; `word_bits` is the widest integer. `shared_outside`: a block's memory is declared
    before the kernel, and `parameters_outside` are its buffers. `block` and `thread` are a kernel's places in its grid.
    """

    types: Mapping[str, str]
    functions: Mapping[tuple[str, str], str]
    infinity: Mapping[str, str]
    not_a_number: Mapping[str, str]
    kernel: str
    function: str
    parameter: str
    argument: str = "{type} {name}"
    constant: str = "const "
    writable: str = ""
    parameters_outside: bool = False
    local_array: str = "{type} {name}[{count}];"
    shared_array: str = ""
    shared_outside: bool = False
    barrier: str = ""
    block: str = ""
    thread: str = ""
    immutable: str = "const {type} {name} = {value};"
    mutable: str = "{type} {name} = {value};"
    declared: str = "{type} {name};"
    unset: str = "{{0}}"
    counted: str = "for ({type} {name} = {start}; {name} < {stop}; {advance}) {{"
    cast: str = "(({type}){value})"
    choice: str = "({condition} ? {then} : {otherwise})"
    lazy_choice: bool = True
    bitcast: str = "((union {{ {source} from; {target} to; }}){{.from = {value}}}).to"
    same_width: str = "(({target}){value})"
    shift: str = "({value} {sign} {count})"
    is_nan: str = "({value} != {value})"
    fused: str = "({a} * {b} + {c})"
    fence: str = ""
    place: str = "{index}"
    own_truth: bool = False
    binds_results: bool = False
    wide_integers: bool = False
    functions_of_vectors: bool = False
    stored: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, str] = field(default_factory=dict)
    suffixes: Mapping[str, str] = field(default_factory=dict)
    smallest: Mapping[str, str] = field(default_factory=dict)
    word_bits: int = 64
    decimal: bool = False
    prefetch: str = ""

    def scalar(self, dtype: DType) -> str:
        """The type of a value."""
        held = dtype.bits_held
        if held.name not in self.types:
            raise CompileError("E211", what=f"{dtype}, which the target does not have,")
        return self.types[held.name]

    def memory(self, dtype: DType) -> str:
        """The type of an element in memory."""
        return self.stored.get(dtype.bits_held.name) or self.scalar(dtype)

    def number(self, value: bool | int | float, dtype: DType) -> str:
        """A constant, exact."""
        if dtype.name == "float16":
            return self._integer(float_bits(float(value), dtype), DTYPES["uint16"])
        if dtype.is_float:
            return self._float(float(value), dtype)
        if dtype == BOOL:
            return ("true" if value else "false") if self.own_truth else "1" if value else "0"
        return self._integer(int(value), dtype)

    def _float(self, value: float, dtype: DType) -> str:
        value = nearest(value, dtype)
        if math.isnan(value):
            return self.not_a_number[dtype.name]
        size, suffix = abs(value), self.suffixes.get(dtype.name, "f" if dtype.bits == 32 else "")
        if math.isinf(value):
            text = self.infinity[dtype.name]
        elif self.decimal or size * 2 == round(size * 2) < 1e6:
            # Whole numbers and halves read better as decimals, and are exact in them; so is any float32 as a float64.
            text = f"{size!r}{suffix}"
        else:
            text = f"{size.hex()}{suffix}"
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text

    def _integer(self, value: int, dtype: DType) -> str:
        """Small ones as they are, where the language allows; the others with their width, since a plain one may be
        an int."""
        value = wrapped(value, dtype)
        if dtype.bits > self.word_bits:
            # The largest number stays the largest one.
            dtype = DTYPES[f"{dtype.kind}{self.word_bits}"]
            lowest = 0 if dtype.kind == "uint" else -(2 ** (self.word_bits - 1))
            value = max(lowest, min(value, lowest + 2**self.word_bits - 1))
        if dtype.name in self.smallest and value == -(2 ** (dtype.bits - 1)):
            return self.smallest[dtype.name]
        if dtype.name in self.suffixes:
            text = f"{abs(value)}{self.suffixes[dtype.name]}"
        elif dtype.kind == "uint" and dtype.bits >= 32:
            return f"UINT{dtype.bits}_C({value})"
        else:
            text = str(abs(value)) if abs(value) < 2**31 else f"INT64_C({abs(value)})"
        return f"(-{text})" if value < 0 else text


def padded(lanes: int) -> int:
    """The lanes of the register that holds so many: vectors come in powers of two."""
    return 1 << (lanes - 1).bit_length()


_SMALL: Final = ("int8", "int16", "uint8", "uint16")

C11: Final = Dialect(
    types={
        "float16": "uint16_t",
        "float32": "float",
        "float64": "double",
        "bool": "uint8_t",
        **{name: f"{name}_t" for name in INTEGERS},
    },
    functions={
        ("sqrt", "float32"): "__builtin_sqrtf",
        ("sqrt", "float64"): "__builtin_sqrt",
        ("abs", "float32"): "__builtin_fabsf",
        ("abs", "float64"): "__builtin_fabs",
    },
    infinity={"float32": "__builtin_inff()", "float64": "__builtin_inf()"},
    not_a_number={"float32": '__builtin_nanf("")', "float64": '__builtin_nan("")'},
    kernel="static __attribute__((noinline)) void {name}({parameters})",
    function="static {result} {name}({parameters})",
    parameter="{qualifier}{type} *restrict {name}",
    # The address as a number, since one behind the end of an array may not be computed as a pointer.
    prefetch="__builtin_prefetch((const void *)((uintptr_t){name} + sizeof(*{name}) * (uintptr_t)({index})), 0, 2);",
    local_array="{type} {name}[{count}] __attribute__((aligned(64)));",
    fence="__atomic_signal_fence(__ATOMIC_ACQ_REL);",
    # Arithmetic on small scalars happens in int.
    cuts={name: f"(({name}_t){{value}})" for name in _SMALL},
    smallest={"int64": "INT64_MIN"},
)
