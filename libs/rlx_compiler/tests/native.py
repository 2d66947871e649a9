"""Running a program in the loop IR as machine code, without a bundle or a runtime: what emitter tests need."""

from __future__ import annotations

import ctypes
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rlx_base.dtypes import INDEX, DType
from rlx_compiler.build import build_program
from rlx_compiler.loops.ir import Apply, Body, Broadcast, Buffer, Expr, For, Kernel, Literal, Load, Stmt, Store, Var
from rlx_compiler.loops.program import Argument, Launch, Port, Program
from rlx_compiler.options import CompileOptions
from rlx_compiler.targets import resolve
from rlx_ir.elements import numpy_of
from rlx_wire.abi import ABI_VERSION, Barrier, Call

Array = NDArray[Any]


def aligned(array: Array) -> Array:
    """A copy that begins on a 64-byte boundary."""
    raw = np.empty(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@dataclass
class Native:
    """A loaded library; `run` calls it with one array per input and gives one per output."""

    program: Program
    entry: Any

    def run(self, *inputs: Array, threads: int = 1, dims: Sequence[int] = (), spins: int = 1000) -> list[Array]:
        sources = [aligned(np.asarray(array)) for array in inputs]
        bound = dict(zip(self.program.dims, dims, strict=True))
        results = [
            aligned(np.zeros([bound.get(str(d), d) for d in port.shape], numpy_of(port.dtype)))
            for port in self.program.outputs
        ]
        status = self.call(sources, results, threads, dims, spins)
        assert status == [0] * threads, status
        return results

    def call(
        self,
        sources: Sequence[Array],
        results: Sequence[Array],
        threads: int = 1,
        dims: Sequence[int] = (),
        spins: int = 1000,
        **fields: Any,
    ) -> list[int]:
        """What each member of the team is answered; `fields` are those of `rlx_call` beyond the usual."""
        weights = aligned(np.frombuffer(self.program.weights_blob() or b"\0", np.uint8))
        workspace = aligned(np.zeros(max(1, self.program.workspace_bytes), np.uint8))
        barrier = Barrier(spins=spins)
        inputs = (ctypes.c_void_p * max(1, len(sources)))(*[a.ctypes.data for a in sources])
        outputs = (ctypes.c_void_p * max(1, len(results)))(*[a.ctypes.data for a in results])
        sizes = (ctypes.c_int64 * max(1, len(dims)))(*dims)
        park = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p)
        answers = [-1] * threads

        def member(index: int) -> None:
            call = Call(
                size=ctypes.sizeof(Call),
                abi_version=ABI_VERSION,
                inputs=ctypes.addressof(inputs),
                outputs=ctypes.addressof(outputs),
                weights=weights.ctypes.data,
                workspace=workspace.ctypes.data,
                dims=ctypes.addressof(sizes),
                thread_index=index,
                thread_count=threads,
                barrier=ctypes.addressof(barrier),
                park=park,
            )
            for name, value in fields.items():
                setattr(call, name, value)
            answers[index] = self.entry(ctypes.byref(call))

        team = [threading.Thread(target=member, args=(i,)) for i in range(1, threads)]
        for thread in team:
            thread.start()
        member(0)
        for thread in team:
            thread.join()
        return answers


def load(program: Program, target: str = "llvm", cpu: str = "host", opt_level: int = 1) -> Native:
    """Compiles a program and maps it into this process."""
    files = build_program(program, resolve(CompileOptions(target, opt_level, cpu)), opt_level).files
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "librlx_kernel.so"
        path.write_bytes(files["librlx_kernel.so"])
        entry = ctypes.CDLL(str(path)).rlx_main
    entry.restype = ctypes.c_int32
    return Native(program, entry)


def program_of(kernel: Kernel, outputs: int = 1, dims: Sequence[str] = (), weights: Any = ()) -> Program:
    """A program of one launch, whose last parameters are its outputs and the others its inputs."""
    ports = [Port(buffer.name, buffer.dtype, buffer.shape) for buffer in kernel.params]
    split = len(ports) - outputs
    arguments = [Argument("input", i) for i in range(split)] + [Argument("output", i) for i in range(outputs)]
    launch = Launch(kernel.name, kernel.name, tuple(arguments), (kernel.name,), 0, 0)
    return Program("test", (kernel,), (launch,), tuple(ports[:split]), tuple(ports[split:]), weights, 0, 0, tuple(dims))


def number(value: int) -> Literal:
    return Literal(value, INDEX)


def elementwise(
    function: Any, dtypes: Sequence[DType], result: DType, count: int, lanes: int, name: str = "map"
) -> Kernel:
    """`out[i] = function(in0[i], …)` over `count` elements, a multiple of `lanes`."""
    sources = [Buffer(f"in{i}", dtype, (count,)) for i, dtype in enumerate(dtypes)]
    out = Buffer("out", result, (count,), access="write")
    i = Var("i")
    value: Expr = function(*[Load(source, (i,), lanes) for source in sources])
    body: Body = (For("i", number(0), number(count), (Store(out, (i,), value),), step=lanes, kind="parallel"),)
    return Kernel(name, (*sources, out), body)


TARGETS = [("llvm", "host"), ("llvm", "x86-64-v2"), ("c", "host"), ("c", "x86-64")]
everywhere = pytest.mark.parametrize(("target", "cpu"), TARGETS, ids=[f"{t}:{c}" for t, c in TARGETS])


def program_of_many(kernels: list[Kernel]) -> Program:
    """One launch per kernel; the last parameter of each is its output."""
    inputs, outputs, launches = [], [], []
    for kernel in kernels:
        arguments = [Argument("input", len(inputs) + i) for i in range(len(kernel.params) - 1)]
        inputs += [Port(f"{kernel.name}.{b.name}", b.dtype, b.shape) for b in kernel.params[:-1]]
        last = kernel.params[-1]
        arguments.append(Argument("output", len(outputs)))
        outputs.append(Port(kernel.name, last.dtype, last.shape))
        launches.append(Launch(kernel.name, kernel.name, tuple(arguments), (), 0, 0))
    return Program("many", tuple(kernels), tuple(launches), tuple(inputs), tuple(outputs), (), 0, 0)


def over(stop: int, *body: Stmt, step: int = 1, var: str = "i", kind: Any = "serial") -> For:
    return For(var, number(0), number(stop), body, step, kind)


def plus(a: Expr, b: Expr | int) -> Expr:
    return Apply("add", (a, number(b) if isinstance(b, int) else b), a.dtype)


def spread(model: Expr, value: float) -> Expr:
    """A constant of the dtype of `model`, in as many lanes."""
    literal = Literal(value, model.dtype)
    return literal if model.lanes == 1 else Broadcast(literal, model.lanes)
