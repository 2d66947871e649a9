"""From a bundle of `c:portable` to an image for a board, and the board in QEMU."""

import subprocess
from pathlib import Path
from shutil import copy

import numpy as np

from rlx_compiler.toolchain.gcc import FLAGS

__all__ = ["build_image", "run_image"]

HERE = Path(__file__).parent
CPU = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
STRICT = ("-Wall", "-Werror", "-ffreestanding", "-nostdlib")


def build_image(bundle: Path, pictures: np.ndarray, folder: Path) -> Path:
    """Compiles the bundle's C with the start-up code. Nothing is linked but what the compiler itself needs (libgcc:
    64-bit division on a 32-bit machine)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("kernel.c", "rlx_kernel.h", "rlx_model.h", "weights.bin"):
        copy(bundle / name, folder)
    (folder / "pictures.bin").write_bytes(pictures.tobytes())
    sources = ["kernel.c", *(str(HERE / name) for name in ("main.c", "data.s"))]
    command = ["arm-none-eabi-gcc", *CPU, *STRICT, *FLAGS, "-O2", "-I.", *sources, "-T", str(HERE / "board.ld")]
    subprocess.run([*command, "-lgcc", "-o", "firmware.elf"], cwd=folder, check=True)
    return folder / "firmware.elf"


def run_image(image: Path, seconds: float = 60.0) -> np.ndarray:
    """The probabilities that the board prints, a row a picture."""
    command = ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none"]
    done = subprocess.run(
        [*command, "-chardev", "stdio,id=host", "-semihosting-config", "enable=on,chardev=host", "-kernel", str(image)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=True,
    )
    return np.array([[int(word) for word in line.split()] for line in done.stdout.splitlines()]) / 1e6
