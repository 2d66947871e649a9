"""`rlx_main` in LLVM IR: check the call, then each launch of the plan between a beginning and an end.

The members of a team agree on cancellation at the barrier: the one that arrives last reads the caller's flag and
leaves what it read in `rlx_barrier.reserved`, which the others read before they go on. So all stop at the same
launch, whenever the flag is set.
"""

from __future__ import annotations

import ctypes
from typing import Final

from rlx_compiler.emit.llvm.machine import Machine
from rlx_compiler.loops.program import Argument, Program, Stretch
from rlx_wire.abi import (
    ABI_VERSION,
    CLOCK_MONOTONIC,
    RLX_BAD_CALL,
    RLX_CANCELLED,
    RLX_OK,
    Barrier,
    Trace,
    call_layout,
)

__all__ = ["declarations", "entry", "kernel_symbol"]


def declarations(machine: Machine) -> frozenset[str]:
    """The intrinsics that the support functions call."""
    kind = machine.pause_argument.partition(" ")[0]
    return frozenset({f"declare void @{machine.pause}({kind})"} if machine.pause else ())


def kernel_symbol(name: str) -> str:
    """The symbol of a kernel: it can be no other function of the module."""
    return f"k_{name}"


def _at(struct: type[Barrier | Trace], name: str) -> int:
    offset: int = getattr(struct, name).offset
    return offset


_SIZE_OF_TRACE: Final = ctypes.sizeof(Trace)


