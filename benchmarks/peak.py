"""What the processor can do at most: single-precision multiply-adds in registers, as gcc makes them for this machine.

A share of the peak taken in the same minutes says more than GFLOP/s: machines throttle, and neighbours come and go.
With several threads it says how well this machine scales at all: nothing that computes can scale better.
"""

import subprocess
from pathlib import Path

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__AVX512F__)
  #define LANES 16
#elif defined(__AVX__)
  #define LANES 8
#else
  #define LANES 4
#endif
/* Independent sums: more than latency times units (4 x 2), fewer than the registers. */
#define SUMS 12
typedef float vector __attribute__((vector_size(4 * LANES)));

static const long steps = 2000000;
static pthread_barrier_t begin;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

struct share { double start, end; float total; };

static void *run(void *argument) {
  struct share *share = argument;
  vector sums[SUMS] = {0}, a = {0}, b = {0};
  a += 0.999f, b += 0.5f;
  pthread_barrier_wait(&begin);
  share->start = now();
  for (long step = 0; step < steps; step++)
    for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * a + b;
  share->end = now();
  vector total = {0};
  for (int i = 0; i < SUMS; i++) total += sums[i];
  share->total = total[0];
  return 0;
}

int main(int count, char **arguments) {
  int threads = count > 1 ? atoi(arguments[1]) : 1;
  pthread_t members[threads];
  struct share shares[threads];
  pthread_barrier_init(&begin, 0, threads);
  for (int i = 1; i < threads; i++) pthread_create(&members[i], 0, run, &shares[i]);
  run(&shares[0]);
  double start = shares[0].start, end = shares[0].end, total = shares[0].total;
  for (int i = 1; i < threads; i++) {
    pthread_join(members[i], 0);
    if (shares[i].start < start) start = shares[i].start;
    if (shares[i].end > end) end = shares[i].end;
    total += shares[i].total;
  }
  printf("%.9g %g\n", 2.0 * LANES * SUMS * steps * threads / (end - start), total);
}
"""
FLAGS = ["-O2", "-march=native", "-ffp-contract=fast", "-funroll-loops", "-mprefer-vector-width=512", "-pthread"]


class Peak:
    """The compiled measurement; each `measure` is a run of its own."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "peak"
        subprocess.run(["gcc", *FLAGS, "-x", "c", "-", "-o", self.program], input=SOURCE, text=True, check=True)

    def measure(self, threads: int = 1) -> float:
        """FLOP/s of so many cores together, now."""
        command = [self.program, str(threads)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return float(answer.split()[0])
