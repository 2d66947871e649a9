"""`rlx_main` in C: check the call, then each launch of the plan between a beginning and an end.

The members of a team agree on cancellation at the barrier: the one that arrives last reads the caller's flag and
leaves what it read in `rlx_barrier.reserved`, which the others read before they go on. So all stop at the same
launch, whenever the flag is set.
"""

from __future__ import annotations

from typing import Final

from rlx_compiler.loops.program import Argument, Program, Stretch

__all__ = ["entry", "kernel_symbol"]


def kernel_symbol(name: str) -> str:
    """The name of a kernel's function: it can be no other name of the file."""
    return f"k_{name}"


_SUPPORT: Final = """\
#if defined(__x86_64__) || defined(__i386__)
#define RLX_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RLX_PAUSE() __asm__ volatile("yield")
#else
#define RLX_PAUSE() ((void)0)
#endif

static int64_t rlx_now(const rlx_call *call) {
    int64_t time[2] = {0, 0};
    call->clock(RLX_CLOCK_MONOTONIC, time);
    return time[0] * 1000000000 + time[1];
}

static rlx_trace *rlx_row(const rlx_call *call, int32_t kernel) {
    if (!call->trace || !call->clock) return 0;
    return call->trace + kernel * call->thread_count + call->thread_index;
}

static int32_t rlx_cancelled(const rlx_call *call) {
    return call->cancel ? __atomic_load_n(call->cancel, __ATOMIC_RELAXED) : 0;
}

static void rlx_wait(const rlx_call *call) {
    rlx_barrier *barrier = call->barrier;
    const int32_t generation = __atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL) == call->thread_count) {
        __atomic_store_n(&barrier->reserved, rlx_cancelled(call), __ATOMIC_RELAXED);
        __atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&barrier->generation, generation + 1, __ATOMIC_RELEASE);
        return;
    }
    const int32_t spins = barrier->spins;
    int32_t count = 0;
    while (__atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE) == generation) {
        if (count < spins || !call->park) {
            RLX_PAUSE();
            count += count < spins;
        } else {
            call->park();
        }
    }
}

static int32_t rlx_begin(const rlx_call *call, int32_t kernel) {
    rlx_trace *row = rlx_row(call, kernel);
    if (row) row->start_ns = rlx_now(call);
    if (call->thread_count == 1) return rlx_cancelled(call);
    return kernel == 0 ? 0 : __atomic_load_n(&call->barrier->reserved, __ATOMIC_RELAXED);
}

static void rlx_end(const rlx_call *call, int32_t kernel) {
    rlx_trace *row = rlx_row(call, kernel);
    if (row) {
        row->end_ns = rlx_now(call);
        row->kernel = kernel;
        row->thread = call->thread_index;
    }
    if (call->thread_count != 1) rlx_wait(call);
}
"""


def entry(program: Program) -> str:
    """The support functions and `rlx_main`; one more function for each stretch of launches after a host op."""
    return "\n".join([_SUPPORT, *(_function(program, stretch) for stretch in program.stretches)])


def _function(program: Program, stretch: Stretch) -> str:
    lines = [
        f"int32_t {stretch.symbol}(const rlx_call *call);",  # the header declares the first one alone
        f'__attribute__((visibility("default"))) int32_t {stretch.symbol}(const rlx_call *call) {{',
        "    if (call->size < sizeof(rlx_call) || call->abi_version != RLX_ABI_VERSION) return RLX_BAD_CALL;",
        "    if (call->thread_count != 1 && !call->barrier) return RLX_BAD_CALL;",
    ]
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for place, launch in enumerate(program.launches[stretch.first : stretch.end], stretch.first):
        kernel = kernels[launch.kernel]
        leader = "" if kernel.parallel is not None else "if (call->thread_index == 0) "
        texts = ["call->thread_index", "call->thread_count", "call->dims", *map(_address, launch.arguments)]
        lines += [
            f"    if (rlx_begin(call, {place})) return RLX_CANCELLED;",
            f"    {leader}{kernel_symbol(launch.kernel)}({', '.join(texts)});",
            f"    rlx_end(call, {place});",
        ]
    return "\n".join([*lines, "    return RLX_OK;", "}", ""])


def _address(argument: Argument) -> str:
    """The pointer that an argument is; a void pointer, so that it becomes any other without a cast."""
    match argument.region:
        case "input" | "output":
            return f"call->{argument.region}s[{argument.position}]"
        case "weights":
            return f"(const void *)((const char *)call->weights + {argument.position})"
        case region:
            return f"(void *)((char *)call->{region} + {argument.position})"
