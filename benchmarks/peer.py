"""One peer in a process of its own: `python -m benchmarks.peer KIND MODEL INPUTS OUTPUTS`.

It loads the model, runs it once, leaves the outputs in OUTPUTS and prints `ready`. Then, for each line with a number
on its standard input, it runs the model that many times and prints the nanoseconds of each run as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]


def rlx(model: Path) -> Callable[[Arrays], Arrays]:
    import rlx_runtime

    return rlx_runtime.load(model, threads=1).run


def onnxruntime(model: Path) -> Callable[[Arrays], Arrays]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


KINDS = {"rlx": rlx, "onnxruntime": onnxruntime}


def main() -> None:
    kind, model, inputs_path, outputs_path = sys.argv[1:]
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with np.load(inputs_path) as file:
        inputs = dict(file)
    run = KINDS[kind](Path(model))
    np.savez(outputs_path, **run(inputs))
    print("ready", file=answers)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter_ns()
            run(inputs)
            times.append(time.perf_counter_ns() - start)
        print(json.dumps(times), file=answers)


if __name__ == "__main__":
    main()
