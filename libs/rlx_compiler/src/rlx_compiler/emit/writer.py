"""The walk over a kernel that all emitters share: scopes, shared parts, laziness. A subclass spells the operations.

Expressions are graphs: a part that two others use is one Python object, and is emitted once per statement. The side
of a lazy `Select` is a scope of its own, since what is computed in it does not exist outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rlx_base.dtypes import INDEX
from rlx_base.errors import InternalError
from rlx_compiler.emit.spelling import Spelling, Value
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Barrier,
    Bitcast,
    Body,
    Broadcast,
    Buffer,
    Cast,
    Element,
    Expr,
    Fma,
    Fold,
    For,
    If,
    Let,
    Literal,
    Load,
    Prefetch,
    Ramp,
    Select,
    Size,
    Stmt,
    Store,
    Var,
)
from rlx_compiler.math import Call, Function, legalize
from rlx_compiler.math.graph import all_parts, shared_parts, touches_memory
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["BLOCK", "THREAD", "THREADS", "Writer"]


@dataclass(slots=True)
class _Scope:
    """What a body can name."""

    values: dict[str, Value] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[str, tuple[int, ...]], Value] = field(default_factory=dict)

    def inner(self) -> _Scope:
        return _Scope(dict(self.values), dict(self.buffers), dict(self.places))


class Writer(Spelling):
    """Emits one function. `lines` is its body so far; `called` are the functions it needs beside it."""

    def __init__(self, spec: TargetSpec, dims: Sequence[str]) -> None:
        self.spec = spec
        self.dims = tuple(dims)
        self.lines: list[str] = []
        self.called: dict[str, Function] = {}
        self.scope = _Scope()
        self._memo: dict[int, Value] = {}
        self._shared: frozenset[int] = frozenset()
        self._count = 0

    def fresh(self, stem: str = "t") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{stem}{self._count}"

    # ---------------------------------------------------------------- expressions

    def value(self, expr: Expr) -> Value:
        """Emits a whole expression of one statement."""
        lowered = legalize(expr, self.spec)
        self._memo, self._shared = {}, shared_parts(lowered)
        result = self.evaluate(lowered)
        # Both are keyed by identity: they must not outlive `lowered`.
        self._memo, self._shared = {}, frozenset()
        return result

    def evaluate(self, expr: Expr) -> Value:
        """Emits a part of the expression that `value` was given, once."""
        if (known := self._memo.get(id(expr))) is not None:
            return known
        result = self._emit(expr)
        if id(expr) in self._shared:
            result = self.bound(result)
            self._memo[id(expr)] = result
        return result

    def _emit(self, expr: Expr) -> Value:
        match expr:
            case Literal():
                return self.literal(expr)
            case Var(name):
                return self.scope.values[name]
            case Size(name):
                return self.size(self.dims.index(name))
            case Load():
                active = None if expr.active is None else self.evaluate(expr.active)
                return self.load(expr, self._index(expr.buffer, expr.indices), active)
            case Broadcast(part, lanes):
                return self.broadcast(self.evaluate(part), lanes)
            case Ramp(start, lanes):
                return self.ramp(self.evaluate(start), lanes)
            case Cast(part, dtype):
                inner = self.evaluate(part)
                return inner if inner.dtype == dtype else self.cast(inner, dtype)
            case Bitcast(part, dtype):
                return self.bitcast(self.evaluate(part), dtype)
            case Fma(a, b, c):
                return self.fma(self.evaluate(a), self.evaluate(b), self.evaluate(c))
            case Apply(function, arguments, dtype):
                return self.apply(function, [self.evaluate(a) for a in arguments], dtype)
            case Select(condition, then, otherwise):
                return self._select(self.evaluate(condition), then, otherwise)
            case Fold(kind, part):
                return self._fold(kind, self.evaluate(part))
            case Element(name, places):
                return self.element(self.scope.places[name, _constant(places)])
            case Call(function, arguments):
                return self._call(function, [self.evaluate(a) for a in arguments], expr.lanes)
            case _:
                raise InternalError("E900", what=f"no emission of {type(expr).__name__}")

    def _index(self, buffer: Buffer, indices: Sequence[Expr]) -> Value:
        if len(indices) != 1:
            raise InternalError("E900", what=f"{buffer.name} is read with {len(indices)} indices after prepare")
        return self.evaluate(indices[0])

    def _select(self, condition: Value, then: Expr, otherwise: Expr) -> Value:
        if condition.lanes > 1 or not (touches_memory(then) or touches_memory(otherwise)):
            return self.blend(condition, self.evaluate(then), self.evaluate(otherwise))
        return self.branch(condition, self._side(then), self._side(otherwise))

    def _side(self, expr: Expr) -> Callable[[], Value]:
        def emit() -> Value:
            outer = dict(self._memo)
            try:
                return self.evaluate(expr)
            finally:
                self._memo = outer

        return emit

    def _fold(self, kind: str, value: Value) -> Value:
        """All lanes to one, by halves: log₂ n steps, and a pairwise sum."""
        function = {"sum": "add", "prod": "mul"}.get(kind, kind)
        rest: list[Value] = []
        while value.lanes > 1:
            value = self.bound(value)
            half = value.lanes // 2
            if value.lanes % 2:
                rest.append(self.extract(value, value.lanes - 1))
            value = self._combine(function, self.slice(value, 0, half), self.slice(value, half, half))
        for single in rest:
            value = self._combine(function, value, single)
        return value

    def _combine(self, function: str, a: Value, b: Value) -> Value:
        """One function of two computed values, through the same rewriting as any other."""
        first, second = Var(self.fresh("fold"), a.dtype, a.lanes), Var(self.fresh("fold"), b.dtype, b.lanes)
        self.scope.values |= {first.name: self.bound(a), second.name: self.bound(b)}
        return self.evaluate(legalize(Apply(function, (first, second), a.dtype), self.spec))

    def _call(self, function: Function, arguments: Sequence[Value], lanes: int) -> Value:
        self.called[function.name] = function
        if lanes == 1:
            return self.bound(self.call(function, arguments))
        return self.call_in_lanes(function, [self.bound(a) for a in arguments], lanes)

    # ---------------------------------------------------------------- statements

    def statements(self, body: Body) -> None:
        """Emits a body in the current scope."""
        read: set[Load] = set()
        for statement in body:
            self._separate(statement, read)
            self._statement(statement)

    @contextmanager
    def inner_scope(self, values: Mapping[str, Value] | None = None) -> Iterator[None]:
        """What is bound inside is gone afterwards."""
        outer, self.scope = self.scope, self.scope.inner()
        self.scope.values |= values or {}
        try:
            yield
        finally:
            self.scope = outer

    def _separate(self, statement: Stmt, read: set[Load]) -> None:
        """Keeps a sum that reads an element again from sharing the register of the sum before that read it.

        The nest was planned to read it again, often for nothing, as an operand of the multiply-add. A compiler that
        merges the loads must keep each value in between, and there are no registers left for that.
        """
        if isinstance(statement, For | If | Store):
            read.clear()
        if not isinstance(statement, Assign | Let):
            return
        loads = {part for part in all_parts(statement.value) if isinstance(part, Load)}
        if loads & read:
            self.reload()
            read.clear()
        read |= loads

    def _statement(self, statement: Stmt) -> None:
        match statement:
            case Let(name, expr):
                self.scope.values[name] = self.named(name, self.value(expr))
            case Store():
                # One walk for all parts, so that what they share is emitted once.
                index = self.value(statement.indices[0])
                active = None if statement.active is None else self.value(statement.active)
                self.store(statement, index, self.value(statement.value), active)
            case Accumulator(name, _, _, shape, initial):
                start = None if initial is None else self.bound(self.value(initial))
                for place in _places(shape):
                    self.scope.places[name, place] = self.declare(statement, place, start)
            case Assign(name, places, expr):
                self.assign(self.scope.places[name, _constant(places)], self.value(expr))
            case Allocate(buffer):
                self.scope.buffers[buffer.name] = self.allocate(buffer)
            case Prefetch(buffer, indices):
                self.prefetch(buffer, self.value(indices[0]))
            case For(kind="serial" | "parallel"):
                self._for(statement)
            case For(var, kind="block" | "thread"):
                with self.inner_scope({var: self.scope.values[BLOCK if statement.kind == "block" else THREAD]}):
                    self.statements(statement.body)
            case Barrier():
                self.barrier()
            case If(condition, then, otherwise):
                self._if(self.value(condition), then, otherwise)
            case _:
                raise InternalError("E900", what=f"no emission of {type(statement).__name__}")

    def _for(self, loop: For) -> None:
        start, stop = self._share(loop) if loop.kind == "parallel" else (self.value(loop.start), self.value(loop.stop))
        self.loop(loop.var, self.bound(start), self.bound(stop), loop.step, loop.body)

    def _if(self, condition: Value, then: Body, otherwise: Body) -> None:
        def emit(body: Body) -> Callable[[], None]:
            def run() -> None:
                with self.inner_scope():
                    self.statements(body)

            return run

        self.conditional(condition, emit(then), emit(otherwise) if otherwise else None)

    def _share(self, loop: For) -> tuple[Value, Value]:
        """This thread's contiguous part of the iterations start, start + step, … < stop."""
        start, stop = self._bound_index(loop.start), self._bound_index(loop.stop)
        # Never negative: the loop may not run at all.
        steps = build.maximum(build.add(build.sub(stop, start), loop.step - 1), 0)
        count = self._bound_index(_quotient(steps, build.index(loop.step)))

        def boundary(thread: Expr) -> Expr:
            done = _quotient(build.mul(count, thread), Var(THREADS))
            return build.add(start, build.mul(done, loop.step))

        first, last = boundary(Var(THREAD)), boundary(build.add(Var(THREAD), 1))
        # The last boundary lies behind stop where step does not divide the span.
        return self.value(first), self.value(build.minimum(last, stop))

    def _bound_index(self, expr: Expr) -> Expr:
        """A number as it is; anything else computed once and named."""
        if isinstance(expr, Literal):
            return expr
        name = self.fresh("bound")
        self.scope.values[name] = self.bound(self.value(expr))
        return Var(name)


# The names by which a kernel's scope knows which member of the team, or which thread of which block, runs it.
THREAD = "thread.index"
BLOCK = "block.index"
THREADS = "thread.count"


def _quotient(a: Expr, b: Expr) -> Expr:
    """a ÷ b of numbers that are not negative, b > 0."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return build.index(int(a.value) // int(b.value))
    return a if b == build.index(1) else Apply("quotient", (a, b), INDEX)


def _constant(places: Sequence[int | Expr]) -> tuple[int, ...]:
    constant = tuple(place.value if isinstance(place, Literal) else place for place in places)
    if not all(isinstance(place, int) for place in constant):
        raise InternalError("E900", what="the place of an accumulator is not a constant after prepare")
    return tuple(int(place) for place in constant if isinstance(place, int))


def _places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _places(shape[1:]):
            yield (first, *rest)
