"""A manifest to start from."""

import pytest

from rlx_wire.manifest import KernelSpec, Manifest, NativeSegment, TensorSpec


@pytest.fixture
def manifest() -> Manifest:
    return Manifest(
        compiler_version="0.1.0",
        target="llvm",
        cpu="x86-64-v3",
        cpu_features=("avx2", "fma"),
        opt_level=3,
        program_digest="a" * 64,
        meaning_digest="b" * 64,
        model="classifier",
        inputs=(TensorSpec(name="image", dtype="float32", shape=("n", 3, 8, 8)),),
        outputs=(TensorSpec(name="logits", dtype="float32", shape=("n", 10)),),
        dims=("n",),
        workspace_bytes=4096,
        weights_bytes=5,
        kernels=(KernelSpec(name="conv", ops=("conv2d", "relu"), flops=100, bytes=10),),
        launch_plan=(NativeSegment(kernels=(0, 1)),),
    )
