"""What a schedule, the memory plan and the verifier know of a device: data, without behaviour.

Nothing here is measured on the machine that compiles: the same options give the same spec, and so the same code,
everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rlx_base.dtypes import DType

__all__ = ["MemorySpace", "TargetSpec"]


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """One kind of memory that code for the device can name.

    `location` is what a program's `memory_affinity` calls it; bandwidth in bytes per second, None where nothing is
    known of it; `coherence` as in the language (`MESI`, `none`, …).
    """

    name: str
    location: str
    bytes: int | None = None
    bandwidth: float | None = None
    coherence: str = "MESI"


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A device's limits and memories.

    `native` names what the device does by one instruction where others need a formula: the functions `floor`, `ceil`
    and `round`, and `float16` for conversions from and to that type. A device without vectors has `vector_bits` 0;
    `most_lanes` limits vectors of narrow elements where the language does. A device without `float64` computes
    functions of float32 in float32 alone; where its compiler `reassociates` sums, no formula may count on their order.

    `local_bytes` is what a kernel may keep on the stack.

    `threads_per_block`, `shared_bytes` and `subgroup` are those of a GPU's blocks; a CPU has None. A device that runs
    blocks one by one, each by a processor of its own (a CPU behind OpenCL), has blocks of one thread. `spaces` are in
    order of preference: the first one is where tensors live.
    """

    target: str
    cpu: str
    features: frozenset[str]
    vector_bits: int
    vector_registers: int
    fma: bool
    l1_bytes: int
    l2_bytes: int
    native: frozenset[str] = frozenset()
    spaces: tuple[MemorySpace, ...] = field(default=(MemorySpace("global", "DDR"),))
    threads_per_block: int | None = None
    shared_bytes: int | None = None
    subgroup: int | None = None
    most_lanes: int | None = None
    local_bytes: int = 1 << 20
    float64: bool = True
    reassociates: bool = False

    def lanes(self, dtype: DType) -> int:
        """How many elements of a dtype one vector register holds; 1 where there are none."""
        lanes = max(1, self.vector_bits // (8 * dtype.itemsize))
        return lanes if self.most_lanes is None else min(lanes, self.most_lanes)

    @property
    def locations(self) -> frozenset[str]:
        """The `memory_affinity` locations that this device has."""
        return frozenset(space.location for space in self.spaces)