def _support(machine: Machine) -> str:
    """Parts that are the same in every program. `rlx_begin` gives non-zero where the call is cancelled."""
    field = call_layout(machine.pointer_bytes).offset
    pause = f"call void @{machine.pause}({machine.pause_argument})" if machine.pause else "; nothing to pause by"
    return f"""\
define internal i64 @rlx_now(ptr %clock) #0 {{
entry:
  %time = alloca [2 x i64], align 8
  %ignored = call i32 %clock(i32 {CLOCK_MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = getelementptr i8, ptr %time, i64 8
  %nanoseconds = load i64, ptr %rest, align 8
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  ret i64 %now
}}

define internal void @rlx_wait(ptr %call) #0 {{
entry:
  %barrier.at = getelementptr i8, ptr %call, i64 {field("barrier")}
  %barrier = load ptr, ptr %barrier.at, align {machine.pointer_bytes}
  %threads.at = getelementptr i8, ptr %call, i64 {field("thread_count")}
  %threads = load i32, ptr %threads.at, align 4
  %arrived.at = getelementptr i8, ptr %barrier, i64 {_at(Barrier, "arrived")}
  %generation.at = getelementptr i8, ptr %barrier, i64 {_at(Barrier, "generation")}
  %decision.at = getelementptr i8, ptr %barrier, i64 {_at(Barrier, "reserved")}
  %generation = load atomic i32, ptr %generation.at acquire, align 4
  %before = atomicrmw add ptr %arrived.at, i32 1 acq_rel, align 4
  %now = add i32 %before, 1
  %last = icmp eq i32 %now, %threads
  br i1 %last, label %release, label %wait

release:
  %cancelled = call i32 @rlx_cancelled(ptr %call)
  store atomic i32 %cancelled, ptr %decision.at monotonic, align 4
  store atomic i32 0, ptr %arrived.at monotonic, align 4
  %next = add i32 %generation, 1
  store atomic i32 %next, ptr %generation.at release, align 4
  ret void

wait:
  %spins.at = getelementptr i8, ptr %barrier, i64 {_at(Barrier, "spins")}
  %spins = load i32, ptr %spins.at, align 4
  %park.at = getelementptr i8, ptr %call, i64 {field("park")}
  %park = load ptr, ptr %park.at, align {machine.pointer_bytes}
  %can.park = icmp ne ptr %park, null
  br label %look

look:
  %count = phi i32 [ 0, %wait ], [ %counted, %spin ], [ %count, %sleep ]
  %seen = load atomic i32, ptr %generation.at acquire, align 4
  %same = icmp eq i32 %seen, %generation
  br i1 %same, label %stay, label %leave

stay:
  %patient = icmp slt i32 %count, %spins
  %impatient = xor i1 %patient, true
  %parks = and i1 %impatient, %can.park
  br i1 %parks, label %sleep, label %spin

spin:
  {pause}
  %counted = add i32 %count, 1
  br label %look

sleep:
  %parked = call i32 %park()
  br label %look

leave:
  ret void
}}

define internal i32 @rlx_cancelled(ptr %call) #0 {{
entry:
  %cancel.at = getelementptr i8, ptr %call, i64 {field("cancel")}
  %cancel = load ptr, ptr %cancel.at, align {machine.pointer_bytes}
  %none = icmp eq ptr %cancel, null
  br i1 %none, label %no, label %read

read:
  %flag = load atomic i32, ptr %cancel monotonic, align 4
  ret i32 %flag

no:
  ret i32 0
}}

define internal i32 @rlx_begin(ptr %call, i32 %kernel) #0 {{
entry:
  %threads.at = getelementptr i8, ptr %call, i64 {field("thread_count")}
  %threads = load i32, ptr %threads.at, align 4
  %alone = icmp eq i32 %threads, 1
  br i1 %alone, label %ask, label %team

ask:
  %asked = call i32 @rlx_cancelled(ptr %call)
  br label %decided

team:
  %first = icmp eq i32 %kernel, 0
  br i1 %first, label %decided, label %agreed

agreed:
  %barrier.at = getelementptr i8, ptr %call, i64 {field("barrier")}
  %barrier = load ptr, ptr %barrier.at, align {machine.pointer_bytes}
  %decision.at = getelementptr i8, ptr %barrier, i64 {_at(Barrier, "reserved")}
  %decision = load atomic i32, ptr %decision.at monotonic, align 4
  br label %decided

decided:
  %cancelled = phi i32 [ %asked, %ask ], [ 0, %team ], [ %decision, %agreed ]
  %row = call ptr @rlx_row(ptr %call, i32 %kernel)
  %traced = icmp ne ptr %row, null
  br i1 %traced, label %trace, label %done

trace:
  %clock.at = getelementptr i8, ptr %call, i64 {field("clock")}
  %clock = load ptr, ptr %clock.at, align {machine.pointer_bytes}
  %now = call i64 @rlx_now(ptr %clock)
  %start.at = getelementptr i8, ptr %row, i64 {_at(Trace, "start_ns")}
  store i64 %now, ptr %start.at, align 8
  br label %done

done:
  ret i32 %cancelled
}}

define internal void @rlx_end(ptr %call, i32 %kernel) #0 {{
entry:
  %row = call ptr @rlx_row(ptr %call, i32 %kernel)
  %traced = icmp ne ptr %row, null
  br i1 %traced, label %trace, label %meet

trace:
  %clock.at = getelementptr i8, ptr %call, i64 {field("clock")}
  %clock = load ptr, ptr %clock.at, align {machine.pointer_bytes}
  %now = call i64 @rlx_now(ptr %clock)
  %end.at = getelementptr i8, ptr %row, i64 {_at(Trace, "end_ns")}
  store i64 %now, ptr %end.at, align 8
  %kernel.at = getelementptr i8, ptr %row, i64 {_at(Trace, "kernel")}
  store i32 %kernel, ptr %kernel.at, align 4
  %index.at = getelementptr i8, ptr %call, i64 {field("thread_index")}
  %index = load i32, ptr %index.at, align 4
  %thread.at = getelementptr i8, ptr %row, i64 {_at(Trace, "thread")}
  store i32 %index, ptr %thread.at, align 4
  br label %meet

meet:
  %threads.at = getelementptr i8, ptr %call, i64 {field("thread_count")}
  %threads = load i32, ptr %threads.at, align 4
  %alone = icmp eq i32 %threads, 1
  br i1 %alone, label %done, label %wait

wait:
  call void @rlx_wait(ptr %call)
  br label %done

done:
  ret void
}}

define internal ptr @rlx_row(ptr %call, i32 %kernel) #0 {{
entry:
  %trace.at = getelementptr i8, ptr %call, i64 {field("trace")}
  %trace = load ptr, ptr %trace.at, align {machine.pointer_bytes}
  %clock.at = getelementptr i8, ptr %call, i64 {field("clock")}
  %clock = load ptr, ptr %clock.at, align {machine.pointer_bytes}
  %no.trace = icmp eq ptr %trace, null
  %no.clock = icmp eq ptr %clock, null
  %none = or i1 %no.trace, %no.clock
  %threads.at = getelementptr i8, ptr %call, i64 {field("thread_count")}
  %threads = load i32, ptr %threads.at, align 4
  %index.at = getelementptr i8, ptr %call, i64 {field("thread_index")}
  %index = load i32, ptr %index.at, align 4
  %rows = mul i32 %kernel, %threads
  %place = add i32 %rows, %index
  %wide = sext i32 %place to i64
  %row = getelementptr [{_SIZE_OF_TRACE} x i8], ptr %trace, i64 %wide
  %result = select i1 %none, ptr null, ptr %row
  ret ptr %result
}}
"""


