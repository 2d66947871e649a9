"""What a machine with an NVIDIA GPU shows of the `cuda` target: `make gpu-check`, under eight minutes.

First every op against its NumPy reference, on the GPU; then products of matrices beside cuBLAS through CuPy, in one
run, each the fastest of many. Nothing is skipped silently: where time runs out, what was left out is named.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from libs.rlx_compiler.tests import grids
from libs.rlx_compiler.tests.harness import drawn
from rlx_base.errors import ArtifactError
from rlx_base.tolerance import mismatch
from rlx_compiler import CompileOptions, compile_module
from rlx_ir.testing import covered_ops
from rlx_ir.text import parse
from rlx_runtime import load
from rlx_runtime.runners import find_runner
from rlx_wire.targets import TARGETS

__all__ = ["main"]

REPORT: Final = Path("build/reports/gpu.json")
_CASES: Final = 12  # of an op
_FOR_OPS: Final = 300.0  # seconds
_FOR_TIMINGS: Final = 120.0
_SIZES: Final = (256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Product:
    """A product of square matrices: milliseconds of one launch, and how they compare."""

    size: int
    dtype: str
    rlx_ms: float
    cublas_ms: float

    @property
    def ratio(self) -> float:
        return self.rlx_ms / self.cublas_ms


@dataclass
class Report:
    """What was found."""

    gpu: str
    target: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)


def target_of(capability: int) -> str:
    """The newest named GPU that is no newer than this one."""
    known = [int(name.removeprefix("sm_")) for name in TARGETS["cuda"].devices]
    fitting = [one for one in known if one <= capability]
    if not fitting:
        raise SystemExit(f"sm_{capability} is older than every GPU that RLX compiles for: {min(known)}")
    return f"cuda:sm_{max(fitting)}"


def check_ops(report: Report, say: Callable[[str], None]) -> None:
    """Every op, as many as there is time for."""
    end = time.monotonic() + _FOR_OPS
    for op in covered_ops():
        if time.monotonic() > end:
            report.left_out.append(op)
            continue
        try:
            grids.check(drawn(op, _CASES), report.target)
        except Exception as wrong:
            report.failed[op] = str(wrong)[:2000]
            say(f"  {op}: {str(wrong)[:200]}")
        else:
            report.passed.append(op)


def time_products(report: Report, say: Callable[[str], None]) -> None:
    """Matrix products beside cuBLAS, of the same data on the same device."""
    end = time.monotonic() + _FOR_TIMINGS
    for dtype in ("float32", "float16"):
        for size in _SIZES:
            if time.monotonic() > end:
                report.left_out.append(f"product {size} of {dtype}")
                continue
            report.products.append(product := _product(size, dtype, report.target))
            times = f"{product.rlx_ms:8.3f} ms, cuBLAS {product.cublas_ms:8.3f} ms"
            say(f"  {size:5} {dtype}: {times}, {product.ratio:.2f}×")


def _product(size: int, dtype: str, target: str) -> Product:
    import cupy

    rng = np.random.default_rng(size)
    inputs = {name: rng.standard_normal((size, size)).astype(dtype) for name in "ab"}
    module = parse(
        f"""
@rlx.module
def product():
    a = rlx.tensor(shape=[{size}, {size}], dtype="{dtype}")
    b = rlx.tensor(shape=[{size}, {size}], dtype="{dtype}")
    return rlx.matmul(a, b)
"""
    )
    with tempfile.TemporaryDirectory() as folder:
        compile_module(module, CompileOptions(target), Path(folder) / "bundle")
        with load(Path(folder) / "bundle") as loaded:
            (result,) = loaded.run(inputs).values()
            wide = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)
            difference = mismatch(result, wide.astype(dtype))
            if difference is not None:
                raise SystemExit(f"a product of {size} × {size} {dtype} is wrong: {difference}")
            profiles = [loaded.trace(inputs).profile for _ in range(20)]
    own = min(timing.end_ns - timing.start_ns for one in profiles for run in one.runs for timing in run) / 1e6
    a, b = cupy.asarray(inputs["a"]), cupy.asarray(inputs["b"])
    cupy.matmul(a, b)
    theirs = min(_milliseconds(lambda: cupy.matmul(a, b)) for _ in range(20))
    return Product(size, dtype, own, theirs)


def _milliseconds(work: Callable[[], Any]) -> float:
    """As the runner times its own kernels: from before the launch to when the device is through."""
    import cupy

    cupy.cuda.Device().synchronize()
    begin = time.perf_counter_ns()
    work()
    cupy.cuda.Device().synchronize()
    return (time.perf_counter_ns() - begin) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORT)
    asked = parser.parse_args()
    try:
        find_runner("cuda")
    except ArtifactError as error:
        print(f"no check of a GPU: {error.message}", file=sys.stderr)
        return 3
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    report = Report(properties["name"].decode(), target_of(int(cupy.cuda.Device(0).compute_capability)))
    print(f"{report.gpu}, {report.target}")
    check_ops(report, print)
    print(f"ops: {len(report.passed)} right, {len(report.failed)} wrong")
    time_products(report, print)
    if report.left_out:
        print(f"no time was left for: {', '.join(report.left_out)}")
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    print(f"written: {asked.report}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
