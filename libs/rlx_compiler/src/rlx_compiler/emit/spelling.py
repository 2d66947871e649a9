"""What an emitter for a language must be able to spell: one method for each thing that the loop IR can say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rlx_base.dtypes import DType
from rlx_compiler.loops.ir import Accumulator, Body, Buffer, Literal, Load, Store
from rlx_compiler.math import Function

__all__ = ["Spelling", "Value"]


@dataclass(frozen=True, slots=True)
class Value:
    """A computed value: how the target's text refers to it."""

    text: str
    dtype: DType
    lanes: int


class Spelling(ABC):
    """Each method emits what it must and gives the value; `writer.Writer` decides when each is called."""

    @abstractmethod
    def bound(self, value: Value) -> Value:
        """The value under a name, so that using it twice does not compute it twice."""

    @abstractmethod
    def named(self, name: str, value: Value) -> Value:
        """The same for a `Let`, whose name should be recognisable."""

    @abstractmethod
    def literal(self, literal: Literal) -> Value: ...

    @abstractmethod
    def size(self, place: int) -> Value: ...

    @abstractmethod
    def load(self, load: Load, index: Value, active: Value | None) -> Value: ...

    @abstractmethod
    def store(self, store: Store, index: Value, value: Value, active: Value | None) -> None: ...

    @abstractmethod
    def broadcast(self, value: Value, lanes: int) -> Value: ...

    @abstractmethod
    def ramp(self, start: Value, lanes: int) -> Value: ...

    @abstractmethod
    def cast(self, value: Value, dtype: DType) -> Value: ...

    @abstractmethod
    def bitcast(self, value: Value, dtype: DType) -> Value: ...

    @abstractmethod
    def fma(self, a: Value, b: Value, c: Value) -> Value: ...

    @abstractmethod
    def apply(self, function: str, arguments: Sequence[Value], dtype: DType) -> Value:
        """One of the functions that `legalize` leaves."""

    @abstractmethod
    def blend(self, condition: Value, then: Value, otherwise: Value) -> Value: ...

    @abstractmethod
    def branch(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value: ...

    @abstractmethod
    def extract(self, value: Value, lane: int) -> Value: ...

    @abstractmethod
    def slice(self, value: Value, first: int, lanes: int) -> Value: ...

    @abstractmethod
    def call(self, function: Function, arguments: Sequence[Value]) -> Value: ...

    @abstractmethod
    def call_in_lanes(self, function: Function, arguments: Sequence[Value], lanes: int) -> Value:
        """A function of scalars for each lane, in a loop: it is long, and seldom called."""

    @abstractmethod
    def declare(self, accumulator: Accumulator, place: tuple[int, ...], start: Value | None) -> Value: ...

    @abstractmethod
    def element(self, place: Value) -> Value: ...

    @abstractmethod
    def assign(self, place: Value, value: Value) -> None: ...

    @abstractmethod
    def reload(self) -> None:
        """Loads from here on are not to be merged with those before."""

    @abstractmethod
    def prefetch(self, buffer: Buffer, index: Value) -> None:
        """A hint, which a target without caches leaves out."""

    @abstractmethod
    def barrier(self) -> None: ...

    @abstractmethod
    def allocate(self, buffer: Buffer) -> str: ...

    @abstractmethod
    def loop(self, var: str, start: Value, stop: Value, step: int, body: Body) -> None: ...

    @abstractmethod
    def conditional(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None] | None) -> None: ...
