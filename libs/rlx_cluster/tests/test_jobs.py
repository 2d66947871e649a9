"""Whatever the order of lost, doubled and late messages, a task ends exactly once."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rlx_cluster.jobs import (
    FINAL,
    AttemptEnded,
    AttemptStarted,
    Cancel,
    Claim,
    Event,
    Heartbeat,
    Over,
    Policy,
    Publish,
    Report,
    State,
    Task,
    TaskEnded,
    Tick,
    job_state,
    step,
    submit,
)

POLICY = Policy(lease=4.0, max_losses=3)


class Life(RuleBasedStateMachine):
    """One task, a lossy queue, and workers that remember attempts long after they lost them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.queue: list[int] = []
        self.holders: list[tuple[int, str]] = []  # every claim that was ever granted
        self.log: list[object] = []
        first = submit("t")
        self.task: Task = first.task
        self.obey(first.instructions)

    def obey(self, instructions: tuple[object, ...]) -> None:
        self.log += instructions
        self.queue += [order.attempt for order in instructions if isinstance(order, Publish)]

    def happen(self, event: Event[str]) -> Over | None:
        before = self.task
        result = step(self.task, event, self.now, POLICY)
        self.task = result.task
        if result.refusal is not None:
            assert self.task == before
            assert not result.instructions
        self.obey(result.instructions)
        return result.refusal

    def claim(self, attempt: int, token: str) -> None:
        if self.happen(Claim(attempt, token)) is None:
            self.holders.append((attempt, token))

    @rule(token=st.sampled_from("abc"), keep=st.booleans(), pick=st.integers(0, 50))
    def a_message_is_delivered_perhaps_again(self, token: str, keep: bool, pick: int) -> None:
        if self.queue:
            place = pick % len(self.queue)
            self.claim(self.queue[place] if keep else self.queue.pop(place), token)

    @rule(pick=st.integers(0, 50))
    def a_message_is_lost(self, pick: int) -> None:
        if self.queue:
            self.queue.pop(pick % len(self.queue))

    @rule()
    def the_reconciler_publishes_again(self) -> None:
        if self.task.state == "queued":
            self.queue.append(self.task.attempt + 1)

    @rule(attempt=st.integers(0, 6), token=st.sampled_from("abc"))
    def a_stranger_claims_any_number(self, attempt: int, token: str) -> None:
        self.claim(attempt, token)

    @rule(pick=st.integers(0, 50))
    def a_holder_beats(self, pick: int) -> None:
        if self.holders:
            attempt, token = self.holders[pick % len(self.holders)]
            self.happen(Heartbeat(attempt, token))

    @rule(pick=st.integers(0, 50), outcome=st.sampled_from(["succeeded", "failed", "abandoned"]))
    def a_holder_reports(self, pick: int, outcome: str) -> None:
        if self.holders:
            attempt, token = self.holders[pick % len(self.holders)]
            self.happen(Report(attempt, token, outcome, f"payload {attempt}"))

    @rule()
    def it_is_cancelled(self) -> None:
        self.happen(Cancel())

    @rule(seconds=st.sampled_from([0.5, 3.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.happen(Tick())

    @invariant()
    def it_ended_once_if_it_ended(self) -> None:
        ends = [order for order in self.log if isinstance(order, TaskEnded)]
        assert len(ends) == (self.task.state in FINAL)
        assert all(end.state == self.task.state for end in ends)

    @invariant()
    def at_most_one_attempt_is_open_and_each_number_was_given_once(self) -> None:
        started = [order.number for order in self.log if isinstance(order, AttemptStarted)]
        ended = [order.number for order in self.log if isinstance(order, AttemptEnded)]
        assert started == list(range(1, self.task.attempt + 1))
        assert ended == started[: len(ended)]
        assert len(started) - len(ended) == (self.task.state == "running")

    @invariant()
    def the_losses_are_those_that_happened(self) -> None:
        outcomes = Counter(order.outcome for order in self.log if isinstance(order, AttemptEnded))
        assert self.task.losses == outcomes["lost"] <= POLICY.max_losses

    def teardown(self) -> None:
        """However it went, a network that delivers at last lets it end."""
        for _ in range(POLICY.max_losses + 1):
            self.the_reconciler_publishes_again()
            if self.task.state == "queued":
                self.claim(self.task.attempt + 1, "z")
            if self.task.state == "running":
                assert self.task.token is not None
                self.happen(Report(self.task.attempt, self.task.token, "succeeded", "done"))
        assert self.task.state in FINAL
        self.it_ended_once_if_it_ended()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def running(attempt: int = 1, losses: int = 0) -> Task:
    return Task("t", "running", attempt, losses, "token", 10.0)


def test_the_first_claim_wins_and_its_repetition_gets_the_same_answer() -> None:
    won = step(submit("t").task, Claim(1, "mine"), 0.0, POLICY)
    assert won.instructions == (AttemptStarted(1),)
    again = step(won.task, Claim(1, "mine"), 1.0, POLICY)
    assert (again.refusal, again.instructions) == (None, ())
    rival = step(won.task, Claim(1, "other"), 1.0, POLICY)
    assert rival.refusal == Over("another worker has it")


@pytest.mark.parametrize(
    ("task", "attempt", "why"),
    [
        (Task("t"), 2, "the next attempt is 1"),
        (Task("t", "queued", 2, 2), 1, "attempt 3 is next"),
        (running(2, 1), 1, "attempt 2 is on"),
        (Task("t", "succeeded", 1, 0, "token"), 2, "the task has succeeded"),
        (Task("t", "cancelled", 1, 0, "token"), 1, "the task was cancelled"),
    ],
)
def test_a_refused_claim_says_why(task: Task, attempt: int, why: str) -> None:
    assert step(task, Claim(attempt, "late"), 0.0, POLICY).refusal == Over(why)


def test_a_heartbeat_renews_the_lease_and_silence_ends_it() -> None:
    task = step(running(), Heartbeat(1, "token"), 9.0, POLICY).task
    assert step(task, Tick(), 12.9, POLICY).task == task
    lost = step(task, Tick(), 13.0, POLICY)
    assert lost.instructions == (AttemptEnded(1, "lost"), Publish(2))
    late = step(lost.task, Report(1, "token", "succeeded", "x"), 13.1, POLICY)
    assert late.refusal == Over("attempt 2 is next")


def test_the_last_loss_fails_the_task() -> None:
    last = step(running(3, 2), Report(3, "token", "abandoned", "no disk"), 0.0, POLICY)
    assert last.instructions == (AttemptEnded(3, "lost"), TaskEnded("failed", None))
    assert (last.task.state, last.task.losses) == ("failed", 3)


def test_a_repeated_report_is_taken_and_changes_nothing() -> None:
    report = Report(1, "token", "succeeded", "digest")
    once = step(running(), report, 0.0, POLICY)
    assert once.instructions == (AttemptEnded(1, "succeeded"), TaskEnded("succeeded", "digest"))
    twice = step(once.task, report, 0.0, POLICY)
    assert (twice.task, twice.instructions, twice.refusal) == (once.task, (), None)


def test_cancel_is_idempotent_and_ends_a_running_attempt() -> None:
    once = step(running(), Cancel(), 0.0, POLICY)
    assert once.instructions == (AttemptEnded(1, "cancelled"), TaskEnded("cancelled", None))
    assert step(once.task, Cancel(), 0.0, POLICY).instructions == ()
    assert step(once.task, Heartbeat(1, "token"), 0.0, POLICY).refusal == Over("the task was cancelled")


@given(st.lists(st.sampled_from(["queued", "running", *sorted(FINAL)]), min_size=1, max_size=4))
def test_a_job_is_final_when_all_its_tasks_are(states: list[State]) -> None:
    state = job_state(cancelled=False, tasks=states)
    assert (state in FINAL) == all(one in FINAL for one in states)
    assert (state == "succeeded") == (set(states) == {"succeeded"})
    assert job_state(cancelled=True, tasks=states) == "cancelled"


def test_a_job_runs_from_its_first_claim_on() -> None:
    for one, other in product(["queued", "running", "succeeded"], repeat=2):
        expected = "queued" if one == other == "queued" else "succeeded" if one == other == "succeeded" else "running"
        assert job_state(cancelled=False, tasks=[one, other]) == expected
