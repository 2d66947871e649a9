"""Memory, registers, loops and conditions in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from rlx_base.dtypes import BOOL, INDEX
from rlx_compiler.emit.llvm.types import memory_type, value_type
from rlx_compiler.emit.llvm.values import LlvmValues, counting, memory_suffix
from rlx_compiler.emit.spelling import Value
from rlx_compiler.loops.ir import Accumulator, Body, Buffer, Load, Store

__all__ = ["LlvmWriter"]


class LlvmWriter(LlvmValues):
    """One LLVM function."""

    def _address(self, buffer: Buffer, index: Value) -> str:
        base, kind = self.scope.buffers[buffer.name], memory_type(buffer.dtype)
        pointer = self._pointer(buffer)
        return self._is(f"getelementptr inbounds {kind}, {pointer} {base}, {self.typed(index)}", INDEX, 1).text

    def _pointer(self, buffer: Buffer) -> str:
        """The type of a pointer into a buffer: a GPU has several memories."""
        if self.gpu is None:
            return "ptr"
        return {"global": "ptr addrspace(1)", "shared": "ptr addrspace(3)"}.get(buffer.space, self.gpu.stack)

    def _addresses(self, buffer: Buffer, index: Value, lanes: int, stride: int) -> str:
        """The addresses of lanes that lie `stride` elements apart."""
        base = self._address(buffer, index)
        offsets = ", ".join(f"i64 {i * stride}" for i in range(lanes))
        operation = f"getelementptr inbounds {memory_type(buffer.dtype)}, ptr {base}, <{lanes} x i64> <{offsets}>"
        return self._is(operation, INDEX, lanes).text

    def _mask(self, active: Value | None, lanes: int) -> str:
        if active is None:
            return "splat (i1 true)"
        steps = counting(INDEX, lanes)
        return self._is(f"icmp slt <{lanes} x i64> {steps}, {self.broadcast(active, lanes).text}", BOOL, lanes).text

    def load(self, load: Load, index: Value, active: Value | None) -> Value:
        buffer, lanes = load.buffer, load.lanes
        kind, align = memory_type(buffer.dtype, lanes), buffer.dtype.itemsize
        if active is None and (load.stride == 1 or lanes == 1):
            operation = f"load {kind}, {self._pointer(buffer)} {self._address(buffer, index)}, align {align}"
        elif load.stride == 1 and lanes > 1:
            arguments = [
                ("ptr", f"align {align} {self._address(buffer, index)}"),
                (f"<{lanes} x i1>", self._mask(active, lanes)),
                (kind, "zeroinitializer"),
            ]
            operation = self._intrinsic(f"llvm.masked.load.{memory_suffix(buffer.dtype, lanes)}.p0", kind, arguments)
        elif lanes > 1:
            arguments = [
                (f"<{lanes} x ptr>", f"align {align} {self._addresses(buffer, index, lanes, load.stride)}"),
                (f"<{lanes} x i1>", self._mask(active, lanes)),
                (kind, "zeroinitializer"),
            ]
            suffix = f"{memory_suffix(buffer.dtype, lanes)}.v{lanes}p0"
            operation = self._intrinsic(f"llvm.masked.gather.{suffix}", kind, arguments)
        else:
            assert active is not None
            return self._guarded_load(buffer, index, active)
        raw = self._is(operation, buffer.dtype, lanes)
        return self._from_memory(raw)

    def _guarded_load(self, buffer: Buffer, index: Value, active: Value) -> Value:
        """One element, or 0 where `active` is 0."""
        condition = self._is(f"icmp sgt i64 {active.text}, 0", BOOL, 1)
        return self.branch(
            condition,
            lambda: self.load(Load(buffer, ()), index, None),
            lambda: Value("zeroinitializer", buffer.dtype, 1),
        )

    def _from_memory(self, raw: Value) -> Value:
        if raw.dtype != BOOL:
            return raw
        return self._is(f"icmp ne {memory_type(BOOL, raw.lanes)} {raw.text}, zeroinitializer", BOOL, raw.lanes)

    def store(self, store: Store, index: Value, value: Value, active: Value | None) -> None:
        buffer, lanes = store.buffer, value.lanes
        kind, align = memory_type(buffer.dtype, lanes), buffer.dtype.itemsize
        if buffer.dtype == BOOL:
            value = self._is(f"zext {self.typed(value)} to {kind}", BOOL, lanes)
        if active is not None and lanes == 1:
            condition = self._is(f"icmp sgt i64 {active.text}, 0", BOOL, 1)
            stored = value

            def write() -> None:
                pointer = f"{self._pointer(buffer)} {self._address(buffer, index)}"
                self._do(f"store {kind} {stored.text}, {pointer}, align {align}")

            self.conditional(condition, write, None)
        elif active is None and (store.stride == 1 or lanes == 1):
            pointer = f"{self._pointer(buffer)} {self._address(buffer, index)}"
            self._do(f"store {kind} {value.text}, {pointer}, align {align}")
        elif store.stride == 1:
            arguments = [
                (kind, value.text),
                ("ptr", f"align {align} {self._address(buffer, index)}"),
                (f"<{lanes} x i1>", self._mask(active, lanes)),
            ]
            name = f"llvm.masked.store.{memory_suffix(buffer.dtype, lanes)}.p0"
            self._do(self._intrinsic(name, "void", arguments))
        else:
            arguments = [
                (kind, value.text),
                (f"<{lanes} x ptr>", f"align {align} {self._addresses(buffer, index, lanes, store.stride)}"),
                (f"<{lanes} x i1>", self._mask(active, lanes)),
            ]
            name = f"llvm.masked.scatter.{memory_suffix(buffer.dtype, lanes)}.v{lanes}p0"
            self._do(self._intrinsic(name, "void", arguments))

    def prefetch(self, buffer: Buffer, index: Value) -> None:
        if self.gpu is not None:
            return
        base, kind = self.scope.buffers[buffer.name], memory_type(buffer.dtype)
        # Not `inbounds`: it may point behind the buffer.
        address = self._is(f"getelementptr {kind}, ptr {base}, i64 {index.text}", INDEX, 1)
        # For reading, into all caches but the first, of data.
        hints = [("ptr", address.text), ("i32", "0"), ("i32", "2"), ("i32", "1")]
        self._do(self._intrinsic("llvm.prefetch.p0", "void", hints))

    # ---------------------------------------------------------------- registers and control

    def declare(self, accumulator: Accumulator, place: tuple[int, ...], start: Value | None) -> Value:
        stem = "_".join(map(str, (accumulator.name, *place)))
        name = f"%{self.fresh(f'{stem}.')}"
        self.allocas.append(f"  {name} = alloca {value_type(accumulator.dtype, accumulator.lanes)}{self.stack_space}")
        declared = Value(name, accumulator.dtype, accumulator.lanes)
        if start is not None:
            self.assign(declared, start)
        return declared

    def element(self, place: Value) -> Value:
        return self._is(f"load {self.type(place)}, {self.stack} {place.text}", place.dtype, place.lanes)

    def reload(self) -> None:
        if self.gpu is None:
            self._do('fence syncscope("singlethread") acq_rel')

    def barrier(self) -> None:
        assert self.gpu is not None, "only the threads of a GPU's block meet"
        self.intrinsics.add(self.gpu.barrier)
        self._do(self.gpu.barrier_call)

    def assign(self, place: Value, value: Value) -> None:
        self._do(f"store {self.typed(value)}, {self.stack} {place.text}")

    def allocate(self, buffer: Buffer) -> str:
        count = 1
        for dim in buffer.shape:
            assert isinstance(dim, int), "a local buffer has a fixed size"
            count *= dim
        kind = f"[{max(1, count)} x {memory_type(buffer.dtype)}]"
        if buffer.space == "shared":
            name = f"@{self.symbol}.{self.fresh('shared')}"
            self.outside.append(f"{name} = internal addrspace(3) global {kind} poison, align 64")
            return name
        name = f"%{self.fresh(f'{buffer.name}.')}"
        self.allocas.append(f"  {name} = alloca {kind}, align 64{self.stack_space}")
        return name

    def loop(self, var: str, start: Value, stop: Value, step: int, body: Body) -> None:
        """Tested once before it and then at its end, so that an iteration costs one jump."""
        before = self._block
        head, latch, end = self.fresh("loop"), self.fresh("latch"), self.fresh("end")
        kind = self.type(start)
        entered = self._is(f"icmp slt {kind} {start.text}, {stop.text}", BOOL, 1)
        self._do(f"br i1 {entered.text}, label %{head}, label %{end}")
        self._begin(head)
        counter, following = f"%{self.fresh(f'{var}.')}", f"%{self.fresh('next')}"
        self._do(f"{counter} = phi {kind} [ {start.text}, %{before} ], [ {following}, %{latch} ]")
        with self.inner_scope({var: Value(counter, start.dtype, 1)}):
            self.statements(body)
        self._go(latch)
        self._begin(latch)
        self._do(f"{following} = add nsw {kind} {counter}, {step}")
        again = self._is(f"icmp slt {kind} {following}, {stop.text}", BOOL, 1)
        self._do(f"br i1 {again.text}, label %{head}, label %{end}")
        self._begin(end)

    def conditional(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None] | None) -> None:
        yes, end = self.fresh("then"), self.fresh("join")
        no = self.fresh("else") if otherwise else end
        self._do(f"br i1 {condition.text}, label %{yes}, label %{no}")
        self._begin(yes)
        then()
        self._go(end)
        if otherwise:
            self._begin(no)
            otherwise()
            self._go(end)
        self._begin(end)
