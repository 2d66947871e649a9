"""One compilation in a fresh process with an empty cache, and what it took.

`python -m benchmarks.cold_compile SOURCE OUTPUT OPTIONS` is the child; `compile_cold` starts and times it. On a busy
machine the seconds of the clock say more about the others; those of the processor are there beside them.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rlx_compiler import CompileOptions, compile_source

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class ColdCompile:
    """A bundle, and what it took from the start of the process to its end. Memory is that of the largest process."""

    bundle: Path
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def compile_cold(source: Path, output: Path, **options: object) -> ColdCompile:
    """The bundle of a model; `options` are those of `CompileOptions`."""
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold_compile", source, output, json.dumps(options)],
            cwd=ROOT,
            env=os.environ | {"RLX_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - start
    told = json.loads(answer.stdout)
    return ColdCompile(Path(told["bundle"]), seconds, told["cpu_seconds"], told["peak_bytes"])


def main() -> None:
    source, output, options = sys.argv[1:]
    result = compile_source(Path(source), CompileOptions(**json.loads(options)), Path(output))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    told = {
        "bundle": str(result.directory),
        "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in used),
        "peak_bytes": max(one.ru_maxrss for one in used) << 10,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
