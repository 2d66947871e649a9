"""What would bite on this machine: each question of `rlx doctor` is one function that gives findings."""

from __future__ import annotations

import email.utils
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import httpx

from rlx.caching import CompileCache
from rlx.serving import RunSettings
from rlx_base.errors import RlxError
from rlx_runtime import team_size
from rlx_runtime.cgroup import cpu_quota, memory_limit
from rlx_runtime.devices import detect
from rlx_wire.cpu import host_features, level_for
from rlx_wire.service.settings import is_loopback, split_address

__all__ = ["CHECKS", "Finding", "examine"]

_PORTS: Final = {
    8000: "compile-api",
    8080: "the scheduler, or `rlx run`",
    8081: "the scheduler's gRPC",
    8090: "a node",
    9000: "gss",
}
_ASK_SECONDS: Final = 2.0
_FULL_BYTES: Final = 1 << 30
_NO_LIMIT: Final = 1 << 60  # what a cgroup says that has none


@dataclass(frozen=True, slots=True)
class Finding:
    """`ok`, `note` (worth knowing), or `bad` (something will not work), with what to do."""

    what: str
    state: Literal["ok", "note", "bad"]
    says: str
    help: str = ""


def examine(config: Path | None = None) -> Iterator[Finding]:
    """All findings, as they are made. Settings that do not fit are one of them."""
    settings = None
    try:
        settings = RunSettings.read(config)
    except RlxError as error:
        yield Finding("config", "bad", error.message, error.help)
    for check in CHECKS:
        yield from check(settings)


def python(_: RunSettings | None) -> Iterator[Finding]:
    supported = sys.version_info >= (3, 11)
    yield Finding("Python", "ok" if supported else "bad", platform.python_version(), "RLX needs 3.11 or later")


def cpu(_: RunSettings | None) -> Iterator[Finding]:
    try:
        level = level_for(host_features(), platform.machine()).name
    except KeyError:
        yield Finding("CPU", "bad", f"{platform.machine()} is no CPU that RLX has levels for", "compile on x86-64")
        return
    yield Finding("CPU", "ok", f"{level}, {os.cpu_count()} threads; a team has {team_size()}")
    quota = cpu_quota()
    if quota is not None and quota < (os.cpu_count() or 1):
        yield Finding("CPU quota", "note", f"{quota:g} CPUs", "runtime.threads: auto follows the quota")
    limit = memory_limit()
    if limit is not None and limit < _NO_LIMIT:
        yield Finding("memory limit", "note", f"{limit / 1e9:.1f} GB", "a model's weights and workspace must fit")


def toolchains(_: RunSettings | None) -> Iterator[Finding]:
    import llvmlite.binding

    yield Finding("LLVM", "ok", ".".join(map(str, llvmlite.binding.llvm_version_info)))
    gcc = shutil.which("gcc")
    missing = "not found", "needed for target c only: install gcc"
    yield Finding("gcc", "ok", gcc) if gcc else Finding("gcc", "note", *missing)
    xrt = shutil.which("xbutil")
    if xrt:
        yield Finding("XRT", "note", xrt, "this version of RLX compiles for no FPGA yet")


def devices(_: RunSettings | None) -> Iterator[Finding]:
    for device in detect():
        if device.available:
            yield Finding(f"device {device.id}", "ok", device.name)
        else:
            yield Finding(f"device {device.id}", "note", f"not usable: {device.reason}")


def ports(settings: RunSettings | None) -> Iterator[Finding]:
    wanted = dict(_PORTS)
    if settings is not None:
        host, port = split_address(settings.bind_addr)
        if port:
            wanted[port] = "this node (bind_addr)"
        if not is_loopback(host) and settings.key is None:
            help = "set RLX_API_KEY, or bind to 127.0.0.1"
            yield Finding("bind_addr", "bad", f"{settings.bind_addr} is open and no key is set", help)
    used = [port for port in wanted if _taken(port)]
    for port in used:
        state: Literal["note", "bad"] = "bad" if "bind_addr" in wanted[port] else "note"
        yield Finding(f"port {port}", state, f"in use; {wanted[port]} would want it", "`ss -ltnp` shows by whom")
    if not used:
        yield Finding("ports", "ok", f"{', '.join(map(str, wanted))} are free")


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def network(settings: RunSettings | None) -> Iterator[Finding]:
    """The services that the config names: whether they answer, and how far their clocks are."""
    if settings is None:
        return
    named = dict.fromkeys(settings.cluster.gss.endpoints, "GSS")
    if settings.cluster.api is not None:
        named[settings.cluster.api] = "compile-api"
    for url, what in named.items():
        try:
            answer = httpx.get(f"{url.rstrip('/')}/v2/health/live", timeout=_ASK_SECONDS, trust_env=False)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            yield Finding(what, "bad", f"{url} cannot be reached: {reason}", "is it running there?")
            continue
        yield Finding(what, "ok", f"{url} answers with {answer.status_code}")
        if (date := answer.headers.get("Date")) is not None:
            ahead = email.utils.parsedate_to_datetime(date).timestamp() - time.time()
            if abs(ahead) > 1.5:  # the header counts whole seconds
                says = f"{url} is {ahead:+.0f} s from here"
                yield Finding("clock", "note", says, "harmless: RLX compares no two clocks")
    hosts = {urlsplit(url).hostname or "" for url in named}
    yield from _mtu() if hosts - {"", "127.0.0.1", "localhost"} else ()


def _mtu() -> Iterator[Finding]:
    for path in sorted(Path("/sys/class/net").glob("*/mtu")):
        mtu = int(path.read_text())
        if path.parent.name != "lo" and mtu < 1500:
            yield Finding(f"MTU {path.parent.name}", "note", str(mtu), "large tensors need many packets on this path")


def cache(_: RunSettings | None) -> Iterator[Finding]:
    held = CompileCache.default()
    folder = held.folder
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not os.access(there, os.W_OK):
        yield Finding("cache", "bad", f"{folder} cannot be written", "set RLX_CACHE_DIR to a folder of yours")
        return
    size = sum(entry.bytes for entry in held.entries())
    free = shutil.disk_usage(there).free
    state: Literal["ok", "note"] = "ok" if free > _FULL_BYTES else "note"
    says = f"{folder}: {size / 1e6:.0f} MB used, {free / 1e9:.0f} GB free"
    yield Finding("cache", state, says, "" if state == "ok" else "`rlx cache gc` frees space")


CHECKS: Final[tuple[Callable[[RunSettings | None], Iterator[Finding]], ...]] = (
    python,
    cpu,
    toolchains,
    devices,
    ports,
    network,
    cache,
)
