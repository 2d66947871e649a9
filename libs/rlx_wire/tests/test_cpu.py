"""CPU levels by LLVM's names, and what Linux says of a host in those names."""

import platform
from itertools import pairwise

import pytest

from rlx_wire.cpu import LEVELS, PROCESSORS, features_in_cpuinfo, host_features, level_for

SKYLAKE = (
    "fpu cx8 mmx fxsr sse sse2 pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave avx f16c lahf_lm abm bmi1 avx2 "
    "bmi2 avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni"
)
HASWELL = SKYLAKE.partition(" avx512f")[0]


def cpuinfo(*flags: str) -> str:
    return "".join(f"processor\t: {n}\nmodel name\t: A CPU\nflags\t\t: {words}\n\n" for n, words in enumerate(flags))


def test_names_of_linux_become_names_of_llvm() -> None:
    features = features_in_cpuinfo(cpuinfo(SKYLAKE), "x86_64")
    assert {"sse3", "sse4.2", "lzcnt", "bmi", "sahf", "avx512vnni", "avx512f", "fma"} <= features
    assert not {"pni", "abm", "sse4_2"} & features


def test_a_feature_counts_only_where_every_processor_has_it() -> None:
    features = features_in_cpuinfo(cpuinfo(SKYLAKE, HASWELL), "x86_64")
    assert level_for(features, "x86_64").name == "x86-64-v3"


@pytest.mark.parametrize(
    ("text", "machine", "level"),
    [
        (cpuinfo(SKYLAKE), "x86_64", "x86-64-v4"),
        (cpuinfo(SKYLAKE.replace("avx512vl", "")), "x86_64", "x86-64-v3"),
        (cpuinfo("sse sse2"), "x86_64", "x86-64"),
        ("", "x86_64", "x86-64"),
        ("Features\t: fp asimd evtstrm\n", "aarch64", "armv8-a"),
        ("Features\t: fp asimd asimdhp atomics sve\n", "aarch64", "armv8.2-a+sve"),
        ("isa\t: rv64imafdc_zicsr\n", "riscv64", "rv64gc"),
        ("isa\t: rv64imafdcv_zicsr\n", "riscv64", "rv64gcv"),
    ],
)
def test_the_level_is_the_strongest_that_the_features_hold(text: str, machine: str, level: str) -> None:
    assert level_for(features_in_cpuinfo(text, machine), machine).name == level


def test_levels_of_a_machine_grow() -> None:
    for machine in {level.machine for level in LEVELS.values()}:
        steps = [level.features for level in LEVELS.values() if level.machine == machine]
        assert all(weaker < stronger for weaker, stronger in pairwise(steps))


def test_a_machine_without_levels_has_none() -> None:
    with pytest.raises(KeyError):
        level_for(frozenset(), "pdp11")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the host's own words")
def test_this_host_has_at_least_what_every_x86_64_has() -> None:
    assert LEVELS["x86-64"].features <= host_features()


def test_a_processor_has_all_of_its_level() -> None:
    for processor in PROCESSORS.values():
        level = LEVELS[processor.level]
        assert level.features <= processor.features
        assert level.machine == processor.machine
