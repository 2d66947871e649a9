"""The schemas of the API take what is right, refuse what is not, and say why."""

import pytest
from pydantic import ValidationError

from rlx_base.errors import RequestError, TextError
from rlx_base.span import Span
from rlx_wire.api import CompileRequest, Page, Progress, Task
from rlx_wire.jobs import Claim, CompileMessage, Result, queue_of
from rlx_wire.problem import Problem, Violation

TOKEN = "0" * 32
DIGEST = "a" * 64
FAULT = Problem(title="t", status=422, detail="d", code="RLX-E201")


def test_a_target_is_asked_for_once() -> None:
    wanted = CompileRequest(model="net", targets=("llvm", "c", "llvm", "llvm:x86-64-v4"))
    assert wanted.targets == ("llvm", "c", "llvm:x86-64-v4")
    assert wanted.options.opt_level == 3


@pytest.mark.parametrize(
    "change",
    [
        {"model": "a/b"},
        {"model": ""},
        {"targets": []},
        {"targets": ["LLVM"]},
        {"targets": ["llvm:"]},
        {"version": 0},
        {"version": 2**31},
        {"unknown": 1},
        {"options": {"dims": {"1n": 4}}},
        {"options": {"dims": {"n": -1}}},
    ],
)
def test_a_wrong_request_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CompileRequest.model_validate({"model": "net", "targets": ["llvm"]} | change)


def test_answers_may_gain_members() -> None:
    assert Progress.model_validate({"phase": "p", "fraction": 0.5, "later": 1}).fraction == 0.5
    with pytest.raises(ValidationError):
        Progress(phase="p", fraction=float("nan"))


def test_a_page_is_read_back_as_it_was_written() -> None:
    task = Task(id="t", target="c", cpu="x86-64", state="failed", problem=FAULT, created_at="2026-01-01T00:00:00Z")
    page = Page[Task](items=(task,), next="cursor")
    assert Page[Task].model_validate_json(page.model_dump_json()) == page


def test_a_queue_belongs_to_a_target_on_any_cpu() -> None:
    assert queue_of("llvm") == queue_of("llvm:x86-64-v4") == "compile.llvm"


def test_a_message_carries_ids_only() -> None:
    assert set(CompileMessage.model_fields) == {"task_id", "attempt", "request_id"}
    with pytest.raises(ValidationError):
        Claim(token="short", worker="w", compiler_version="1")


@pytest.mark.parametrize(
    ("outcome", "artifact", "problem", "fits"),
    [
        ("succeeded", DIGEST, None, True),
        ("failed", None, FAULT, True),
        ("abandoned", None, FAULT, True),
        ("succeeded", None, None, False),
        ("succeeded", DIGEST, FAULT, False),
        ("failed", DIGEST, FAULT, False),
        ("failed", None, None, False),
    ],
)
def test_a_result_says_what_came_of_it(outcome: str, artifact: str | None, problem: Problem | None, fits: bool) -> None:
    fields = {"token": TOKEN, "outcome": outcome, "artifact": artifact, "problem": problem}
    if fits:
        assert Result.model_validate(fields).outcome == outcome
    else:
        with pytest.raises(ValidationError):
            Result.model_validate(fields)


def test_a_problem_carries_both_lines_the_place_and_the_member_of_the_inference_protocol() -> None:
    error = TextError("E004", at=Span("m.rlx", 2, 3, 5), what="the text", fix="save it", caused_by="codec")
    problem = Problem.of(error, source="one\n  xx\n")
    assert (problem.file, problem.line, problem.column, problem.end_column) == ("m.rlx", 2, 3, 5)
    assert problem.error == problem.detail
    assert problem.caused_by == "codec"
    assert problem.rendered is not None
    assert "    2 |   xx\n      |   ^^" in problem.rendered
    assert problem.type == "urn:rlx:error:RLX-E004"
    assert Problem.model_validate_json(problem.body()) == problem


def test_a_problem_without_a_place_leaves_it_out() -> None:
    violation = Violation(field="model", message="too long")
    problem = Problem.of(RequestError("E433", what="x"), violations=(violation,))
    assert b"line" not in problem.body()
    assert problem.violations == (violation,)
