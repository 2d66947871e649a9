"""The executor: right answers from another process, bounded, cancellable, and nothing left behind."""

import asyncio
import gc
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlx_base.errors import ArtifactError, ClusterError, RequestError
from rlx_runtime import Executor

PATIENT, DEAF = -555.0, -444.0


def now() -> float:
    return asyncio.get_running_loop().time()


def fate(value: float) -> dict[str, np.ndarray]:
    return {"x": np.full(8, value, np.float32)}


async def test_a_run_in_the_process_gives_what_a_run_here_gives(executor, bundle, x, y) -> None:
    warm_ns = await executor.load(bundle.digest, bundle.directory)
    result = await executor.run(bundle.digest, {"x": x})
    assert np.array_equal(result.outputs["y"], y)
    assert result.outputs["y"].flags.writeable
    assert warm_ns > 0
    assert executor.threads == 2
    assert executor.pid != os.getpid()
    assert executor.loaded[bundle.digest].model == "reverse"


async def test_the_parts_of_the_time_sum_to_the_whole(executor, bundle, x) -> None:
    await executor.load(bundle.digest, bundle.directory)
    timings = (await executor.run(bundle.digest, {"x": x})).timings
    parts = timings.queue_ns + timings.transfer_ns + timings.compute_input_ns
    assert parts + timings.compute_ns + timings.compute_output_ns == timings.total_ns
    assert timings.compute_ns > 0


async def test_a_trace_comes_with_the_result_only_when_asked_for(executor, bundle, x, y) -> None:
    await executor.load(bundle.digest, bundle.directory)
    assert (await executor.run(bundle.digest, {"x": x})).profile is None
    result = await executor.run(bundle.digest, {"x": x}, trace=True)
    assert np.array_equal(result.outputs["y"], y)
    assert result.profile is not None
    (timings,) = result.profile.runs
    assert {(row.kernel, row.thread) for row in timings} == {(0, 0), (0, 1), (1, 0), (1, 1)}


async def test_many_at_once_each_get_their_own_answer(executor, make_bundle, x) -> None:
    fixed, open_ = make_bundle(8), make_bundle(None)
    await executor.load(fixed.digest, fixed.directory)
    assert await executor.load(open_.digest, open_.directory) == 0

    async def ask(number: int) -> bool:
        size = 8 if number % 2 else number
        mine = np.arange(size, dtype=np.float32) + number
        digest = fixed.digest if number % 2 else open_.digest
        return np.array_equal((await executor.run(digest, {"x": mine})).outputs["y"], 3 * mine[::-1])

    assert all(await asyncio.gather(*(ask(number) for number in range(60))))


async def test_large_tensors_are_copied_off_the_event_loop(executor, make_bundle) -> None:
    count = 2 << 20
    large = make_bundle(count)
    await executor.load(large.digest, large.directory)
    mine = np.arange(count, dtype=np.float32)
    assert np.array_equal((await executor.run(large.digest, {"x": mine})).outputs["y"], 3 * mine[::-1])
    cancelled = asyncio.create_task(executor.run(large.digest, {"x": mine}))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert np.array_equal((await executor.run(large.digest, {"x": mine})).outputs["y"], 3 * mine[::-1])


# --- loading


async def test_what_is_not_loaded_is_not_run(executor, bundle, x) -> None:
    with pytest.raises(RequestError, match="not loaded") as caught:
        await executor.run(bundle.digest, {"x": x})
    assert caught.value.code == "RLX-E414"


async def test_a_wrong_input_is_refused_before_it_reaches_the_process(executor, bundle, x) -> None:
    await executor.load(bundle.digest, bundle.directory)
    with pytest.raises(RequestError, match="input x must be float32, not int64"):
        await executor.run(bundle.digest, {"x": x.astype(np.int64)})


async def test_a_bundle_that_is_refused_keeps_its_reason(executor, make_bundle) -> None:
    bundle = make_bundle(cpu_features=("avx9000",))
    with pytest.raises(ArtifactError, match="without avx9000"):
        await executor.load(bundle.digest, bundle.directory)
    with pytest.raises(ArtifactError, match="expected digest 000000"):
        await executor.load("0" * 64, bundle.directory)
    assert executor.loaded == {}


async def test_loading_twice_is_loading_once(executor, bundle, x, y) -> None:
    await asyncio.gather(*(executor.load(bundle.digest, bundle.directory) for _ in range(5)))
    assert np.array_equal((await executor.run(bundle.digest, {"x": x})).outputs["y"], y)
    assert len(libraries(executor.pid)) == 1


def libraries(pid: int) -> set[str]:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {row.split()[-1] for row in maps if row.endswith("librlx_kernel.so")}


async def test_unloading_takes_the_code_out_of_the_process(executor, bundle, x) -> None:
    await executor.load(bundle.digest, bundle.directory)
    running = asyncio.create_task(executor.run(bundle.digest, {"x": x}))
    await asyncio.sleep(0)
    await executor.unload(bundle.digest)
    await executor.unload(bundle.digest)
    await running
    assert libraries(executor.pid) == set()
    with pytest.raises(RequestError, match="not loaded"):
        await executor.run(bundle.digest, {"x": x})


