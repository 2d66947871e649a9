"""A node runs for months: its memory, descriptors and mappings stay flat."""

import asyncio
import os
from pathlib import Path

import numpy as np


def level(pid: int) -> tuple[int, int, int]:
    """Resident bytes, mappings and descriptors of a process."""
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(Path(f"/proc/{pid}/maps").read_text().splitlines()), len(os.listdir(f"/proc/{pid}/fd"))


async def test_two_thousand_runs_leave_memory_flat(executor, make_bundle) -> None:
    """Sizes change from run to run, so that segments are made, shared and dropped all the time."""
    bundle = make_bundle(None)
    await executor.load(bundle.digest, bundle.directory)

    async def runs(count: int) -> None:
        for start in range(0, count, 10):
            sizes = [1 + (start + n) * 37 % 4096 for n in range(10)]
            given = [np.arange(size, dtype=np.float32) for size in sizes]
            results = await asyncio.gather(*(executor.run(bundle.digest, {"x": x}, trace=True) for x in given))
            assert all(np.array_equal(r.outputs["y"], 3 * x[::-1]) for r, x in zip(results, given, strict=True))

    await runs(300)
    before = level(executor.pid), level(os.getpid())
    await runs(2000)
    after = level(executor.pid), level(os.getpid())
    for (memory, mappings, descriptors), (memory_after, mappings_after, descriptors_after) in zip(
        before, after, strict=True
    ):
        assert memory_after - memory < 2 << 20
        assert mappings_after <= mappings + 4
        assert descriptors_after <= descriptors + 1
    assert executor.restarts == 0


async def test_loading_and_unloading_leaves_memory_flat(executor, make_bundle, x) -> None:
    bundles = [make_bundle(8, model=f"m{n}") for n in range(2)]

    async def rounds(count: int) -> None:
        for n in range(count):
            bundle = bundles[n % 2]
            await executor.load(bundle.digest, bundle.directory)
            await executor.run(bundle.digest, {"x": x})
            await executor.unload(bundle.digest)

    await rounds(20)
    memory, mappings, descriptors = level(executor.pid)
    await rounds(60)
    memory_after, mappings_after, descriptors_after = level(executor.pid)
    assert memory_after - memory < 1 << 20
    assert mappings_after <= mappings + 2
    assert descriptors_after == descriptors
