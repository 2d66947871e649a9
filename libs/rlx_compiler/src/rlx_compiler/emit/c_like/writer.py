"""Memory, registers, loops and conditions in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rlx_base.dtypes import BOOL, DTYPES, INDEX, DType
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
            if active is None:
                return self._loaded(f"{name}[{self._place(index)}]", dtype)
            return self.branch(
                Value(f"({active.text} > 0)", BOOL, 1),
                lambda: self.load(Load(load.buffer, ()), index, None),
                lambda: Value(self.dialect.number(0, dtype), dtype, 1),
            )
        if active is None and load.stride == 1 and lanes == padded(lanes):
            raw = Value(self.vectors.load(name, index.text, dtype, lanes), dtype, lanes)
        else:
            index, result = self.bound(index), self.fresh()
            self._line(f"{self.vectors.name(dtype, lanes)} {result} = {self.vectors.zero(dtype, lanes)};")
            place = self.vectors.lane(result, "l", dtype)
            self._lanes(lanes, active, f"{place} = {name}[{_strided(index, load.stride)}];")
            raw = Value(result, dtype, lanes)
        if dtype != BOOL:
            return raw
        return Mask(f"({raw.text} != {self.vectors.same(BOOL, lanes, '0')})", BOOL, lanes, 8)

    def store(self, store: Store, index: Value, value: Value, active: Value | None) -> None:
        name, lanes = self.scope.buffers[store.buffer.name], value.lanes
        if isinstance(value, Mask):
            ones = f"({self._masked(value, 8).text} & {self.vectors.same(DTYPES['int8'], lanes, '1')})"
            value = Value(self.vectors.reinterpret(ones, BOOL, lanes), BOOL, lanes)
        if lanes == 1:
            value = self.bound(value) if self.dialect.binds_results else value
            line = f"{name}[{self._place(index)}] = {self._kept(value, store.buffer.dtype)};"
            if active is None:
                self._line(line)
            else:
                self.conditional(Value(f"({active.text} > 0)", BOOL, 1), lambda: self._line(line), None)
        elif active is None and store.stride == 1 and lanes == padded(lanes):
            self._line(self.vectors.store(name, index.text, value.dtype, lanes, value.text))
        else:
            index, value = self.bound(index), self.bound(value)
            lane = self.vectors.lane(value.text, "l", value.dtype)
            self._lanes(lanes, active, f"{name}[{_strided(index, store.stride)}] = {lane};")

    def _place(self, index: Value) -> str:
        """How an index is written where an element is meant."""
        return self.dialect.place.format(index=index.text)

    def _loaded(self, element: str, dtype: DType) -> Value:
        """An element of memory as a value."""
        stored = self.dialect.stored.get(dtype.bits_held.name)
        if stored is None or stored == self.dialect.scalar(dtype):
            return Value(element, dtype, 1)
        if dtype == BOOL:
            return Value(f"({element} != {self.dialect.number(0, DTYPES['uint8'])})", BOOL, 1)
        return Value(self.dialect.cast.format(type=self.dialect.scalar(dtype), value=element), dtype, 1)

    def _kept(self, value: Value, dtype: DType) -> str:
        """A value as an element of memory."""
        stored = self.dialect.stored.get(dtype.bits_held.name)
        if stored is None or stored == self.dialect.scalar(dtype):
            return value.text
        return self.dialect.cast.format(type=stored, value=value.text)

    def _lanes(self, lanes: int, active: Value | None, body: str) -> None:
        """A loop over the lanes, or the first `active` of them."""
        end = str(lanes)
        if active is not None:
            count = self.bound(active).text
            end = f"({count} < {lanes} ? {count} : {lanes})"
        self._line(f"for ({self.dialect.scalar(INDEX)} l = 0; l < {end}; l++) {body}")

    def prefetch(self, buffer: Buffer, index: Value) -> None:
        if self.dialect.prefetch:
            self._line(self.dialect.prefetch.format(name=self.scope.buffers[buffer.name], index=index.text))

    # ---------------------------------------------------------------- registers and control

    def declare(self, accumulator: Accumulator, place: tuple[int, ...], start: Value | None) -> Value:
        dtype, lanes = accumulator.dtype, accumulator.lanes
        value: Value = Mask("", dtype, lanes, 8) if dtype == BOOL and lanes > 1 else Value("", dtype, lanes)
        name = self.fresh("_".join([identifier(accumulator.name), *map(str, place), ""]))
        # One that is only assigned later must not look uninitialised to the compiler.
        if start is not None:
            text = self._as(value, start)
        elif lanes > 1:
            text = self.vectors.zero(dtype, lanes)
        else:
            text = self.dialect.unset.format(type=self._type(value))
        self._line(self.dialect.mutable.format(type=self._type(value), name=name, value=text))
        return replace(value, text=name)

    def _as(self, place: Value, value: Value) -> str:
        return self._masked(value, place.bits).text if isinstance(place, Mask) else value.text

    def element(self, place: Value) -> Value:
        return place

    def reload(self) -> None:
        if self.dialect.fence:
            self._line(self.dialect.fence)

    def barrier(self) -> None:
        self._line(self.dialect.barrier)

    def assign(self, place: Value, value: Value) -> None:
        self._line(f"{place.text} = {self._as(place, value)};")

    def allocate(self, buffer: Buffer) -> str:
        count = 1
        for dim in buffer.shape:
            assert isinstance(dim, int), "a local buffer has a fixed size"
            count *= dim
        name = self.fresh(f"{identifier(buffer.name)}_")
        kind = self.dialect.memory(buffer.dtype)
        if buffer.space == "shared":
            if self.dialect.shared_outside:
                name = f"{self.prefix}_{name}"
            line = self.dialect.shared_array.format(type=kind, name=name, count=max(1, count))
            if self.dialect.shared_outside:
                self.outside.append(line)
            else:
                self._line(line)
        else:
            self._line(self.dialect.local_array.format(type=kind, name=name, count=max(1, count)))
        return name

    def loop(self, var: str, start: Value, stop: Value, step: int, body: Body) -> None:
        name = self.fresh(f"{identifier(var)}_")
        advance = f"{name}++" if step == 1 else f"{name} += {step}"
        head = {"type": self.dialect.scalar(start.dtype), "name": name, "start": start.text, "stop": stop.text}
        self._line(self.dialect.counted.format(**head, advance=advance))
        self._depth += 1
        with self.inner_scope({var: Value(name, start.dtype, 1)}):
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