# --- deadlines and cancellation


async def test_a_deadline_ends_a_computation_and_names_it(executor, bundle, x, y) -> None:
    await executor.load(bundle.digest, bundle.directory)
    with pytest.raises(RequestError, match=r"deadline exceeded: compute took longer than 100 ms") as caught:
        await executor.run(bundle.digest, fate(PATIENT), deadline=now() + 0.1)
    assert caught.value.status == 504
    assert np.array_equal((await executor.run(bundle.digest, {"x": x})).outputs["y"], y)
    assert (executor.restarts, executor.running) == (0, 0)


async def test_a_deadline_behind_another_run_is_a_deadline_in_the_queue(executor, bundle, x, until) -> None:
    await executor.load(bundle.digest, bundle.directory)
    first = asyncio.create_task(executor.run(bundle.digest, fate(PATIENT)))
    await asyncio.sleep(0)
    with pytest.raises(RequestError, match="deadline exceeded: queue"):
        await executor.run(bundle.digest, {"x": x}, deadline=now() + 0.05)
    assert not first.done()
    first.cancel()
    await until(lambda: executor.running == 0)
    assert executor.restarts == 0


async def test_a_cancelled_caller_gives_its_slot_back(executor, bundle, x, y, until) -> None:
    await executor.load(bundle.digest, bundle.directory)
    tasks = [asyncio.create_task(executor.run(bundle.digest, fate(PATIENT))) for _ in range(5)]
    await until(lambda: executor.running == 2 and executor.queue_depth == 3)
    for task in tasks:
        task.cancel()
    assert all(isinstance(e, asyncio.CancelledError) for e in await asyncio.gather(*tasks, return_exceptions=True))
    assert np.array_equal((await executor.run(bundle.digest, {"x": x})).outputs["y"], y)
    await until(lambda: executor.running == 0)
    assert executor.restarts == 0


async def test_a_kernel_that_never_ends_costs_the_process_not_the_slot(bundle, x, y) -> None:
    async with Executor(threads=1, cancel_grace_s=0.05) as executor:
        await executor.load(bundle.digest, bundle.directory)
        with pytest.raises(RequestError, match="deadline exceeded: compute"):
            await executor.run(bundle.digest, fate(DEAF), deadline=now() + 0.05)
        assert np.array_equal((await executor.run(bundle.digest, {"x": x})).outputs["y"], y)
        assert (executor.restarts, executor.running) == (1, 0)


async def test_more_than_may_wait_are_refused_at_once(bundle, until) -> None:
    async with Executor(threads=1, in_flight=1, queue=1) as executor:
        await executor.load(bundle.digest, bundle.directory)
        tasks = [asyncio.create_task(executor.run(bundle.digest, fate(PATIENT))) for _ in range(2)]
        await until(lambda: executor.running == 1 and executor.queue_depth == 1)
        with pytest.raises(RequestError, match="cpu:0 is full"):
            await executor.run(bundle.digest, fate(0))
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


# --- its end


async def test_closing_ends_what_is_in_flight_and_leaves_nothing(bundle, until, no_leftovers) -> None:
    executor = Executor(threads=2)
    await executor.start()
    pid = executor.pid
    await executor.load(bundle.digest, bundle.directory)
    tasks = [asyncio.create_task(executor.run(bundle.digest, fate(PATIENT))) for _ in range(4)]
    await until(lambda: executor.running == 2)
    await executor.close()
    await executor.close()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [getattr(error, "code", error) for error in results] == ["RLX-E515"] * 4
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises((ClusterError, RequestError)):
        await executor.run(bundle.digest, fate(0))
    gc.collect()
    no_leftovers()


async def test_a_closed_executor_can_be_started_again(bundle, x, y) -> None:
    executor = Executor(threads=1)
    for _ in range(2):
        async with executor:
            await executor.load(bundle.digest, bundle.directory)
            assert np.array_equal((await executor.run(bundle.digest, {"x": x})).outputs["y"], y)


@pytest.mark.parametrize(("python", "why"), [("/bin/false", "exit code 1"), ("/no/python", "No such file")])
async def test_a_process_that_cannot_start_says_why_and_is_tried_again(
    python: str, why: str, monkeypatch: pytest.MonkeyPatch, no_leftovers
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    executor = Executor()
    with pytest.raises(ClusterError, match=rf"executor of cpu:0 is not running: it did not start: .*{why}"):
        await executor.start()
    monkeypatch.undo()
    async with asyncio.timeout(20):
        while not executor.ready:
            await asyncio.sleep(0.01)
    await executor.close()
    no_leftovers()


NODE = """
import asyncio, sys
from rlx_runtime import Executor
async def main():
    async with Executor(threads=1) as executor:
        print(executor.pid, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


def test_a_node_that_is_killed_takes_its_executor_along() -> None:
    node = subprocess.Popen([sys.executable, "-c", NODE], stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    with node.stdout:
        executor = os.pidfd_open(int(node.stdout.readline()))
    node.send_signal(signal.SIGKILL)
    node.wait()
    assert select.select([executor], [], [], 10)[0], "it outlived its node"
    os.close(executor)
