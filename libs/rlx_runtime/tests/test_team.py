"""The team: its size follows what the process may use, and its members meet at native barriers."""

import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from rlx_runtime.cgroup import cpu_quota, memory, memory_limit
from rlx_runtime.model import InProcessModel
from rlx_runtime.program import load_program
from rlx_runtime.team import ThreadTeam, team_size


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V2 = {"proc/self/cgroup": "0::/pods/a\n"}
V1 = {"proc/self/cgroup": "5:cpu,cpuacct:/pods/a\n3:memory:/pods/a\n0::/\n"}


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        (V2, None),
        (V2 | {"sys/fs/cgroup/pods/a/cpu.max": "150000 100000\n"}, 1.5),
        (V2 | {"sys/fs/cgroup/pods/a/cpu.max": "max 100000\n"}, None),
        (V2 | {"sys/fs/cgroup/pods/a/cpu.max": "400000 100000", "sys/fs/cgroup/pods/cpu.max": "200000 100000"}, 2.0),
        (V2 | {"sys/fs/cgroup/cpu.max": "300000 100000"}, 3.0),
        (V2 | {"sys/fs/cgroup/cpu.max": "rubbish"}, None),
        (
            V1
            | {
                "sys/fs/cgroup/cpu,cpuacct/pods/a/cpu.cfs_quota_us": "250000\n",
                "sys/fs/cgroup/cpu,cpuacct/pods/a/cpu.cfs_period_us": "100000\n",
            },
            2.5,
        ),
        (V1 | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, None),
        (
            V1 | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
            0.5,
        ),
    ],
)
def test_the_quota_is_the_tightest_on_the_way_up(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    assert cpu_quota(write(tmp_path, files)) == quota


def test_the_memory_limit_is_read_in_both_versions(tmp_path: Path) -> None:
    assert memory_limit(write(tmp_path, V2)) is None
    assert memory_limit(write(tmp_path, V2 | {"sys/fs/cgroup/pods/memory.max": "max"})) is None
    assert memory_limit(write(tmp_path, V2 | {"sys/fs/cgroup/memory.max": "1000\n"})) == 1000
    assert memory_limit(write(tmp_path, V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "500\n"})) == 500


def test_memory_in_use_is_that_of_the_group_whose_limit_counts(tmp_path: Path) -> None:
    assert memory(tmp_path) == (0, 0)
    machine = {"proc/meminfo": "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n"}
    assert memory(write(tmp_path, V2 | machine)) == (1000 << 10, 600 << 10)
    group = "sys/fs/cgroup/pods/a/memory"
    unlimited = {f"{group}.max": "max", f"{group}.current": "7"}
    assert memory(write(tmp_path, unlimited)) == (1000 << 10, 600 << 10)
    limited = {f"{group}.max": "5000\n", f"{group}.current": "3000\n", f"{group}.stat": "anon 1\ninactive_file 1000\n"}
    assert memory(write(tmp_path, limited)) == (5000, 2000)
    v1 = {"limit_in_bytes": "4000\n", "usage_in_bytes": "3000\n", "stat": "total_inactive_file 500\n"}
    write(tmp_path, V1 | {f"sys/fs/cgroup/memory/memory.{name}": text for name, text in v1.items()})
    assert memory(tmp_path) == (4000, 2500)


def test_a_team_is_never_larger_than_affinity_and_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    assert team_size(tmp_path) == 16
    assert team_size(write(tmp_path, V2 | {"sys/fs/cgroup/cpu.max": "350000 100000"})) == 3
    assert team_size(write(tmp_path, V2 | {"sys/fs/cgroup/cpu.max": "10000 100000"})) == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {7})
    assert team_size(write(tmp_path, V2 | {"sys/fs/cgroup/cpu.max": "350000 100000"})) == 1


def test_a_team_needs_a_member() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ThreadTeam(0)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_members_meet_at_every_barrier(make_bundle, threads: int) -> None:
    """Each kernel reads what the others wrote in the one before, 500 times with new data."""
    bundle = make_bundle(1000)
    with InProcessModel(load_program(bundle.directory, ThreadTeam(threads))) as model:
        assert model.threads == threads
        for step in range(500):
            x = np.arange(1000, dtype=np.float32) + step
            assert np.array_equal(model.run({"x": x})["y"], 3 * x[::-1])


def test_calls_from_several_threads_take_turns(make_bundle) -> None:
    bundle = make_bundle(1000)
    wrong: list[int] = []
    with InProcessModel(load_program(bundle.directory, ThreadTeam(2))) as model:

        def ask(offset: int) -> None:
            x = np.arange(1000, dtype=np.float32) * offset
            wrong.extend(n for n in range(50) if not np.array_equal(model.run({"x": x})["y"], 3 * x[::-1]))

        threads = [threading.Thread(target=ask, args=(offset,)) for offset in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_two_models_share_one_team(make_bundle, bundle, x, y) -> None:
    team = ThreadTeam(2)
    other = make_bundle(4)
    one = InProcessModel(load_program(bundle.directory, team))
    two = InProcessModel(load_program(other.directory, team))
    assert np.array_equal(one.run({"x": x})["y"], y)
    assert np.array_equal(two.run({"x": x[:4]})["y"], 3 * x[3::-1])
    one.close()
    two.close()


def test_the_threads_of_a_dropped_team_end() -> None:
    before = set(threading.enumerate())
    team = ThreadTeam(3)
    members = set(threading.enumerate()) - before
    assert len(members) == 2
    del team
    gc.collect()
    for member in members:
        member.join(timeout=10)
    assert not any(member.is_alive() for member in members)
