"""CPUs by name and the features each promises: what code is compiled for and what a host must have.

A *level* is what many CPUs have in common, a *processor* is one product line: a level, some features more, and its own
timing to schedule by. Names are LLVM's, since the compiler hands them to LLVM; the table also says what Linux calls
them in /proc/cpuinfo. A bundle lists the features that its code may use, and runs on any CPU that has them all.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["CPUS", "LEVELS", "PROCESSORS", "CpuLevel", "features_in_cpuinfo", "host_features", "level_for"]


@dataclass(frozen=True, slots=True)
class CpuLevel:
    """A CPU that code can be compiled for. `machine` is `platform.machine()` of the hosts that have it; `level` names
    the level that a processor has, a level's own name otherwise."""

    name: str
    machine: str
    features: frozenset[str]
    level: str


def _levels(machine: str, *steps: tuple[str, str]) -> dict[str, CpuLevel]:
    """Levels that each add features to the one before."""
    levels: dict[str, CpuLevel] = {}
    features: frozenset[str] = frozenset()
    for name, added in steps:
        features |= frozenset(added.split())
        levels[name] = CpuLevel(name, machine, features, name)
    return levels


# Weakest first within a machine. The x86-64 levels are those of the psABI.
LEVELS: Final[dict[str, CpuLevel]] = {
    **_levels(
        "x86_64",
        ("x86-64", "cx8 fxsr mmx sse sse2"),
        ("x86-64-v2", "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"),
        ("x86-64-v3", "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"),
        ("x86-64-v4", "avx512bw avx512cd avx512dq avx512f avx512vl"),
    ),
    **_levels("aarch64", ("armv8-a", "fp-armv8 neon"), ("armv8.2-a+sve", "fullfp16 lse sve")),
    **_levels("riscv64", ("rv64gc", "a c d f m"), ("rv64gcv", "v")),
}

_ICE_LAKE: Final = "avx512bitalg avx512vbmi avx512vbmi2 avx512vnni avx512vpopcntdq gfni"
_ARMV8_2: Final = "dotprod fullfp16 lse rdm"
# Only features that code of ours could use: what is not listed here is not used, whatever the processor has.
PROCESSORS: Final[dict[str, CpuLevel]] = {
    name: CpuLevel(name, LEVELS[level].machine, LEVELS[level].features | frozenset(added.split()), level)
    for name, level, added in (
        ("haswell", "x86-64-v3", ""),
        ("skylake", "x86-64-v3", ""),
        ("skylake-avx512", "x86-64-v4", ""),
        ("cascadelake", "x86-64-v4", "avx512vnni"),
        ("icelake-server", "x86-64-v4", _ICE_LAKE),
        ("sapphirerapids", "x86-64-v4", f"{_ICE_LAKE} avx512bf16 avx512fp16 avxvnni"),
        ("znver2", "x86-64-v3", ""),
        ("znver3", "x86-64-v3", ""),
        ("znver4", "x86-64-v4", f"{_ICE_LAKE} avx512bf16"),
        ("znver5", "x86-64-v4", f"{_ICE_LAKE} avx512bf16 avxvnni"),
        ("cortex-a53", "armv8-a", ""),
        ("cortex-a72", "armv8-a", ""),
        ("cortex-a76", "armv8-a", _ARMV8_2),
        ("neoverse-n1", "armv8-a", _ARMV8_2),
        ("sifive-u74", "rv64gc", ""),
        ("sifive-x280", "rv64gcv", ""),
    )
}
CPUS: Final[dict[str, CpuLevel]] = LEVELS | PROCESSORS

# Linux's name → LLVM's, where they differ. Those that are equal need no row.
_LINUX: Final = {
    "x86_64": {
        "abm": "lzcnt",
        "bmi1": "bmi",
        "lahf_lm": "sahf",
        "pclmulqdq": "pclmul",
        "pni": "sse3",
        "sha_ni": "sha",
        "sse4_1": "sse4.1",
        "sse4_2": "sse4.2",
        **{f"avx512_{name}": f"avx512{name}" for name in ("bf16", "bitalg", "fp16", "vbmi2", "vnni")},
        "avx512_vpopcntdq": "avx512vpopcntdq",
        "avx_vnni": "avxvnni",
    },
    "aarch64": {
        "asimd": "neon",
        "asimddp": "dotprod",
        "asimdhp": "fullfp16",
        "asimdrdm": "rdm",
        "atomics": "lse",
        "fp": "fp-armv8",
    },
    "riscv64": {},
}
_LINE: Final = {"x86_64": "flags", "aarch64": "Features", "riscv64": "isa"}


def features_in_cpuinfo(text: str, machine: str) -> frozenset[str]:
    """What *every* processor in a /proc/cpuinfo has, by LLVM's names: a thread may run on any of them."""
    rows = [
        value.split()
        for key, _, value in (line.partition(":") for line in text.splitlines())
        if key.strip() == _LINE.get(machine)
    ]
    if machine == "riscv64":
        # One word such as rv64imafdcv_zicsr: single letters after the width, then longer names.
        rows = [[*word[0].partition("_")[0][4:], *word[0].split("_")[1:]] for word in rows if word]
    names = _LINUX.get(machine, {})
    sets = [frozenset(names.get(word, word) for word in row) for row in rows]
    return frozenset.intersection(*sets) if sets else frozenset()


def host_features() -> frozenset[str]:
    """The features of the CPU that this process runs on; empty where the host does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    return features_in_cpuinfo(text, platform.machine())


def level_for(features: frozenset[str], machine: str) -> CpuLevel:
    """The strongest level that a CPU with these features has. KeyError for a machine without levels."""
    levels = [level for level in LEVELS.values() if level.machine == machine]
    if not levels:
        raise KeyError(machine)
    held = [level for level in levels if level.features <= features]
    return max(held or levels[:1], key=lambda level: len(level.features))
