"""Empties the outbox into the broker: what a transaction owed is sent after it, as often as it takes.

A message may be sent twice, when the process ends between sending it and removing its row. That does no harm: of two
messages that offer one attempt, the first claim wins and the second is refused.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from sqlmodel import Session, col, select

from rlx_base.faults import reach
from rlx_compile_api.broker import Broker, BrokerDown
from rlx_compile_api.database import Database
from rlx_compile_api.tables import OutboxRow, TaskRow
from rlx_wire.jobs import CompileMessage

__all__ = ["Publisher"]

_BATCH: Final = 100
_IDLE: Final = 1.0
log = logging.getLogger(__name__)


class Publisher:
    """`run` until `stop`; `wake` says that the outbox has something."""

    def __init__(self, database: Database, broker: Broker, clock: Callable[[], float]) -> None:
        self._database = database
        self._broker = broker
        self._clock = clock
        self._awake = threading.Event()
        self._stopped = False

    def wake(self) -> None:
        self._awake.set()

    def stop(self) -> None:
        self._stopped = True
        self._awake.set()

    def run(self) -> None:
        while not self._stopped:
            self._awake.clear()
            try:
                while self.publish() and not self._stopped:
                    pass
            except BrokerDown as error:
                log.warning("the broker took no message, trying again: %s", error)
            except Exception:
                log.exception("the outbox could not be emptied, trying again")
            self._awake.wait(_IDLE)

    def publish(self) -> int:
        """Sends a batch; gives how many. Raises `BrokerDown`, with what was not sent still in the outbox."""
        rows = self._database.read(
            lambda session: session.exec(select(OutboxRow).order_by(col(OutboxRow.id)).limit(_BATCH)).all()
        )
        for row in rows:
            reach("publisher.before-send")
            message = CompileMessage(task_id=row.task, attempt=row.attempt, request_id=row.request_id)
            self._broker.send(message, row.queue)
            reach("publisher.after-send")
            self._database.write(lambda session, row=row: self._sent(session, row))  # type: ignore[misc]
        return len(rows)

    def _sent(self, session: Session, row: OutboxRow) -> None:
        there = session.get(OutboxRow, row.id)
        if there is not None:
            session.delete(there)
        task = session.exec(select(TaskRow).where(TaskRow.id == row.task).with_for_update()).one()
        task.published_at = self._clock()
