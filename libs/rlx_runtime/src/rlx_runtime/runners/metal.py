"""Metal emulated on a CPU: g++ compiles the source beside a shim of Metal's library, and a thread of this process is a
thread of a block. Right answers, slowly; where there is an Apple GPU, its own framework compiles the same file."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlx_base.errors import ArtifactError
from rlx_runtime.grid import GridProgram, check_launches
from rlx_runtime.program import Program, map_weights
from rlx_runtime.runners.registry import Runner
from rlx_runtime.team import ThreadTeam
from rlx_wire.manifest import DeviceLaunch, Manifest

__all__ = ["RUNNER", "SOURCE"]

SOURCE: Final = "kernel.metal"
_SHIM: Final = Path(__file__).parent.parent / "grid" / "metal_shim.h"
# Not contracted more than Metal does with fast math off, and integers wrap.
_FLAGS: Final = ("-std=c++20", "-O1", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC")
_ATTRIBUTE: Final = re.compile(r"\[\[[^\]]*\]\]")


class MetalEmulation:
    """A bundle's kernels as a library of this process. A buffer is an array."""

    def __init__(self, source: str, manifest: Manifest) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rlx-metal-")
        folder = Path(self._folder.name)
        plain = _ATTRIBUTE.sub("", source.replace("#include <metal_stdlib>", f'#include "{_SHIM}"'))
        (folder / "kernel.cpp").write_text(plain + "\n".join(_launchers(manifest)))
        command = ["g++", *_FLAGS, "kernel.cpp", "-o", "kernel.so", "-pthread"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise ArtifactError("E309", name=SOURCE, why=f"g++ refuses it: {done.stderr[:2000]}")
        self._library = ctypes.CDLL(str(folder / "kernel.so"))

    def words(self, dtype: str) -> np.dtype[np.generic] | None:
        del dtype
        return None

    def allocate(self, size: int) -> NDArray[np.uint8]:
        return np.zeros(size, np.uint8)

    def write(self, buffer: NDArray[np.uint8], array: NDArray[np.generic]) -> None:
        raw = np.ascontiguousarray(array).view(np.uint8)
        buffer[: raw.size] = raw

    def read(self, buffer: NDArray[np.uint8], array: NDArray[np.generic]) -> None:
        array.view(np.uint8)[...] = buffer[: array.nbytes]

    def launch(self, launch: DeviceLaunch, buffers: Sequence[Any]) -> None:
        run = getattr(self._library, f"run_{launch.symbol}")
        pointers = [ctypes.c_void_p(buffer.ctypes.data) for buffer in buffers]
        run(ctypes.c_uint(launch.blocks), ctypes.c_uint(launch.threads), *pointers)

    def finish(self) -> None:
        """A launch is through when it returns."""

    def close(self) -> None:
        self._folder.cleanup()


def _launchers(manifest: Manifest) -> list[str]:
    """A function for each kernel that runs its grid."""
    lines: dict[str, str] = {}
    for segment in manifest.launch_plan:
        for launch in getattr(segment, "launches", ()):
            names = [f"p{place}" for place in range(len(launch.arguments))]
            parameters = "".join(f", void *{name}" for name in names)
            casts = "".join(
                f"(decltype(first_of<{place}>(&{launch.symbol}))){name}, " for place, name in enumerate(names)
            )
            lines[launch.symbol] = (
                f'extern "C" void run_{launch.symbol}(uint blocks, uint threads{parameters}) {{\n'
                f"    metal::run_grid(blocks, threads, [=](uint block, uint thread) {{\n"
                f"        {launch.symbol}({casts}block, thread);\n    }});\n}}\n"
            )
    head = """
#include <tuple>
template <int place, class... Types>
auto first_of(void (*)(Types...)) -> std::tuple_element_t<place, std::tuple<Types...>>;
"""
    return [head, *lines.values()]


def _unusable() -> str | None:
    return None if shutil.which("g++") else "g++ is missing, which the emulation compiles with"


def _check(manifest: Manifest, features: frozenset[str] | None) -> None:
    del features
    check_launches(manifest)


def _load(directory: Path, manifest: Manifest, team: ThreadTeam, device: int) -> Program:
    del team, device
    emulation = MetalEmulation((directory / SOURCE).read_text(), manifest)
    return GridProgram(manifest, emulation, map_weights(directory, manifest))


RUNNER: Final = Runner("metal", frozenset({"metal"}), "metal", _unusable, _check, _load, emulated=True)
