"""Running the tests one by one, each with its outcome.

Compiled code runs in a child process: a kernel that crashes ends its child and fails its own test, and a new child goes
on with the next.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, Literal
from unittest import SkipTest

from onnx.backend.test import BackendTest

from tests.conformance.backend import RlxBackend, Run, reason

__all__ = ["EXCLUDED", "PASSING", "SUITES", "Outcome", "excluded_tests", "run_suite", "test_names"]

SUITES: Final = {
    "node": "OnnxBackendNodeModelTest",
    "simple": "OnnxBackendSimpleModelTest",
    "real": "OnnxBackendRealModelTest",
    "pytorch-converted": "OnnxBackendPyTorchConvertedModelTest",
    "pytorch-operator": "OnnxBackendPyTorchOperatorModelTest",
}
# Their results are random, and no seed makes two implementations agree.
EXCLUDED: Final = re.compile(r"test_bernoulli")
Result = Literal["passed", "host", "specialised", "failed", "skipped", "crashed"]

PASSING: Final = ("passed", "host", "specialised")


@dataclass(frozen=True)
class Outcome:
    """What came of a test.

    "passed": every output is computed by generated kernels (or interpreted) from the test's inputs. "host": so it is,
    but that the ops in `detail` ran on the host, between kernels. "specialised": it passed, imported for the values of
    the inputs in `detail`, or with every output folded from what its inputs are (the length of a sequence).
    """

    suite: str
    name: str
    result: Result
    operators: tuple[str, ...]
    detail: str = ""


@cache
def _cases(suite: str) -> dict[str, tuple[Any, Callable[..., Any]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        backend = BackendTest(RlxBackend, __name__)
    backend.exclude(r"_cuda$")
    case = backend.test_cases[SUITES[suite]]
    names = [name for name in dir(case) if name.startswith("test_") and name.endswith("_cpu")]
    return {name.removesuffix("_cpu"): (case, getattr(case, name)) for name in names}


def test_names(suite: str) -> list[str]:
    """The tests of a suite that are counted."""
    return [name for name in _cases(suite) if not EXCLUDED.match(name)]


def excluded_tests() -> list[str]:
    """The tests that are not counted, by name."""
    return [name for suite in SUITES for name in _cases(suite) if EXCLUDED.match(name)]


test_names.__test__ = False  # type: ignore[attr-defined]


def _run(suite: str, name: str, engine: str) -> Outcome:
    RlxBackend.engine, RlxBackend.last = engine, None
    case, method = _cases(suite)[name]
    detail, result = "", "passed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            method(case(f"{name}_cpu"))
        except SkipTest as why:
            result, detail = "skipped", str(why)
        except Exception as error:
            result, detail = "failed", reason(error)
    last = RlxBackend.last
    operators = tuple(sorted({node.op_type for node in last.model.graph.node})) if last is not None else ()
    if result == "passed" and last is not None:
        result, detail = _how(last)
    return Outcome(suite, name, result, operators, detail)  # type: ignore[arg-type]


def _how(run: Run) -> tuple[str, str]:
    """How a test passed, and what else took part than kernels."""
    if run.specialised or run.folded:
        return "specialised", ", ".join(run.specialised) or "its structure"
    if run.host_ops:
        return "host", ", ".join(sorted(set(run.host_ops)))
    return "passed", ""


def run_suite(suite: str, engine: str, names: Sequence[str] | None = None) -> Iterator[Outcome]:
    """The outcomes, in order, as they come."""
    waiting = list(test_names(suite) if names is None else names)
    if engine == "interpreter":
        yield from (_run(suite, name, engine) for name in waiting)
        return
    while waiting:
        done = 0
        for outcome in _in_child(suite, engine, waiting):
            done += 1
            yield outcome
        waiting = waiting[done:]
        if waiting:
            yield Outcome(suite, waiting.pop(0), "crashed", (), "its process ended")


def _in_child(suite: str, engine: str, names: Sequence[str]) -> Iterator[Outcome]:
    """What a child gets done of the tests, until it has done all or crashed."""
    _cases(suite)  # loaded once, and inherited
    reader, writer = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=_child, args=(writer, suite, engine, names))
    process.start()
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            if line.endswith("\n"):
                fields = json.loads(line)
                yield Outcome(**{**fields, "operators": tuple(fields["operators"])})
    process.join()


def _child(writer: int, suite: str, engine: str, names: Sequence[str]) -> None:
    with os.fdopen(writer, "w") as out:
        for name in names:
            out.write(json.dumps(asdict(_run(suite, name, engine))) + "\n")
            out.flush()
