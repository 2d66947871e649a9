"""What this machine is to the cluster: its devices, what they run, and its CPU's level and features."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable

from rlx_node.settings import DeviceSettings
from rlx_runtime import team_size
from rlx_runtime.devices import DetectedDevice, detect
from rlx_runtime.runners import served_targets
from rlx_wire.cpu import host_features, level_for
from rlx_wire.nodes import Capabilities, Device

__all__ = ["capabilities", "devices"]

_log = logging.getLogger("rlx.node")


def devices(
    kinds: Iterable[str] | None = None,
    declared: Iterable[DeviceSettings] = (),
    detected: Iterable[DetectedDevice] | None = None,
) -> tuple[Device, ...]:
    """The devices of these kinds (all, where None); what the cluster's file declares overrides what was
    found.
    """
    wanted = None if kinds is None else tuple(kinds)
    everything = detect(wanted) if detected is None else detected
    found = [d for d in everything if wanted is None or d.type in wanted]
    for device in found:
        if not device.available:
            _log.info("no %s device here: %s", device.type, device.reason)
    overrides = {(d.type, d.index): d for d in declared}
    known = tuple(_device(d, overrides.pop((d.type, d.index), None)) for d in found if d.available)
    for kind, index in overrides:
        _log.warning("the configuration declares %s:%d, which is not found here", kind, index)
    return known


def capabilities(labels: dict[str, str]) -> Capabilities:
    """The CPU's named level, its exact features, and the labels of this node."""
    features = host_features()
    try:
        level = level_for(features, platform.machine()).name
    except KeyError:
        level = platform.machine()
    return Capabilities(cpu=level, cpu_features=tuple(sorted(features)), labels=labels)


def _device(detected: DetectedDevice, declared: DeviceSettings | None) -> Device:
    device = Device(
        kind=detected.type,
        index=detected.index,
        name=detected.name,
        memory_bytes=detected.memory,
        cores=team_size() if detected.type == "cpu" else 0,
        targets=served_targets(detected.type),
    )
    if declared is None:
        return device
    changes = {
        field: value
        for field, value in (("memory_bytes", declared.memory), ("cores", declared.cores))
        if value is not None and value != getattr(device, field)
    }
    for field, value in changes.items():
        _log.info("%s: %s is %s by configuration, %s was found", device.id, field, value, getattr(device, field))
    return device.model_copy(update=changes)
