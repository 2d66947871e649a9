"""What LLVM's GPU backends want around a kernel: how it is marked, where memory is, how threads know themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["AMDGPU", "NVPTX", "Gpu"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """`kernel` is what stands before a kernel's name; `stack` the type of a pointer to a thread's own memory; `block`,
    `thread` and `barrier` are intrinsics; `flags` stands at the end of a module, and numbers metadata from `!1` on."""

    triple: str
    kernel: str
    block: str
    thread: str
    barrier: str
    barrier_call: str
    stack: str = "ptr"
    flags: str = ""
    limit: str = ""

    def limits(self, threads: int) -> str:
        """The attributes of a kernel whose blocks have so many threads."""
        return self.limit.format(threads=threads)


NVPTX: Final = Gpu(
    triple="nvptx64-nvidia-cuda",
    kernel="ptx_kernel",
    block="llvm.nvvm.read.ptx.sreg.ctaid.x",
    thread="llvm.nvvm.read.ptx.sreg.tid.x",
    barrier="declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
    barrier_call="call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    limit='nounwind "nvvm.maxntid"="{threads}"',
)

AMDGPU: Final = Gpu(
    triple="amdgcn-amd-amdhsa",
    kernel="amdgpu_kernel",
    block="llvm.amdgcn.workgroup.id.x",
    thread="llvm.amdgcn.workitem.id.x",
    barrier="declare void @llvm.amdgcn.s.barrier()",
    barrier_call=(
        'fence syncscope("workgroup") release\n  call void @llvm.amdgcn.s.barrier()\n'
        '  fence syncscope("workgroup") acquire'
    ),
    stack="ptr addrspace(5)",
    limit='nounwind "amdgpu-flat-work-group-size"="{threads},{threads}"',
    flags='!llvm.module.flags = !{!1}\n!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}',
)
