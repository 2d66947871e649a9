"""What this node can run right now: the replicas that its executors hold, and how long each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rlx_base.errors import ClusterError
from rlx_cluster.deployments import Replica
from rlx_runtime import Result
from rlx_wire.bundle import read_manifest
from rlx_wire.inference import Candidate
from rlx_wire.manifest import Manifest
from rlx_wire.nodes import Device, LoadedModel

__all__ = ["DeviceExecutor", "Holdings"]

# A new measurement counts for a quarter: a device that slows down shows within seconds, one odd run does not.
_WEIGHT = 4


class DeviceExecutor(Protocol):
    """What a node asks of a device's executor; `rlx_runtime.Executor` is one."""

    device: str

    @property
    def ready(self) -> bool: ...

    @property
    def running(self) -> int: ...

    @property
    def queue_depth(self) -> int: ...

    @property
    def loaded(self) -> Mapping[str, Manifest]: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def load(self, digest: str, directory: Path) -> int: ...

    async def unload(self, digest: str) -> None: ...

    async def run(
        self, digest: str, inputs: Mapping[str, Any], *, deadline: float | None = None, trace: bool = False
    ) -> Result: ...


@dataclass(slots=True)
class _Held:
    manifest: Manifest
    device: str
    run_ns: int


class Holdings:
    """Replicas by device. Two replicas may share one bundle; it leaves the executor with the last of them."""

    def __init__(self, devices: tuple[Device, ...], executors: Mapping[str, DeviceExecutor]) -> None:
        self._devices = devices
        self._executors = dict(executors)
        self._held: dict[Replica, _Held] = {}
        self.computed_ns = 0
        """Nanoseconds that the devices have computed since this process began."""

    @property
    def ready(self) -> bool:
        """Whether a device is up that runs something."""
        return any(executor.ready for executor in self._executors.values())

    @property
    def queue_depth(self) -> int:
        return sum(executor.queue_depth for executor in self._executors.values())

    @property
    def running(self) -> int:
        return sum(executor.running for executor in self._executors.values())

    @property
    def replicas(self) -> frozenset[Replica]:
        """What is loaded; without what an executor gave up because it crashed again and again."""
        return frozenset(
            replica for replica, held in self._held.items() if replica.digest in self._executors[held.device].loaded
        )

    def loaded(self) -> tuple[LoadedModel, ...]:
        """What can run this moment, as the node reports it: an executor that is restarting has nothing."""
        return tuple(
            LoadedModel(
                model=replica.model,
                version=replica.version,
                target=replica.target,
                digest=replica.digest,
                device=held.device,
                run_us=held.run_ns // 1000,
            )
            for replica in sorted(self.replicas)
            if self._executors[(held := self._held[replica]).device].ready
        )

    def manifest(self, model: str, version: str | None) -> tuple[str, Manifest] | None:
        """The newest version (or the one named) that is held here, and what it takes and gives."""
        held = [r for r in self.replicas if r.model == model and version in (None, r.version)]
        if not held:
            return None
        newest = max(held, key=lambda replica: (int(replica.version), replica.target))
        return newest.version, self._held[newest].manifest

    async def start(self) -> None:
        for executor in self._executors.values():
            await executor.start()

    async def close(self) -> None:
        for executor in self._executors.values():
            await executor.close()
        self._held.clear()

    async def load(self, replica: Replica, directory: Path) -> None:
        """Loads and warms a bundle. Raises E3xx where it is refused, E504 where its first run crashes."""
        device = self._device(replica.target)
        manifest = read_manifest(directory)
        run_ns = await self._executors[device].load(replica.digest, directory)
        self._held[replica] = _Held(manifest, device, run_ns)

    async def unload(self, replica: Replica) -> None:
        held = self._held.pop(replica, None)
        if held is None:
            return
        shared = any(r.digest == replica.digest and h.device == held.device for r, h in self._held.items())
        if not shared:
            await self._executors[held.device].unload(replica.digest)

    async def run(
        self, candidate: Candidate, inputs: Mapping[str, Any], deadline: float, trace: bool = False
    ) -> Result:
        """One inference here; its time is what placement expects of the next."""
        executor = self._executors[candidate.device]
        result = await executor.run(candidate.digest, inputs, deadline=deadline, trace=trace)
        took = result.timings.compute_ns
        self.computed_ns += took
        for replica, held in self._held.items():
            if replica.digest == candidate.digest and held.device == candidate.device:
                held.run_ns = held.run_ns + (took - held.run_ns) // _WEIGHT if held.run_ns else took
        return result

    def _device(self, target: str) -> str:
        family = target.partition(":")[0]
        for device in self._devices:
            if family in device.targets and device.id in self._executors:
                return device.id
        raise ClusterError("E512", target=target)
