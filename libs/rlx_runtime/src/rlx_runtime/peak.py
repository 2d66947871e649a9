"""What this machine can give at most, measured: the two roofs under which a profile places its kernels.

They are measured in a process of their own, so that NumPy's thread pool is as large as the team that is judged by it
and never fights with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

__all__ = ["Peak", "main", "measure_peak"]

_SIDE: Final = 768
_COPIED: Final = 64 << 20
_TRIES: Final = 5
_SECONDS: Final = 60
_CHILD: Final = "from rlx_runtime.peak import main; main()"
# Every BLAS that NumPy may be built with reads one of these.
_POOLS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Peak:
    """`gflops`: NumPy's float32 matrix product. `gbytes_per_s`: bytes read and written by copies out of cache."""

    threads: int
    gflops: float
    gbytes_per_s: float


def measure_peak(threads: int) -> Peak:
    """Measures, in about a second, what `threads` threads reach. Raises OSError where no process can be started."""
    environment = os.environ | dict.fromkeys(_POOLS, str(threads))
    command = [sys.executable, "-c", _CHILD, str(threads)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_SECONDS, check=True)
    except subprocess.SubprocessError as error:
        raise OSError(f"the peak cannot be measured: {error}") from error
    return Peak(**json.loads(done.stdout))


def main() -> None:
    """The child: prints the peak of as many threads as its argument says."""
    print(json.dumps(asdict(_measure(int(sys.argv[1])))))


def _measure(threads: int) -> Peak:
    rng = np.random.default_rng(0)
    a, b = (rng.random((_SIDE, _SIDE), np.float32) for _ in range(2))
    product = np.empty_like(a)
    source = np.ones(_COPIED // 4, np.float32)
    sink = np.zeros_like(source)
    shares = list(zip(np.array_split(source, threads), np.array_split(sink, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:

        def copy() -> None:
            list(pool.map(lambda share: np.copyto(share[1], share[0]), shares))

        return Peak(
            threads,
            gflops=2 * _SIDE**3 / _best(lambda: np.matmul(a, b, out=product)),
            gbytes_per_s=2 * _COPIED / _best(copy),
        )


def _best(work: Callable[[], object]) -> float:
    """The shortest of some tries, in nanoseconds; the first warms up and does not count."""
    work()
    taken = []
    for _ in range(_TRIES):
        begin = time.perf_counter_ns()
        work()
        taken.append(time.perf_counter_ns() - begin)
    return float(max(1, min(taken)))
