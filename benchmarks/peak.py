"""What one core can do at most: single-precision multiply-adds in registers, as gcc makes them for this machine.

A share of the peak taken in the same minutes says more than GFLOP/s: machines throttle, and neighbours come and go.
"""

import subprocess
from pathlib import Path

SOURCE = r"""
#include <stdio.h>
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

int main(void) {
  const long steps = 2000000;
  vector sums[SUMS] = {0}, a = {0}, b = {0};
  a += 0.999f, b += 0.5f;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (long step = 0; step < steps; step++)
    for (int i = 0; i < SUMS; i++) sums[i] = sums[i] * a + b;
  clock_gettime(CLOCK_MONOTONIC, &end);
  vector total = {0};
  for (int i = 0; i < SUMS; i++) total += sums[i];
  double seconds = end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec);
  printf("%.9g %g\n", 2.0 * LANES * SUMS * steps / seconds, total[0]);
}
"""
FLAGS = ["-O2", "-march=native", "-ffp-contract=fast", "-funroll-loops", "-mprefer-vector-width=512"]


class Peak:
    """The compiled measurement; each `measure` is a run of its own."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "peak"
        subprocess.run(["gcc", *FLAGS, "-x", "c", "-", "-o", self.program], input=SOURCE, text=True, check=True)

    def measure(self) -> float:
        """FLOP/s of one core, now."""
        answer = subprocess.run([self.program], capture_output=True, text=True, check=True).stdout
        return float(answer.split()[0])
