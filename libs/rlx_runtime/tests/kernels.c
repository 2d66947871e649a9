/* Hand-written code that obeys the ABI, for tests: y = reverse(x * w) in two kernels with a barrier between them.
 *
 * The second kernel reads what other members wrote in the first, so a barrier that lets anybody through too early gives
 * wrong sums. The first element of x asks for a misfortune: see FATE. */
#include "rlx_kernel.h"

#ifndef COUNT
#define COUNT 0 /* elements of x; 0: the first symbolic dim */
#endif
#ifndef ABI
#define ABI RLX_ABI_VERSION
#endif
#define FATE_CRASH -666.0f   /* dereferences NULL */
#define FATE_PATIENT -555.0f /* computes until it is cancelled */
#define FATE_DEAF -444.0f    /* computes for ever */

static void meet(const rlx_call *call) {
    rlx_barrier *barrier = call->barrier;
    if (call->thread_count == 1)
        return;
    int32_t generation = __atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL) == call->thread_count) {
        __atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&barrier->generation, generation + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int32_t spins = 0; __atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE) == generation; spins++)
        if (spins >= barrier->spins && call->park)
            call->park();
}

static int cancelled(const rlx_call *call) {
    return call->cancel && __atomic_load_n(call->cancel, __ATOMIC_ACQUIRE);
}

static int64_t now(const rlx_call *call) {
    int64_t time[2];
    call->clock(RLX_CLOCK_MONOTONIC, time);
    return time[0] * 1000000000 + time[1];
}

static void record(const rlx_call *call, int32_t kernel, int64_t start) {
    if (!call->trace || !call->clock)
        return;
    rlx_trace *row = call->trace + kernel * call->thread_count + call->thread_index;
    *row = (rlx_trace){start, now(call), kernel, call->thread_index};
}

int32_t rlx_main(const rlx_call *call) {
    if (call->abi_version != ABI || call->size < sizeof(rlx_call))
        return RLX_BAD_CALL;
    const int64_t count = COUNT ? COUNT : call->dims[0];
    const int64_t first = count * call->thread_index / call->thread_count;
    const int64_t end = count * (call->thread_index + 1) / call->thread_count;
    const float *x = call->inputs[0], w = *(const float *)call->weights;
    float *y = call->outputs[0], *product = call->workspace;
    const int traced = call->trace && call->clock;

    if (count && x[0] == FATE_CRASH)
        *(volatile int *)0 = 1;
    while (count && x[0] == FATE_DEAF)
        if (call->park)
            call->park();
    while (count && x[0] == FATE_PATIENT && !cancelled(call))
        if (call->park)
            call->park();
    if (cancelled(call))
        return RLX_CANCELLED;

    int64_t start = traced ? now(call) : 0;
    for (int64_t i = first; i < end; i++)
        product[i] = x[i] * w;
    record(call, 0, start);
    meet(call);
    start = traced ? now(call) : 0;
    for (int64_t i = first; i < end; i++)
        y[i] = product[count - 1 - i];
    record(call, 1, start);
    meet(call);
    return RLX_OK;
}
