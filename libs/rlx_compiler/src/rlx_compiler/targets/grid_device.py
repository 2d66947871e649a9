"""What GPU targets have in common: a spec with a grid's limits, and the refusal of what a device cannot compute."""

from __future__ import annotations

from rlx_base.errors import CompileError
from rlx_compiler.loops.program import Program
from rlx_compiler.targets.spec import MemorySpace, TargetSpec

__all__ = ["grid_spec", "refuse_dtypes"]

_REGISTERS = 128  # scalars that a thread may hold before it gives up others of its block


def grid_spec(
    target: str,
    device: str,
    *,
    threads: int,
    shared_bytes: int,
    subgroup: int | None = None,
    native: frozenset[str] = frozenset({"sqrt"}),
    location: str = "VRAM",
    bandwidth: float | None = None,
    float64: bool = True,
    reassociates: bool = False,
) -> TargetSpec:
    """A GPU's spec: no vectors, since neighbouring threads are its lanes."""
    return TargetSpec(
        target=target,
        cpu=device,
        features=frozenset(),
        vector_bits=0,
        vector_registers=_REGISTERS,
        fma=True,
        l1_bytes=shared_bytes,
        l2_bytes=4 << 20,
        native=native,
        spaces=(
            MemorySpace("global", location, bandwidth=bandwidth, coherence="host"),
            MemorySpace("shared", "SRAM", bytes=shared_bytes),
        ),
        threads_per_block=threads,
        shared_bytes=shared_bytes,
        subgroup=subgroup,
        float64=float64,
        reassociates=reassociates,
    )


def refuse_dtypes(program: Program, target: str, lacking: frozenset[str]) -> None:
    """Raises E232 where a kernel reads or writes a dtype that the device does not compute."""
    for kernel in program.kernels:
        for buffer in kernel.params:
            if buffer.dtype.name in lacking:
                raise CompileError("E232", kernel=kernel.name, dtype=buffer.dtype.name, target=target)
