"""Looks, every second, for what was lost: attempts whose lease is over, and messages that are in no queue any more.

Redis may be emptied and workers may be killed at any point. What a task needs next follows from the database alone.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict

from sqlmodel import Session, col, select

from rlx_base.errors import RequestError
from rlx_cluster import jobs
from rlx_compile_api.broker import Broker, BrokerDown
from rlx_compile_api.orchestration import Orchestration
from rlx_compile_api.tables import OutboxRow, TaskRow
from rlx_wire.jobs import queue_of

__all__ = ["Reconciler"]

log = logging.getLogger(__name__)


class Reconciler:
    """`run` until `stop`."""

    def __init__(
        self,
        orchestration: Orchestration,
        broker: Broker,
        *,
        interval: float,
        grace: float,
    ) -> None:
        self._orchestration = orchestration
        self._broker = broker
        self._interval = interval
        self._grace = grace
        self._stop = threading.Event()
        # Workers could not renew their leases while this service was down: they get one lease's time to do so.
        self._leases_count_from = orchestration.clock() + orchestration.policy.lease
        self._short: set[str] = set()

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.end_leases()
                self.find_lost_messages()
            except BrokerDown as error:
                log.warning("the broker cannot be asked for its queues: %s", error)
            except Exception:
                log.exception("the reconciler failed, trying again")

    def end_leases(self) -> int:
        """Ends the attempts whose lease is over; gives how many."""
        now = self._orchestration.clock()
        if now < self._leases_count_from:
            return 0
        query = select(TaskRow.id).where(TaskRow.state == "running", col(TaskRow.expires) <= now)
        overdue = self._orchestration.database.read(lambda session: session.exec(query).all())
        for task in overdue:
            log.warning("the worker of task %s fell silent: the attempt is lost", task)
            try:
                self._orchestration.change(task, jobs.Tick())
            except RequestError as error:
                log.warning("%s", error)
        return len(overdue)

    def find_lost_messages(self) -> int:
        """Owes messages again where a queue holds fewer than there are tasks that wait in it; gives how many.

        A worker that has taken a message and not yet claimed its attempt looks the same for a moment, so a queue must
        be short twice in a row. Which messages are gone is not known; a queue is emptied from its old end, so as many
        are sent again as are missing, the oldest first. One that was not lost is refused when it is claimed.
        """
        database, clock = self._orchestration.database, self._orchestration.clock
        before = clock() - self._grace
        queues = database.read(lambda session: self._waiting(session, before)).keys()
        # Asked before the tasks are counted: a task that is claimed in between lowers the count, not the depth.
        depths = self._broker.depths(queues) if queues else {}
        waiting = database.read(lambda session: self._waiting(session, before)) if queues else {}
        missing = {queue: len(waiting.get(queue, ())) - depths[queue] for queue in queues}
        short = {queue for queue, count in missing.items() if count > 0}
        lost = [task for queue in sorted(short & self._short) for task in waiting[queue][: missing[queue]]]
        self._short = short - self._short
        if lost:
            log.warning("%d messages are in no queue: they are sent again", len(lost))
            database.write(lambda session: self._owe(session, lost))
            self._orchestration.changed()
        return len(lost)

    def _waiting(self, session: Session, before: float) -> dict[str, list[str]]:
        """Tasks by queue whose message was handed over before `before` and not heard of since, the oldest first."""
        query = select(TaskRow).where(TaskRow.state == "queued", col(TaskRow.published_at) < before)
        queues: dict[str, list[str]] = defaultdict(list)
        for row in session.exec(query.order_by(col(TaskRow.published_at), col(TaskRow.id))):
            queues[queue_of(row.target)].append(row.id)
        return dict(queues)

    def _owe(self, session: Session, tasks: list[str]) -> None:
        query = select(TaskRow).where(col(TaskRow.id).in_(tasks), TaskRow.state == "queued")
        for row in session.exec(query.order_by(col(TaskRow.id)).with_for_update()):
            if session.exec(select(OutboxRow.id).where(OutboxRow.task == row.id)).first() is None:
                self._orchestration.owe_message(session, row, row.attempt + 1)
