/* Classifies the pictures that the linker put beside the code, and prints each row of probabilities over semihosting.
   All memory that the model needs is set aside here, by constants of its header. */
#include "rlx_kernel.h"
#include "rlx_model.h"

extern const unsigned char rlx_weights[], rlx_pictures[], rlx_pictures_end[];

static _Alignas(RLX_ALIGNMENT) unsigned char workspace[RLX_WORKSPACE_BYTES + 1];
static _Alignas(RLX_ALIGNMENT) RLX_INPUT_picture_TYPE picture[RLX_INPUT_picture_ELEMENTS];
static _Alignas(RLX_ALIGNMENT) RLX_OUTPUT_probabilities_TYPE probabilities[RLX_OUTPUT_probabilities_ELEMENTS];

static void *const inputs[RLX_INPUTS] = {[RLX_INPUT_picture] = picture};
static void *const outputs[RLX_OUTPUTS] = {[RLX_OUTPUT_probabilities] = probabilities};
static const rlx_call call = {
    .size = sizeof call, .abi_version = RLX_ABI_VERSION, .inputs = inputs, .outputs = outputs,
    .weights = rlx_weights, .workspace = workspace, .thread_count = 1,
};

/* Arm's semihosting: the debugger, here QEMU, does what the board has no device for. */
static int ask(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void print(const char *text) { ask(0x04, text); }

/* A number. */
static void print_number(unsigned value) {
    char text[12], *at = text + sizeof text;
    *--at = 0;
    do *--at = (char)('0' + value % 10); while (value /= 10);
    print(at);
}

int main(void) {
    for (const unsigned char *next = rlx_pictures; next < rlx_pictures_end; next += sizeof picture) {
        for (unsigned i = 0; i < sizeof picture; i++) picture[i] = next[i];
        if (rlx_main(&call) != RLX_OK) return 1;
        for (unsigned i = 0; i < RLX_OUTPUT_probabilities_ELEMENTS; i++) {
            print_number((unsigned)(probabilities[i] * 1e6f + 0.5f));
            print(" ");
        }
        print("\n");
    }
    return 0;
}

/* The vector table and what runs before main. */
extern unsigned _stack_top, _data_start, _data_end, _data_source, _bss_start, _bss_end;

void reset(void) {
    volatile unsigned *access = (volatile unsigned *)0xE000ED88; /* CPACR: lets code use the floating-point unit */
    *access |= 0xFu << 20;
    __asm__ volatile("dsb\n isb");
    for (unsigned *to = &_data_start, *from = &_data_source; to < &_data_end;) *to++ = *from++;
    for (unsigned *to = &_bss_start; to < &_bss_end;) *to++ = 0;
    /* SYS_EXIT with "the application ended", or an error. */
    ask(0x18, (const void *)(main() == 0 ? 0x20026 : 0x20023));
    for (;;) {
    }
}

static void fault(void) {
    print("fault\n");
    ask(0x18, (const void *)0x20023);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    &_stack_top, (const void *)reset, (const void *)fault, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault,
};
