"""One peer in a process of its own: `python -m benchmarks.peer KIND MODEL INPUTS OUTPUTS THREADS`.

It loads the model, runs it once, leaves the outputs in OUTPUTS and prints the seconds that loading took. Then, for each
line with a number on its standard input, it runs the model that many times and prints the nanoseconds of each run as
JSON.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]
Run = Callable[[Arrays], Arrays]


def rlx(model: Path, threads: int) -> Run:
    import rlx_runtime

    return rlx_runtime.load(model, threads=threads).run


def onnxruntime(model: Path, threads: int) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def openvino(model: Path, threads: int) -> Run:
    import openvino as ov

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        # Where the processor has bfloat16, that is what it would compute in by itself.
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = ov.Core().compile_model(str(model), "CPU", settings)
    request = compiled.create_infer_request()
    names = [output.any_name for output in compiled.outputs]

    def run(inputs: Arrays) -> Arrays:
        request.infer(inputs, share_inputs=True)
        return {name: request.get_output_tensor(place).data for place, name in enumerate(names)}

    return run


KINDS = {"rlx": rlx, "onnxruntime": onnxruntime, "openvino": openvino}
PACKAGES = {"rlx": "rlx_runtime", "onnxruntime": "onnxruntime", "openvino": "openvino"}


def main() -> None:
    kind, model, inputs_path, outputs_path, threads = sys.argv[1:]
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    with np.load(inputs_path) as file:
        inputs = dict(file)
    importlib.import_module(PACKAGES[kind])
    begin = time.perf_counter()
    run = KINDS[kind](Path(model), int(threads))
    seconds = time.perf_counter() - begin
    np.savez(outputs_path, **run(inputs))
    print(json.dumps(seconds), file=answers)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter_ns()
            run(inputs)
            times.append(time.perf_counter_ns() - start)
        print(json.dumps(times), file=answers)


if __name__ == "__main__":
    main()
