"""The way to the workers: Celery over Redis, which is transport only and may be lost or emptied at any time."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Protocol

from celery import Celery
from kombu.exceptions import OperationalError as KombuError
from redis import Redis, RedisError

from rlx_wire.jobs import COMPILE_TASK, CompileMessage

__all__ = ["Broker", "BrokerDown", "CeleryBroker"]

_TIMEOUT: Final = 2.0
log = logging.getLogger(__name__)


class BrokerDown(Exception):
    """The broker did not take the message, or did not answer; later it may."""


class Broker(Protocol):
    """What the publisher and the reconciler need. Both calls raise `BrokerDown`."""

    def send(self, message: CompileMessage, queue: str) -> None:
        """Hands a message over; it may still be lost afterwards."""

    def depths(self, queues: Iterable[str]) -> dict[str, int]:
        """How many messages wait in each queue, without those that a worker has taken."""

    def close(self) -> None: ...


class CeleryBroker:
    """A producer without a result backend: workers report to the API itself."""

    def __init__(self, url: str) -> None:
        self._celery = Celery("rlx", broker=url, set_as_current=False)
        self._celery.conf.update(
            task_serializer="json",
            accept_content=["json"],
            task_ignore_result=True,
            task_publish_retry=False,  # the outbox is what repeats
            broker_connection_timeout=_TIMEOUT,
            broker_transport_options={"socket_timeout": _TIMEOUT, "socket_connect_timeout": _TIMEOUT},
        )
        self._redis = Redis.from_url(url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT)

    def send(self, message: CompileMessage, queue: str) -> None:
        try:
            self._celery.send_task(COMPILE_TASK, kwargs=message.model_dump(mode="json"), queue=queue)
        except (KombuError, RedisError, OSError) as error:
            raise BrokerDown(str(error)) from error

    def depths(self, queues: Iterable[str]) -> dict[str, int]:
        try:
            # The transport keeps a queue as the Redis list of that name.
            return {queue: int(self._redis.llen(queue)) for queue in queues}
        except RedisError as error:
            raise BrokerDown(str(error)) from error

    def close(self) -> None:
        self._celery.close()
        self._redis.close()
