"""Small bundles of hand-written C, compiled once per session: the runtime is tested without the compiler."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlx_wire.abi import header
from rlx_wire.bundle import write_bundle
from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec

SOURCE = Path(__file__).with_name("kernels.c")
WEIGHT = 3.0
CAPACITY = 4096


@dataclass(frozen=True)
class TestBundle:
    __test__ = False
    digest: str
    directory: Path


MakeBundle = Callable[..., TestBundle]


@pytest.fixture(scope="session")
def make_bundle(tmp_path_factory: pytest.TempPathFactory) -> MakeBundle:
    """`make_bundle(count=8)`: y[i] = 3 · x[count − 1 − i]. `count=None` leaves the size to a symbolic dim."""
    folder = tmp_path_factory.mktemp("bundles")
    (folder / "rlx_kernel.h").write_text(header())
    libraries: dict[tuple[str, ...], Path] = {}

    def library(*defines: str) -> Path:
        if defines not in libraries:
            path = folder / f"kernel{len(libraries)}.so"
            command = ["gcc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{folder}", *defines]
            subprocess.run([*command, str(SOURCE), "-o", str(path)], check=True)
            libraries[defines] = path
        return libraries[defines]

    def make(
        count: int | None = 8, *defines: str, files: dict[str, bytes | Path | None] | None = None, **fields: Any
    ) -> TestBundle:
        size: int | str = "n" if count is None else count
        manifest = Manifest.model_validate(
            {
                "compiler_version": "0",
                "target": "c",
                "cpu": "x86-64",
                "cpu_features": (),
                "opt_level": 1,
                "program_digest": "0" * 64,
                "meaning_digest": "0" * 64,
                "model": "reverse",
                "inputs": (TensorSpec(name="x", dtype="float32", shape=(size,)),),
                "outputs": (TensorSpec(name="y", dtype="float32", shape=(size,)),),
                "dims": ("n",) if count is None else (),
                "workspace_bytes": 4 * (CAPACITY if count is None else count),
                "weights_bytes": 4,
                "kernels": (
                    KernelSpec(name="scale", ops=("mul",), flops=count or 0, bytes=8),
                    KernelSpec(name="reverse", ops=("slice",), flops=0, bytes=8),
                ),
                "launch_plan": (NativeSegment(kernels=(0, 2)),),
            }
            | fields
        )
        listed: dict[str, bytes | Path | None] = {
            "librlx_kernel.so": library(f"-DCOUNT={count or 0}", *defines),
            "weights.bin": np.float32(WEIGHT).tobytes(),
        }
        listed |= files or {}
        directory = folder / f"bundle{len(list(folder.iterdir()))}"
        digest = write_bundle(directory, manifest, {name: data for name, data in listed.items() if data is not None})
        return TestBundle(digest, directory)

    return make


@pytest.fixture(scope="session")
def bundle(make_bundle: MakeBundle) -> TestBundle:
    return make_bundle()


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(8, dtype=np.float32)


@pytest.fixture
def y(x: np.ndarray) -> np.ndarray:
    return WEIGHT * x[::-1]
