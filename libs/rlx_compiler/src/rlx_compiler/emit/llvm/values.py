"""Values in LLVM IR: constants, arithmetic, choices and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rlx_base.dtypes import BOOL, INDEX, DType
from rlx_compiler.emit.llvm.gpu import Gpu
from rlx_compiler.emit.llvm.types import constant, value_type
from rlx_compiler.emit.spelling import Value
from rlx_compiler.emit.writer import Writer
from rlx_compiler.loops.ir import Literal
from rlx_compiler.math import Function
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["LlvmValues", "counting", "memory_suffix"]

# Two operands of one type: by kind of dtype.
_FLOAT: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER: Final = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "shl": "shl"}
_BY_SIGN: Final = {
    "quotient": ("sdiv", "udiv"),
    "remainder": ("srem", "urem"),
    "shr": ("ashr", "lshr"),
}
_COMPARE_FLOAT: Final = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INTRINSIC: Final = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven"}


class LlvmValues(Writer):
    """One LLVM function. `allocas` belong at its very beginning; `intrinsics` must be declared beside it."""

    def __init__(self, spec: TargetSpec, dims: Sequence[str], gpu: Gpu | None = None, symbol: str = "") -> None:
        super().__init__(spec, dims)
        self.gpu, self.symbol = gpu, symbol
        self.stack = "ptr" if gpu is None else gpu.stack
        self.stack_space = self.stack.removeprefix("ptr").replace(" ", ", ", 1)
        self.outside: list[str] = []  # lines that stand before the function
        self.allocas: list[str] = []
        self.intrinsics: set[str] = set()
        self._block = "entry"

    # ---------------------------------------------------------------- building blocks

    def _is(self, operation: str, dtype: DType, lanes: int) -> Value:
        """A new value: `%t = operation`."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {operation}")
        return Value(name, dtype, lanes)

    def _do(self, operation: str) -> None:
        self.lines.append(f"  {operation}")

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._block = label

    def _go(self, label: str) -> None:
        self._do(f"br label %{label}")

    def _intrinsic(self, name: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A call of an intrinsic, with (type, text) arguments."""
        self.intrinsics.add(f"declare {result} @{name}({', '.join(kind for kind, _ in arguments)})")
        return f"call {result} @{name}({', '.join(f'{kind} {text}' for kind, text in arguments)})"

    @staticmethod
    def type(value: Value) -> str:
        return value_type(value.dtype, value.lanes)

    def typed(self, value: Value) -> str:
        return f"{self.type(value)} {value.text}"

    # ---------------------------------------------------------------- values

    def bound(self, value: Value) -> Value:
        return value

    def named(self, name: str, value: Value) -> Value:
        return value

    def literal(self, literal: Literal) -> Value:
        return Value(constant(literal.value, literal.dtype), literal.dtype, 1)

    def size(self, place: int) -> Value:
        address = self._is(f"getelementptr inbounds i64, ptr %dims, i64 {place}", INDEX, 1)
        return self._is(f"load i64, ptr {address.text}, align 8, !invariant.load !0", INDEX, 1)

    def broadcast(self, value: Value, lanes: int) -> Value:
        if lanes == 1:
            return value
        scalar = value_type(value.dtype)
        if not value.text.startswith("%"):
            return Value(f"splat ({scalar} {value.text})", value.dtype, lanes)
        kind = value_type(value.dtype, lanes)
        first = self._is(f"insertelement {kind} poison, {scalar} {value.text}, i64 0", value.dtype, lanes)
        mask = f"<{lanes} x i32> zeroinitializer"
        return self._is(f"shufflevector {kind} {first.text}, {kind} poison, {mask}", value.dtype, lanes)

    def ramp(self, start: Value, lanes: int) -> Value:
        if lanes == 1:
            return start
        spread = self.broadcast(start, lanes)
        if start.dtype.is_float:
            steps = ", ".join(f"{value_type(start.dtype)} {constant(i, start.dtype)}" for i in range(lanes))
            return self._is(f"fadd {self.typed(spread)}, <{steps}>", start.dtype, lanes)
        return self._is(f"add {self.typed(spread)}, {counting(start.dtype, lanes)}", start.dtype, lanes)

    def cast(self, value: Value, dtype: DType) -> Value:
        source, kind = value.dtype, value_type(dtype, value.lanes)
        if dtype == BOOL:
            compare = "fcmp une" if source.is_float else "icmp ne"
            return self._is(f"{compare} {self.typed(value)}, zeroinitializer", BOOL, value.lanes)
        if source.is_float and dtype.is_float:
            operation = "fpext" if dtype.bits > source.bits else "fptrunc"
        elif source.is_float:
            operation = "fptosi" if dtype.kind == "int" else "fptoui"
            raw = self._is(f"{operation} {self.typed(value)} to {kind}", dtype, value.lanes)
            # Out of range it is poison, which must not spread; any number will do.
            return self._is(f"freeze {kind} {raw.text}", dtype, value.lanes)
        elif dtype.is_float:
            operation = "sitofp" if source.kind == "int" else "uitofp"
        elif source == BOOL:
            operation = "zext"
        elif dtype.bits == source.bits:
            return Value(value.text, dtype, value.lanes)
        elif dtype.bits < source.bits:
            operation = "trunc"
        else:
            operation = "sext" if source.kind == "int" else "zext"
        return self._is(f"{operation} {self.typed(value)} to {kind}", dtype, value.lanes)

    def bitcast(self, value: Value, dtype: DType) -> Value:
        kind = value_type(dtype, value.lanes)
        if kind == self.type(value):
            return Value(value.text, dtype, value.lanes)
        return self._is(f"bitcast {self.typed(value)} to {kind}", dtype, value.lanes)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        kind = self.type(c)
        name = f"llvm.fmuladd.{_suffix(c.dtype, c.lanes)}"
        return self._is(self._intrinsic(name, kind, [(kind, v.text) for v in (a, b, c)]), c.dtype, c.lanes)

    def apply(self, function: str, arguments: Sequence[Value], dtype: DType) -> Value:
        first = arguments[0]
        operand, lanes, kind = first.dtype, first.lanes, self.type(first)
        rest = "".join(f", {a.text}" for a in arguments[1:])
        if function in _COMPARE_FLOAT:
            if operand.is_float:
                return self._is(f"fcmp {_COMPARE_FLOAT[function]} {kind} {first.text}{rest}", BOOL, lanes)
            sign = "" if function in ("eq", "ne") else "s" if operand.kind == "int" else "u"
            return self._is(f"icmp {sign}{function} {kind} {first.text}{rest}", BOOL, lanes)
        if function == "is_nan":
            return self._is(f"fcmp uno {kind} {first.text}, {first.text}", BOOL, lanes)
        if function == "neg":
            operation = f"fneg {kind} {first.text}" if operand.is_float else f"sub {kind} zeroinitializer, {first.text}"
            return self._is(operation, dtype, lanes)
        if function == "not":
            return self._is(f"xor {kind} {first.text}, {_ones(operand, lanes)}", dtype, lanes)
        if function in _INTRINSIC and operand.is_float:
            call = self._intrinsic(f"llvm.{_INTRINSIC[function]}.{_suffix(operand, lanes)}", kind, [(kind, first.text)])
            return self._is(call, dtype, lanes)
        if function in ("max", "min"):
            name = f"llvm.{'s' if operand.kind == 'int' else 'u'}{function}.{_suffix(operand, lanes)}"
            return self._is(self._intrinsic(name, kind, [(kind, a.text) for a in arguments]), dtype, lanes)
        if function in _BY_SIGN:
            operation = _BY_SIGN[function][operand.kind == "uint"]
        else:
            operation = (_FLOAT if operand.is_float else _INTEGER)[function]
        return self._is(f"{operation} {kind} {first.text}{rest}", dtype, lanes)

    def blend(self, condition: Value, then: Value, otherwise: Value) -> Value:
        return self._is(
            f"select {self.typed(condition)}, {self.typed(then)}, {self.typed(otherwise)}", then.dtype, then.lanes
        )

    def branch(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
        yes, no, end = self.fresh("then"), self.fresh("else"), self.fresh("join")
        self._do(f"br i1 {condition.text}, label %{yes}, label %{no}")
        self._begin(yes)
        first = then()
        yes_end = self._block
        self._go(end)
        self._begin(no)
        second = otherwise()
        no_end = self._block
        self._go(end)
        self._begin(end)
        return self._is(
            f"phi {self.type(first)} [ {first.text}, %{yes_end} ], [ {second.text}, %{no_end} ]",
            first.dtype,
            first.lanes,
        )

    def extract(self, value: Value, lane: int) -> Value:
        return self._is(f"extractelement {self.typed(value)}, i64 {lane}", value.dtype, 1)

    def slice(self, value: Value, first: int, lanes: int) -> Value:
        if lanes == 1:
            return self.extract(value, first)
        kind = self.type(value)
        mask = ", ".join(f"i32 {i}" for i in range(first, first + lanes))
        return self._is(
            f"shufflevector {kind} {value.text}, {kind} poison, <{lanes} x i32> <{mask}>", value.dtype, lanes
        )

    def call(self, function: Function, arguments: Sequence[Value]) -> Value:
        result = function.result
        texts = ", ".join(map(self.typed, arguments))
        return self._is(f"call {value_type(result.dtype)} @{function.name}({texts})", result.dtype, 1)

    def call_in_lanes(self, function: Function, arguments: Sequence[Value], lanes: int) -> Value:
        places = [self._spilled(argument) for argument in arguments]
        result = Value(self._stack(function.result.dtype, lanes), function.result.dtype, lanes)
        before, head, end = self._block, self.fresh("lanes"), self.fresh("end")
        self._go(head)
        self._begin(head)
        lane, following = f"%{self.fresh('lane')}", f"%{self.fresh('next')}"
        self._do(f"{lane} = phi i64 [ 0, %{before} ], [ {following}, %{head} ]")
        scalars = []
        for argument, place in zip(arguments, places, strict=True):
            kind = value_type(argument.dtype)
            address = self._is(f"getelementptr inbounds {kind}, {self.stack} {place}, i64 {lane}", INDEX, 1)
            scalars.append(self._is(f"load {kind}, {self.stack} {address.text}", argument.dtype, 1))
        value = self.call(function, scalars)
        place = f"getelementptr inbounds {self.type(value)}, {self.stack} {result.text}, i64 {lane}"
        self._do(f"store {self.typed(value)}, {self.stack} {self._is(place, INDEX, 1).text}")
        self._do(f"{following} = add nsw i64 {lane}, 1")
        again = self._is(f"icmp slt i64 {following}, {lanes}", BOOL, 1)
        self._do(f"br i1 {again.text}, label %{head}, label %{end}")
        self._begin(end)
        return self.element(result)

    def _stack(self, dtype: DType, lanes: int) -> str:
        name = f"%{self.fresh('stack')}"
        self.allocas.append(f"  {name} = alloca {value_type(dtype, lanes)}{self.stack_space}")
        return name

    def _spilled(self, value: Value) -> str:
        """Where the value lies in memory."""
        name = self._stack(value.dtype, value.lanes)
        self._do(f"store {self.typed(value)}, {self.stack} {name}")
        return name


def _suffix(dtype: DType, lanes: int) -> str:
    """How the name of an overloaded intrinsic ends."""
    scalar = f"{'f' if dtype.is_float else 'i'}{1 if dtype == BOOL else dtype.bits}"
    return scalar if lanes == 1 else f"v{lanes}{scalar}"


def memory_suffix(dtype: DType, lanes: int) -> str:
    return f"v{lanes}i8" if dtype == BOOL else _suffix(dtype, lanes)


def _ones(dtype: DType, lanes: int) -> str:
    """All bits set."""
    one = "true" if dtype == BOOL else "-1"
    return one if lanes == 1 else f"splat ({value_type(dtype)} {one})"


def counting(dtype: DType, lanes: int) -> str:
    """0, 1, 2, … without its type."""
    return f"<{', '.join(f'{value_type(dtype)} {i}' for i in range(lanes))}>"
