"""What this process's control group allows: a container's share of the machine, not the machine itself.

Reads both versions of the interface. In a container the group's path may be the host's, of which only `/` is
mounted: so every folder on the way up is asked, those that are not there say nothing, and the tightest answer
counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["cpu_quota", "memory", "memory_limit"]


def cpu_quota(root: Path = Path("/")) -> float | None:
    """The CPU time that may be used, in processors; None without a limit."""
    quotas = [_ratio(_read(folder / "cpu.max").split()) for folder in _folders(root, "")]
    for folder in _folders(root, "cpu"):
        quotas.append(_ratio([_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")]))
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit(root: Path = Path("/")) -> int | None:
    """The bytes of memory that may be used; None without a limit."""
    words = [_read(folder / "memory.max").strip() for folder in _folders(root, "")]
    words += [_read(folder / "memory.limit_in_bytes").strip() for folder in _folders(root, "memory")]
    return min((int(word) for word in words if word.isdigit()), default=None)


def memory(root: Path = Path("/")) -> tuple[int, int]:
    """Bytes of memory that this process may have and that are in use of those; zeros where the machine does not tell.

    Under a limit, what counts is the group it is set for; otherwise the machine. Files that the kernel keeps in memory
    because there is room for them are not in use: it drops them first.
    """
    try:
        rows = dict(line.split(":", 1) for line in _read(root / "proc/meminfo").splitlines())
        total, available = (int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    except (KeyError, ValueError):
        return 0, 0
    whole = total, max(0, total - available)
    groups = [(folder, "memory.max", "memory.current", "inactive_file") for folder in _folders(root, "")]
    groups += [
        (folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        for folder in _folders(root, "memory")
    ]
    shares = []
    for folder, limit, usage, idle in groups:
        words = [_read(folder / name).strip() for name in (limit, usage)]
        if all(word.isdigit() for word in words) and int(words[0]) < total:
            statistics = dict(line.split() for line in _read(folder / "memory.stat").splitlines())
            shares.append((int(words[0]), max(0, int(words[1]) - int(statistics.get(idle, 0)))))
    return min(shares, default=whole)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's group and of all groups above it; version 2 has no controller's name."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        mounts = {controllers, controller}
        parts = [part for part in group.split("/") if part not in ("", "..")]
        for mount in sorted(mounts):
            for depth in range(len(parts) + 1):
                yield (root / "sys/fs/cgroup" / mount).joinpath(*parts[:depth])


def _ratio(words: list[str]) -> float | None:
    """Quota over period. `max` (version 2), −1 (version 1) and what cannot be read mean no limit."""
    try:
        quota, period = map(int, words)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
