"""A module becomes a bundle: passes, lowering, emission, code, and the folder that holds it all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Final

from rlx_base.errors import CompileError
from rlx_compiler.build import build_program
from rlx_compiler.emit.c_like.entry import kernel_symbol
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.program import HostCall, Launch, Placed, Port, Program, Stretch
from rlx_compiler.options import CompileOptions, CompileResult, Progress
from rlx_compiler.pipeline import lower
from rlx_compiler.targets import Resolved, TargetSpec, resolve
from rlx_compiler.version import VERSION
from rlx_ir.identity import meaning_digest, program_digest
from rlx_ir.module import Module
from rlx_ir.text import print_module
from rlx_wire.abi import header
from rlx_wire.bundle import read_manifest, write_bundle
from rlx_wire.manifest import (
    DeviceArgument,
    DeviceLaunch,
    DeviceSegment,
    HostOpSegment,
    HostValue,
    KernelSpec,
    Manifest,
    NativeSegment,
    Segment,
    TensorSpec,
    canonical_json,
)

__all__ = ["PHASES", "compile_module"]

# Each with the fraction of the work that is done when it begins, as measured on convolutional networks.
PHASES: Final[Mapping[str, float]] = {"lower": 0.0, "code": 0.3, "bundle": 0.9}


def compile_module(
    module: Module, options: CompileOptions, output: Path, *, progress: Progress | None = None
) -> CompileResult:
    """Compiles in this process and writes the bundle as the folder `output`, whole or not at all.

    The same module and options give the same bytes, wherever and whenever. Raises CompileError E2xx, and E122 for a
    memory that a strict program asks for and the device lacks.
    """
    phases = _Phases(progress)
    resolved = resolve(options)
    phases.begin("lower")
    compiled = lower(module, resolved.spec, options)
    if compiled.program.host and not resolved.target.host_ops:
        first = compiled.program.host[0].op
        raise CompileError("E211", what=f"{first}, which the host computes, for target {resolved.target.name}")
    phases.begin("code")
    built = build_program(compiled.program, resolved, options.opt_level)
    phases.begin("bundle")
    report = {**compiled.report, "build": built.report} if built.report else compiled.report
    files: dict[str, bytes | Path] = {
        **built.files,
        "rlx_kernel.h": header().encode(),
        "weights.bin": compiled.program.weights_blob(),
        "report.json": canonical_json(report),
        "model.rlx": print_module(module).encode(),
    }
    digest = write_bundle(output, _manifest(module, compiled.program, resolved, options), files)
    phases.end()
    return CompileResult(digest, output, read_manifest(output), report, phases.seconds)


def _manifest(module: Module, program: Program, resolved: Resolved, options: CompileOptions) -> Manifest:
    spec = resolved.spec
    return Manifest(
        compiler_version=VERSION,
        target=spec.target,
        cpu=spec.cpu,
        cpu_features=tuple(sorted(spec.features)),
        opt_level=options.opt_level,
        program_digest=program_digest(module),
        meaning_digest=meaning_digest(module),
        model=module.name,
        inputs=tuple(map(_tensor, program.inputs)),
        outputs=tuple(map(_tensor, program.outputs)),
        dims=program.dims,
        workspace_bytes=program.workspace_bytes,
        weights_bytes=program.weights_bytes,
        kernels=tuple(
            KernelSpec(name=launch.name, ops=launch.ops, flops=launch.flops, bytes=launch.bytes)
            for launch in program.launches
        ),
        launch_plan=_launch_plan(program, spec),
    )


def _launch_plan(program: Program, spec: TargetSpec) -> tuple[Segment, ...]:
    """Native calls, or launches on a device, with the host ops that stand between them."""
    plan: list[Segment] = []
    calls = list(program.host)
    done = 0
    for stretch in program.stretches:
        while calls and calls[0].before <= stretch.first and stretch.first < stretch.end:
            plan.append(_host_op(calls.pop(0), done))
            done += 1
        if stretch.first < stretch.end or not program.host:
            plan.append(_native(stretch) if spec.threads_per_block is None else _on_device(program, stretch))
    return (*plan, *(_host_op(call, done + place) for place, call in enumerate(calls)))


def _native(stretch: Stretch) -> NativeSegment:
    return NativeSegment(symbol=stretch.symbol, kernels=(stretch.first, stretch.end))


def _on_device(program: Program, stretch: Stretch) -> DeviceSegment:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    launches = program.launches[stretch.first : stretch.end]
    return DeviceSegment(
        kernels=(stretch.first, stretch.end), launches=tuple(_launch(kernels[one.kernel], one) for one in launches)
    )


def _launch(kernel: Kernel, launch: Launch) -> DeviceLaunch:
    grid = kernel.grid
    assert grid is not None, "a program is for a grid as a whole or not at all"
    return DeviceLaunch(
        symbol=kernel_symbol(kernel.name),
        blocks=grid.blocks,
        threads=grid.threads,
        shared_bytes=grid.shared_bytes,
        arguments=tuple(
            DeviceArgument(
                region=argument.region,
                position=argument.position,
                dtype=buffer.dtype.name,
                elements=prod(dim for dim in buffer.shape if isinstance(dim, int)),
                written=buffer.access != "read",
            )
            for argument, buffer in zip(launch.arguments, kernel.params, strict=True)
        ),
    )


def _host_op(call: HostCall, index: int) -> HostOpSegment:
    operands = tuple(None if value is None else _host_value(value) for value in call.operands)
    results = tuple(map(_host_value, call.results))
    return HostOpSegment(op=call.op, index=index, attributes=dict(call.attributes), operands=operands, results=results)


def _host_value(placed: Placed) -> HostValue:
    shape = tuple(size for size in placed.shape if isinstance(size, int))
    return HostValue(region=placed.region, at=placed.position, dtype=placed.dtype.name, shape=shape)  # type: ignore[arg-type]


def _tensor(port: Port) -> TensorSpec:
    shape = tuple(dim if isinstance(dim, int) else str(dim) for dim in port.shape)
    return TensorSpec(name=port.name, dtype=port.dtype.name, shape=shape)


class _Phases:
    """Tells the caller which phase begins, and keeps how long each took."""

    def __init__(self, progress: Progress | None, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self._progress, self._clock = progress, clock
        self._current: tuple[str, float] | None = None

    def begin(self, phase: str) -> None:
        self._close()
        self._current = (phase, self._clock())
        self._tell(phase, PHASES[phase])

    def end(self) -> None:
        self._close()
        self._tell("done", 1.0)

    def _close(self) -> None:
        if self._current is not None:
            phase, began = self._current
            self.seconds[phase] = self._clock() - began
            self._current = None

    def _tell(self, phase: str, fraction: float) -> None:
        if self._progress is not None:
            self._progress(phase, fraction)
