"""NVIDIA's assembler, from the wheel of CUDA's compiler: PTX to the code of one GPU, with registers and spills."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rlx_base.errors import CompileError

__all__ = ["assemble", "version"]


@cache
def _ptxas() -> str:
    for package in ("nvidia.cu13", "nvidia.cuda_nvcc", "nvidia.cuda_nvcc_cu12"):
        spec = importlib.util.find_spec(package) if importlib.util.find_spec("nvidia") else None
        for folder in [] if spec is None else list(spec.submodule_search_locations or []):
            tool = Path(folder) / "bin" / "ptxas"
            if tool.is_file():
                return str(tool)
    raise CompileError("E204", tool="ptxas", hint="install the `nvidia-cuda-nvcc` package: rlx-compiler[cuda-tools]")


def assemble(name: str, cpu: str, folder: Path) -> tuple[bytes, Mapping[str, Mapping[str, int]]]:
    """Assembles a PTX file in `folder` for a GPU. Raises E205 where it is refused."""
    cubin = f"{Path(name).stem}.cubin"
    command = [_ptxas(), "-v", f"-arch={cpu}", name, "-o", cubin]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise CompileError("E205", tool="ptxas", caused_by=(done.stderr or done.stdout).strip()[-4000:])
    return (folder / cubin).read_bytes(), _used(done.stderr + done.stdout)


def _used(said: str) -> Mapping[str, Mapping[str, int]]:
    """What the assembler says of each kernel."""
    found: dict[str, dict[str, int]] = {}
    kernel = ""
    for line in said.splitlines():
        if named := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = named[1]
            found[kernel] = {"registers": 0, "spilled_bytes": 0, "shared_bytes": 0}
        elif kernel:
            if spilled := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
                found[kernel]["spilled_bytes"] = int(spilled[1]) + int(spilled[2])
            if used := re.search(r"Used (\d+) registers", line):
                found[kernel]["registers"] = int(used[1])
            if shared := re.search(r"(\d+) bytes smem", line):
                found[kernel]["shared_bytes"] = int(shared[1])
    return found


@cache
def version() -> str:
    """`ptxas 13.5.37`."""
    done = subprocess.run([_ptxas(), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"V([\d.]+)", done.stdout)
    return f"ptxas {found[1] if found else 'unknown'}"
