"""Values in C: constants, arithmetic, choices and calls.

A scalar bool is 0 or 1. A vector of bools is a *mask*: integers of some width, 0 or −1 in each lane, as comparisons
give them; the width is changed where two meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, INDEX, DType
from rlx_compiler.emit.c_like.dialect import Dialect, padded
from rlx_compiler.emit.c_like.vectors import VectorTypes
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import Writer
from rlx_compiler.loops.ir import Literal
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["CValues", "Mask", "identifier"]

_BINARY: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "quotient": "/",
    "remainder": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
}
_COMPARE: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# A name or a number.
_SIMPLE: Final = re.compile(r"[\w.]+(p[+-]\d+f?)?|\(-[\w.]+(p[+-]\d+f?)?\)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Mask(Value):
    """A vector of bools, as integers of `bits` bits."""

    bits: int = 8


class CValues(Writer):
    """One C function: `lines`, indented by where they stand."""

    def __init__(self, spec: TargetSpec, dims: Sequence[str], dialect: Dialect, vectors: VectorTypes) -> None:
        super().__init__(spec, dims)
        self.dialect = dialect
        self.vectors = vectors
        self._depth = 1
        self.outside: list[str] = []  # lines that stand before the function
        self.prefix = ""  # of the names in them

    # ---------------------------------------------------------------- building blocks

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _type(self, value: Value) -> str:
        if isinstance(value, Mask):
            return self.vectors.name(DTYPES[f"int{value.bits}"], value.lanes)
        return self.vectors.name(value.dtype, value.lanes)

    def _local(self, value: Value, stem: str = "t") -> Value:
        name = self.fresh(stem)
        self._line(self.dialect.immutable.format(type=self._type(value), name=name, value=value.text))
        return replace(value, text=name)

    def bound(self, value: Value) -> Value:
        return value if _SIMPLE.fullmatch(value.text) else self._local(value)

    def named(self, name: str, value: Value) -> Value:
        return self._local(value, f"{identifier(name)}_")

    def finished(self, last: str = "") -> list[str]:
        """The lines and a last one, without the locals that nothing uses."""
        lines = [*self.lines, last]
        pattern = self.dialect.immutable.format(type=r"[\w]+", name=r"(\w+)", value="")
        declared = re.compile(rf"\s*{pattern.removesuffix(';')}")
        while True:
            counts: dict[str, int] = {}
            for line in lines:
                for name in _NAME.findall(line):
                    counts[name] = counts.get(name, 0) + 1
            kept = [line for line in lines if not ((found := declared.match(line)) and counts[found[1]] == 1)]
            if len(kept) == len(lines):
                return kept
            lines = kept

    # ---------------------------------------------------------------- values

    def literal(self, literal: Literal) -> Value:
        return Value(self.dialect.number(literal.value, literal.dtype), literal.dtype, 1)

    def size(self, place: int) -> Value:
        return Value(f"dims[{place}]", INDEX, 1)

    def broadcast(self, value: Value, lanes: int) -> Value:
        if lanes == 1:
            return value
        if value.dtype == BOOL:
            number = DTYPES["int8"]
            negated = self._local(Value(f"({self.dialect.scalar(number)})(-{value.text})", number, 1))
            return Mask(self.vectors.splat(number, lanes, negated.text), BOOL, lanes, 8)
        return Value(self.vectors.splat(value.dtype, lanes, self.bound(value).text), value.dtype, lanes)

    def ramp(self, start: Value, lanes: int) -> Value:
        if lanes == 1:
            return start
        spread = self.broadcast(start, lanes)
        return Value(f"({spread.text} + {self._steps(start.dtype, lanes)})", start.dtype, lanes)

    def _steps(self, dtype: DType, lanes: int) -> str:
        return self.vectors.numbers(dtype, range(padded(lanes)))

    def _masked(self, value: Value, bits: int) -> Value:
        """A vector of bools as a mask of this width."""
        assert isinstance(value, Mask), "vectors of bools are masks"
        if value.bits == bits:
            return value
        return Mask(self.vectors.convert(value.text, DTYPES[f"int{bits}"], value.lanes), BOOL, value.lanes, bits)

    def _converted(self, text: str, dtype: DType, lanes: int) -> Value:
        return Value(self.vectors.convert(text, dtype, lanes), dtype, lanes)

    def cast(self, value: Value, dtype: DType) -> Value:
        if value.lanes == 1:
            if dtype == BOOL:
                return Value(f"({value.text} != 0)", BOOL, 1)
            text = self.dialect.cast.format(type=self.dialect.scalar(dtype), value=value.text)
            return self._cut(text, dtype) if self.dialect.wide_integers else Value(text, dtype, 1)
        if dtype == BOOL:
            zero = self.vectors.same(value.dtype, value.lanes, "0")
            return Mask(f"({value.text} != {zero})", BOOL, value.lanes, value.dtype.bits)
        if value.dtype == BOOL:
            width = dtype.bits
            ones = self._masked(value, width)
            whole = DTYPES[f"int{width}"]
            text = f"({ones.text} & {self.vectors.same(whole, value.lanes, '1')})"
            return Value(text, dtype, value.lanes) if dtype == whole else self._converted(text, dtype, value.lanes)
        return self._converted(value.text, dtype, value.lanes)

    def bitcast(self, value: Value, dtype: DType) -> Value:
        source, target = self.vectors.name(value.dtype, value.lanes), self.vectors.name(dtype, value.lanes)
        if source == target and not (value.lanes == 1 and self.dialect.wide_integers):
            return replace(value, dtype=dtype)
        if value.lanes > 1:
            return Value(self.vectors.reinterpret(value.text, dtype, value.lanes), dtype, value.lanes)
        floats = value.dtype.bits_held.is_float != dtype.bits_held.is_float and "float16" not in (
            value.dtype.name,
            dtype.name,
        )
        template = self.dialect.bitcast if floats else self.dialect.same_width
        text = template.format(source=source, target=target, value=value.text)
        return self._cut(text, dtype) if self.dialect.wide_integers else Value(text, dtype, 1)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return Value(self.dialect.fused.format(a=a.text, b=b.text, c=c.text), c.dtype, c.lanes)

    def apply(self, function: str, arguments: Sequence[Value], dtype: DType) -> Value:
        if isinstance(arguments[0], Mask):
            return self._of_masks(function, arguments)
        first, lanes, operand = arguments[0], arguments[0].lanes, arguments[0].dtype
        texts = [a.text for a in arguments]
        if self.dialect.own_truth and operand == BOOL:
            return self._of_truths(function, texts)
        if function in _COMPARE:
            return self._truth(f"({texts[0]} {_COMPARE[function]} {texts[1]})", operand, lanes)
        if function == "is_nan":
            return self._truth(self.dialect.is_nan.format(value=self.bound(first).text), operand, lanes)
        if function == "neg":
            return self._whole(f"(-{texts[0]})", dtype, lanes)
        if function == "not":
            return Value(f"(!{texts[0]})", BOOL, 1) if dtype == BOOL else self._whole(f"(~{texts[0]})", dtype, lanes)
        if function in ("max", "min"):
            a, b = map(self.bound, arguments)
            sign = ">" if function == "max" else "<"
            return self.blend(self._truth(f"({a.text} {sign} {b.text})", operand, lanes), a, b)
        if (function, operand.name) in self.dialect.functions:
            return self._function(function, first)
        if function in ("shl", "shr") and lanes == 1:
            text = self.dialect.shift.format(value=texts[0], sign=_BINARY[function], count=texts[1])
        else:
            text = f"({texts[0]} {_BINARY[function]} {texts[1]})"
        return self._whole(text, dtype, lanes)

    def _of_truths(self, function: str, texts: Sequence[str]) -> Value:
        """Operations on truth values, where they are no numbers."""
        if function == "not":
            return Value(f"(!{texts[0]})", BOOL, 1)
        a, b = texts
        signs = {"and": "&&", "or": "||", "xor": "!=", "eq": "==", "ne": "!="}
        if function in signs:
            return Value(f"({a} {signs[function]} {b})", BOOL, 1)
        ordered = {"lt": f"(!{a} && {b})", "le": f"(!{a} || {b})", "gt": f"({a} && !{b})", "ge": f"({a} || !{b})"}
        return Value(ordered[function], BOOL, 1)

    def _truth(self, text: str, operand: DType, lanes: int) -> Value:
        return Value(text, BOOL, 1) if lanes == 1 else Mask(text, BOOL, lanes, operand.bits)

    def _whole(self, text: str, dtype: DType, lanes: int) -> Value:
        """The result of arithmetic, of its dtype alone."""
        return self._cut(text, dtype) if lanes == 1 else Value(text, dtype, lanes)

    def _cut(self, text: str, dtype: DType) -> Value:
        """A scalar that may have more bits than its dtype, brought back to it."""
        if dtype.name in self.dialect.cuts:
            text = self.dialect.cuts[dtype.name].format(value=text)
        return Value(text, dtype, 1)

    def _of_masks(self, function: str, arguments: Sequence[Value]) -> Value:
        bits = max(a.bits for a in arguments if isinstance(a, Mask))
        texts = [self._masked(a, bits).text for a in arguments]
        if function == "not":
            return Mask(f"(~{texts[0]})", BOOL, arguments[0].lanes, bits)
        # Ordering of false and true is that of 0 and 1, not of 0 and −1.
        swapped = {"lt": ">", "le": ">=", "gt": "<", "ge": "<="}
        sign = swapped.get(function) or _COMPARE.get(function) or _BINARY[function]
        return Mask(f"({texts[0]} {sign} {texts[1]})", BOOL, arguments[0].lanes, bits)

    def _function(self, function: str, value: Value) -> Value:
        """A function that C has for scalars only; the compiler makes one vector instruction of the loop."""
        name = self.dialect.functions[function, value.dtype.name]
        if value.lanes == 1 or self.dialect.functions_of_vectors:
            return Value(f"{name}({value.text})", value.dtype, value.lanes)
        return self._function_in_lanes(name, function, value)

    def _function_in_lanes(self, name: str, function: str, value: Value) -> Value:
        if function == "abs":
            bits = value.dtype.bits
            whole = DTYPES[f"int{bits}"]
            kind = self.vectors.name(whole, value.lanes)
            mask = self.vectors.splat(whole, value.lanes, self.dialect.number(2 ** (bits - 1) - 1, whole))
            return Value(f"(({self._type(value)})(({kind}){value.text} & {mask}))", value.dtype, value.lanes)
        source, result = self.bound(value), self.fresh()
        self._line(f"{self._type(value)} {result};")
        self._line(f"for (int i = 0; i < {padded(value.lanes)}; i++) {result}[i] = {name}({source.text}[i]);")
        return Value(result, value.dtype, value.lanes)

    def blend(self, condition: Value, then: Value, otherwise: Value) -> Value:
        if condition.lanes == 1:
            if isinstance(then, Mask):
                otherwise = self._masked(otherwise, then.bits)
            texts = {"condition": condition.text, "then": then.text, "otherwise": otherwise.text}
            return replace(then, text=self.dialect.choice.format(**texts))
        bits = then.bits if isinstance(then, Mask) else then.dtype.bits
        mask = self.bound(self._masked(condition, bits)).text
        if isinstance(then, Mask):
            other = self._masked(otherwise, bits)
            return replace(then, text=f"(({mask} & {then.text}) | (~{mask} & {other.text}))")
        return replace(then, text=self.vectors.blend(mask, then.text, otherwise.text, then.dtype, then.lanes))

    def branch(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        condition = self.bound(condition)
        (first, first_lines), (second, second_lines) = self._apart(then), self._apart(otherwise)
        if isinstance(first, Mask):
            second = self._masked(second, first.bits)
        if self.dialect.lazy_choice and not first_lines and not second_lines:
            texts = {"condition": condition.text, "then": first.text, "otherwise": second.text}
            return replace(first, text=self.dialect.choice.format(**texts))
        result = self.fresh()
        self._line(self.dialect.declared.format(type=self._type(first), name=result))
        self._line(f"if ({condition.text}) {{")
        self.lines += [*first_lines, "    " * (self._depth + 1) + f"{result} = {first.text};"]
        self._line("} else {")
        self.lines += [*second_lines, "    " * (self._depth + 1) + f"{result} = {second.text};"]
        self._line("}")
        return replace(first, text=result)

    def _apart(self, emit: Callable[[], Value]) -> tuple[Value, list[str]]:
        """The value and the lines that it needed."""
        outer, self.lines = self.lines, []
        self._depth += 1
        try:
            return emit(), self.lines
        finally:
            self.lines = outer
            self._depth -= 1

    def extract(self, value: Value, lane: int) -> Value:
        if isinstance(value, Mask):
            whole = DTYPES[f"int{value.bits}"]
            held = self.vectors.lane(self.bound(value).text, lane, whole)
            return Value(f"(({self.dialect.scalar(BOOL)})({held} & 1))", BOOL, 1)
        return Value(self.vectors.lane(self.bound(value).text, lane, value.dtype), value.dtype, 1)

    def slice(self, value: Value, first: int, lanes: int) -> Value:
        if lanes == 1:
            return self.extract(value, first)
        name = self.bound(value).text
        # The lanes behind the last one are padding and hold anything.
        places = [min(first + i, padded(value.lanes) - 1) for i in range(padded(lanes))]
        return replace(value, text=self.vectors.slice(name, value.dtype, value.lanes, places), lanes=lanes)

    def call(self, function: Function, arguments: Sequence[Value]) -> Value:
        return Value(f"{function.name}({', '.join(a.text for a in arguments)})", function.result.dtype, 1)

    def call_in_lanes(self, function: Function, arguments: Sequence[Value], lanes: int) -> Value:
        result = Value(self.fresh(), function.result.dtype, lanes)
        self._line(f"{self._type(result)} {result.text} = {self.vectors.zero(result.dtype, lanes)};")
        texts = ", ".join(self.vectors.lane(argument.text, "l", argument.dtype) for argument in arguments)
        place = self.vectors.lane(result.text, "l", result.dtype)
        self._line(f"for (int l = 0; l < {lanes}; l++) {place} = {function.name}({texts});")
        return result


def identifier(name: str) -> str:
    """A name that C allows; what follows it makes it unique."""
    clean = re.sub(r"\W", "_", name)
    return f"v{clean}" if not clean or clean[0].isdigit() else clean
