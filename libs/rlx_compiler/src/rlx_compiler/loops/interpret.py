"""Running loop IR in Python: slow and exact, so that lowering is tested apart from every emitter.

Reads and writes out of bounds raise, which compiled code cannot do; so does reading what nothing has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import INDEX
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
    Kernel,
    Let,
    Literal,
    Load,
    Ramp,
    Select,
    Size,
    Store,
    Var,
)
from rlx_compiler.loops.program import Argument, Program
from rlx_compiler.loops.rewrite import statements
from rlx_ir.elements import numpy_of
from rlx_ir.scalar import SCALARS

__all__ = ["run_kernel", "run_program"]

Array = NDArray[Any]
_FOLDS: dict[str, Any] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
_SHIFTS: dict[str, Any] = {"shl": np.left_shift, "shr": np.right_shift}


class _Frame:
    """Names in scope, accumulators and memory of one kernel call."""

    def __init__(self, buffers: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
        self.buffers = dict(buffers)
        self.sizes = sizes
        self.names: dict[str, Any] = {}
        self.accumulators: dict[str, dict[tuple[int, ...], Any]] = {}

    # --- expressions

    def index(self, expr: Expr) -> int:
        return int(self.value(expr))

    def value(self, expr: Expr) -> Any:
        match expr:
            case Literal(value, dtype):
                return int(value) if dtype == INDEX else np.asarray(value, numpy_of(dtype))[()]
            case Var(name):
                return self.names[name]
            case Size(name):
                return self.sizes[name]
            case Load(buffer, indices, lanes, stride, active):
                return self._load(buffer, indices, lanes, stride, active)
            case Broadcast(value, lanes):
                return np.repeat(np.asarray(self.value(value), numpy_of(value.dtype)), lanes)
            case Ramp(start, lanes):
                return np.asarray(self.value(start), numpy_of(start.dtype)) + np.arange(
                    lanes, dtype=numpy_of(start.dtype)
                )
            case Cast(value, dtype):
                with np.errstate(all="ignore"):
                    return np.asarray(self.value(value)).astype(numpy_of(dtype))[()]
            case Bitcast(value, dtype):
                return np.asarray(self.value(value), numpy_of(value.dtype)).view(numpy_of(dtype))[()]
            case Apply(function, arguments):
                return self._apply(function, arguments)
            case Fma(a, b, c):
                with np.errstate(all="ignore"):
                    return self.value(a) * self.value(b) + self.value(c)
            case Select(condition, then, otherwise):
                if condition.lanes == 1:
                    return self.value(then if self.value(condition) else otherwise)
                return np.where(self.value(condition), self.value(then), self.value(otherwise))
            case Fold(kind, value):
                with np.errstate(all="ignore"):
                    return np.asarray(_FOLDS[kind](self.value(value))).astype(numpy_of(value.dtype))[()]
            case Element(name, places):
                return self.accumulators[name][self._places(places)]
        raise TypeError(f"not an expression: {expr!r}")

    def _apply(self, function: str, arguments: tuple[Expr, ...]) -> Any:
        values = [self.value(a) for a in arguments]
        if arguments[0].dtype == INDEX and all(isinstance(v, int) for v in values):
            values = [np.int64(v) for v in values]
        meaning = _SHIFTS.get(function) or SCALARS[function].apply
        with np.errstate(all="ignore"):
            result = np.asarray(meaning(*values))
        if function not in _SHIFTS and SCALARS[function].rule == "same":
            result = result.astype(numpy_of(arguments[0].dtype))
        return result[()]

    def _places(self, places: tuple[int | Expr, ...]) -> tuple[int, ...]:
        return tuple(p if isinstance(p, int) else self.index(p) for p in places)

    # --- memory

    def _offsets(
        self, buffer: Buffer, indices: tuple[Expr, ...], lanes: int, stride: int, active: Expr | None
    ) -> list[int]:
        """The linear offsets of the lanes that are touched. Raises IndexError where one is out of bounds."""
        whole = self.buffers[buffer.name].size
        if len(indices) == 1:
            first = self.index(indices[0])
        else:
            first = 0
            for index, dim in zip(indices, buffer.shape, strict=True):
                assert isinstance(dim, int)
                place = self.index(index)
                if not 0 <= place < dim:
                    raise IndexError(f"{buffer.name}: index {place} of a dimension of {dim}")
                first = first * dim + place
        touched = lanes if active is None else min(lanes, self.index(active))
        offsets = [first + lane * stride for lane in range(touched)]
        if any(not 0 <= offset < whole for offset in offsets):
            raise IndexError(f"{buffer.name}: offsets {offsets[0]}…{offsets[-1]} of {whole} elements")
        return offsets

    def _load(self, buffer: Buffer, indices: tuple[Expr, ...], lanes: int, stride: int, active: Expr | None) -> Any:
        memory = self.buffers[buffer.name]
        offsets = self._offsets(buffer, indices, lanes, stride, active)
        if lanes == 1:
            return memory[offsets[0]] if offsets else memory.dtype.type(0)
        loaded = np.zeros(lanes, memory.dtype)
        loaded[: len(offsets)] = memory[offsets]
        return loaded

    # --- statements

    def run(self, body: Body) -> None:
        for statement in body:
            match statement:
                case Let(name, value):
                    self.names[name] = self.value(value)
                case Store(buffer, indices, value, stride, active):
                    offsets = self._offsets(buffer, indices, value.lanes, stride, active)
                    if buffer.access == "read" and buffer.space == "global":
                        raise PermissionError(f"{buffer.name} is only read")
                    stored = np.broadcast_to(np.asarray(self.value(value)), (value.lanes,))
                    assert stored.dtype == self.buffers[buffer.name].dtype, f"{buffer.name} = {value}"
                    self.buffers[buffer.name][offsets] = stored[: len(offsets)]
                case Accumulator(name, _, _, shape, initial):
                    start = None if initial is None else self.value(initial)
                    self.accumulators[name] = {} if start is None else dict.fromkeys(np.ndindex(*shape), start)
                case Assign(name, places, value):
                    self.accumulators[name][self._places(places)] = self.value(value)
                case Allocate(buffer):
                    size = int(np.prod([dim for dim in buffer.shape if isinstance(dim, int)]))
                    self.buffers[buffer.name] = np.zeros(size, numpy_of(buffer.dtype))
                case For(var, _, stop, inner, _, "thread"):
                    self._threads(var, self.index(stop), inner)
                case For(var, start, stop, inner, step):
                    for number in range(self.index(start), self.index(stop), step):
                        self.names[var] = number
                        self.run(inner)
                case If(condition, then, otherwise):
                    self.run(then if self.value(condition) else otherwise)

    # --- the threads of a block

    def _threads(self, var: str, count: int, body: Body) -> None:
        """Each thread runs to the next barrier, or to its end, before the next one does. Raises where some threads
        come to a barrier and others do not."""
        if not _meets(body):
            for number in range(count):
                self.names[var] = number
                self.run(body)
            return
        running = [self._thread({var: number})._phases(body) for number in range(count)]
        while running:
            waiting = [thread for thread in running if next(thread, None) is not None]
            if waiting and len(waiting) != len(running):
                raise RuntimeError(f"{len(waiting)} of {len(running)} threads are at a barrier")
            running = waiting

    def _thread(self, names: Mapping[str, Any]) -> _Frame:
        """A thread of this block: it sees the block's memory and has registers of its own."""
        own = _Frame(self.buffers, self.sizes)
        own.names = {**self.names, **names}
        return own

    def _phases(self, body: Body) -> Iterator[bool]:
        """Runs a body; yields at each barrier."""
        for statement in body:
            match statement:
                case Barrier():
                    yield True
                case For(var, start, stop, inner, step) if _meets(inner):
                    for number in range(self.index(start), self.index(stop), step):
                        self.names[var] = number
                        yield from self._phases(inner)
                case If(condition, then, otherwise) if _meets(then) or _meets(otherwise):
                    yield from self._phases(then if self.value(condition) else otherwise)
                case _:
                    self.run((statement,))


