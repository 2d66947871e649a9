"""Memory, registers, loops and conditions in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rlx_base.dtypes import BOOL, INDEX
from rlx_compiler.emit.c_like.dialect import padded
from rlx_compiler.emit.c_like.values import CValues, Mask, identifier
from rlx_compiler.emit.spelling import Value
from rlx_compiler.loops.ir import Accumulator, Body, Buffer, Load, Store

__all__ = ["CWriter"]


class CWriter(CValues):
    """One C function."""

    def load(self, load: Load, index: Value, active: Value | None) -> Value:
        name, dtype, lanes = self.scope.buffers[load.buffer.name], load.buffer.dtype, load.lanes
        if lanes == 1:
            element = f"{name}[{index.text}]"
            return Value(element if active is None else f"({active.text} > 0 ? {element} : 0)", dtype, 1)
        if active is None and load.stride == 1 and lanes == padded(lanes):
            kind = self.vectors.name(dtype, lanes)
            # Cast to the aligned type: the two are different ones to a conditional expression.
            raw = Value(f"(({kind})*(const {kind}_u *)({name} + {index.text}))", dtype, lanes)
        else:
            index, result = self.bound(index), self.fresh()
            self._line(f"{self.vectors.name(dtype, lanes)} {result} = {{0}};")
            self._lanes(lanes, active, f"{result}[l] = {name}[{_strided(index, load.stride)}];")
            raw = Value(result, dtype, lanes)
        if dtype != BOOL:
            return raw
        return Mask(f"({raw.text} != 0)", BOOL, lanes, 8)

    def store(self, store: Store, index: Value, value: Value, active: Value | None) -> None:
        name, lanes = self.scope.buffers[store.buffer.name], value.lanes
        if isinstance(value, Mask):
            kind = self.vectors.name(BOOL, lanes)
            value = Value(f"(({kind})({self._masked(value, 8).text} & 1))", BOOL, lanes)
        if lanes == 1:
            guard = "" if active is None else f"if ({active.text} > 0) "
            self._line(f"{guard}{name}[{index.text}] = {value.text};")
        elif active is None and store.stride == 1 and lanes == padded(lanes):
            self._line(f"*({self._type(value)}_u *)({name} + {index.text}) = {value.text};")
        else:
            index, value = self.bound(index), self.bound(value)
            self._lanes(lanes, active, f"{name}[{_strided(index, store.stride)}] = {value.text}[l];")

    def _lanes(self, lanes: int, active: Value | None, body: str) -> None:
        """A loop over the lanes, or the first `active` of them."""
        end = str(lanes)
        if active is not None:
            count = self.bound(active).text
            end = f"({count} < {lanes} ? {count} : {lanes})"
        self._line(f"for (int64_t l = 0; l < {end}; l++) {body}")

    def prefetch(self, buffer: Buffer, index: Value) -> None:
        self._line(self.dialect.prefetch.format(name=self.scope.buffers[buffer.name], index=index.text))

    # ---------------------------------------------------------------- registers and control

    def declare(self, accumulator: Accumulator, place: tuple[int, ...], start: Value | None) -> Value:
        dtype, lanes = accumulator.dtype, accumulator.lanes
        value: Value = Mask("", dtype, lanes, 8) if dtype == BOOL and lanes > 1 else Value("", dtype, lanes)
        name = self.fresh("_".join([identifier(accumulator.name), *map(str, place), ""]))
        # One that is only assigned later must not look uninitialised to the compiler.
        text = "{0}" if start is None else self._as(value, start)
        self._line(f"{self._type(value)} {name} = {text};")
        return replace(value, text=name)

    def _as(self, place: Value, value: Value) -> str:
        return self._masked(value, place.bits).text if isinstance(place, Mask) else value.text

    def element(self, place: Value) -> Value:
        return place

    def reload(self) -> None:
        self._line("__atomic_signal_fence(__ATOMIC_ACQ_REL);")

    def assign(self, place: Value, value: Value) -> None:
        self._line(f"{place.text} = {self._as(place, value)};")

    def allocate(self, buffer: Buffer) -> str:
        count = 1
        for dim in buffer.shape:
            assert isinstance(dim, int), "a local buffer has a fixed size"
            count *= dim
        name = self.fresh(f"{identifier(buffer.name)}_")
        kind = self.dialect.scalar(buffer.dtype)
        self._line(self.dialect.aligned_local.format(type=kind, name=name, count=max(1, count)))
        return name

    def loop(self, var: str, start: Value, stop: Value, step: int, body: Body) -> None:
        name = self.fresh(f"{identifier(var)}_")
        advance = f"{name}++" if step == 1 else f"{name} += {step}"
        self._line(f"for (int64_t {name} = {start.text}; {name} < {stop.text}; {advance}) {{")
        self._depth += 1
        with self.inner_scope({var: Value(name, INDEX, 1)}):
            self.statements(body)
        self._depth -= 1
        self._line("}")

    def conditional(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None] | None) -> None:
        self._line(f"if ({condition.text}) {{")
        self._depth += 1
        then()
        self._depth -= 1
        if otherwise:
            self._line("} else {")
            self._depth += 1
            otherwise()
            self._depth -= 1
        self._line("}")


def _strided(index: Value, stride: int) -> str:
    return f"{index.text} + l" if stride == 1 else f"{index.text} + l * {stride}"