def entry(program: Program, machine: Machine) -> str:
    """The support functions and `rlx_main`; one more function for each stretch of launches after a host op."""
    return "\n".join([_support(machine), *(_function(program, machine, stretch) for stretch in program.stretches)])


def _function(program: Program, machine: Machine, stretch: Stretch) -> str:
    layout = call_layout(machine.pointer_bytes)
    field = layout.offset
    lines = [
        f"define dso_local i32 @{stretch.symbol}(ptr noundef %call) #0 {{",
        "entry:",
        "  %size = load i32, ptr %call, align 8",
        f"  %version.at = getelementptr i8, ptr %call, i64 {field('abi_version')}",
        "  %version = load i32, ptr %version.at, align 4",
        f"  %large = icmp uge i32 %size, {layout.size}",
        f"  %known = icmp eq i32 %version, {ABI_VERSION}",
        "  %right = and i1 %large, %known",
        "  br i1 %right, label %team, label %bad",
        "",
        "team:",
    ]
    for name in ("thread_index", "thread_count"):
        lines += [f"  %{name}.at = getelementptr i8, ptr %call, i64 {field(name)}"]
        lines += [f"  %{name}.i32 = load i32, ptr %{name}.at, align 4", f"  %{name} = sext i32 %{name}.i32 to i64"]
    for name in ("inputs", "outputs", "weights", "workspace", "state", "dims", "barrier"):
        lines += [f"  %{name}.at = getelementptr i8, ptr %call, i64 {field(name)}"]
        lines += [f"  %{name} = load ptr, ptr %{name}.at, align 8"]
    lines += [
        "  %is.leader = icmp eq i64 %thread_index, 0",
        "  %is.alone = icmp eq i64 %thread_count, 1",
        "  %has.barrier = icmp ne ptr %barrier, null",
        "  %can.meet = or i1 %is.alone, %has.barrier",
        "  br i1 %can.meet, label %ports, label %bad",
        "",
        "ports:",
    ]
    for region, count in (("inputs", len(program.inputs)), ("outputs", len(program.outputs))):
        for place in range(count):
            lines += [f"  %{region}.{place}.at = getelementptr i8, ptr %{region}, i64 {machine.pointer_bytes * place}"]
            lines += [f"  %{region}.{place} = load ptr, ptr %{region}.{place}.at, align 8"]
    lines += [f"  br label %begin.{stretch.first}", ""]
    kernels = {kernel.name: kernel for kernel in program.kernels}
    launches = program.launches[stretch.first : stretch.end]
    for place, launch in enumerate(launches, stretch.first):
        shared = kernels[launch.kernel].parallel is not None
        lines += [
            f"begin.{place}:",
            f"  %cancelled.{place} = call i32 @rlx_begin(ptr %call, i32 {place})",
            f"  %stop.{place} = icmp ne i32 %cancelled.{place}, 0",
            f"  br i1 %stop.{place}, label %cancelled, label %choose.{place}",
            "",
            f"choose.{place}:",
            f"  br i1 {'true' if shared else '%is.leader'}, label %run.{place}, label %end.{place}",
            "",
            f"run.{place}:",
        ]
        texts = ["i64 %thread_index", "i64 %thread_count", "ptr %dims"]
        for number, argument in enumerate(launch.arguments):
            texts.append(f"ptr {_address(argument, f'%a.{place}.{number}', lines)}")
        lines += [
            f"  call void @{kernel_symbol(launch.kernel)}({', '.join(texts)})",
            f"  br label %end.{place}",
            "",
            f"end.{place}:",
            f"  call void @rlx_end(ptr %call, i32 {place})",
            f"  br label %begin.{place + 1}",
            "",
        ]
    lines += [
        f"begin.{stretch.end}:",
        f"  ret i32 {RLX_OK}",
        "",
        "bad:",
        f"  ret i32 {RLX_BAD_CALL}",
        "",
    ]
    if launches:
        lines += ["cancelled:", f"  ret i32 {RLX_CANCELLED}"]
    lines += ["}", ""]
    return "\n".join(lines)


def _address(argument: Argument, name: str, lines: list[str]) -> str:
    """The pointer that an argument is."""
    if argument.region in ("input", "output"):
        return f"%{argument.region}s.{argument.position}"
    lines.append(f"  {name} = getelementptr i8, ptr %{argument.region}, i64 {argument.position}")
    return name