def _meets(body: Body) -> bool:
    return any(isinstance(statement, Barrier) for statement in statements(body))


def run_kernel(kernel: Kernel, arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None) -> None:
    """Run a kernel on flat arrays by parameter name; those it writes are changed in place."""
    _Frame(arrays, sizes or {}).run(kernel.body)


def run_program(program: Program, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Run a whole program. Inputs and outputs are logical arrays, as they are of a compiled bundle."""
    memory: dict[str, Array] = {
        "weights": np.frombuffer(program.weights_blob(), np.uint8),
        "workspace": np.full(program.workspace_bytes, 0xFF, np.uint8),  # NaN, if anything reads before it writes
    }
    given = [np.ascontiguousarray(inputs[port.name], numpy_of(port.dtype)).reshape(-1) for port in program.inputs]
    shapes = [tuple(dim for dim in port.shape if isinstance(dim, int)) for port in program.outputs]
    results = [np.zeros(int(np.prod(s)), numpy_of(p.dtype)) for s, p in zip(shapes, program.outputs, strict=True)]
    kernels = {kernel.name: kernel for kernel in program.kernels}

    def view(argument: Argument, buffer: Buffer) -> Array:
        if argument.region == "input":
            return given[argument.position]
        if argument.region == "output":
            return results[argument.position]
        count = int(np.prod([dim for dim in buffer.shape if isinstance(dim, int)]))
        start = argument.position
        region = memory[argument.region]
        assert start + count * buffer.dtype.itemsize <= region.size, f"{buffer.name} lies outside {argument.region}"
        return region[start : start + count * buffer.dtype.itemsize].view(numpy_of(buffer.dtype))

    for launch in program.launches:
        kernel = kernels[launch.kernel]
        arrays = {b.name: view(a, b) for a, b in zip(launch.arguments, kernel.params, strict=True)}
        run_kernel(kernel, arrays)
    return {
        port.name: result.reshape(shape) for port, result, shape in zip(program.outputs, results, shapes, strict=True)
    }
