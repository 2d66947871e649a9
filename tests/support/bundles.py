"""Bundles in the right form without code in them: for what carries bundles and does not run them."""

from __future__ import annotations

from pathlib import Path

from rlx_wire.bundle import write_bundle
from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec

__all__ = ["write_small_bundle"]


def write_small_bundle(folder: Path, program: str, target: str, cpu: str, opt_level: int = 3) -> str:
    """Writes one; gives its digest, which follows from the arguments alone."""
    tensor = TensorSpec(name="x", dtype="float32", shape=(1, 4))
    manifest = Manifest(
        compiler_version="0.1.0",
        target=target,
        cpu=cpu,
        cpu_features=(),
        opt_level=opt_level,
        program_digest=program,
        meaning_digest=program,
        model="net",
        inputs=(tensor,),
        outputs=(tensor,),
        workspace_bytes=0,
        weights_bytes=7,
        kernels=(KernelSpec(name="k", ops=("relu",), flops=4, bytes=32),),
        launch_plan=(NativeSegment(kernels=(0, 1)),),
    )
    files: dict[str, bytes | Path] = {"weights.bin": b"weights", "librlx_kernel.so": b"\x7fELF not really"}
    return write_bundle(folder, manifest, files)
