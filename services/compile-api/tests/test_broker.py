"""The broker over a real Redis: what is sent lies in its queue, and a Redis that is away is said at once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlx_compile_api.broker import BrokerDown, CeleryBroker
from rlx_wire.jobs import COMPILE_TASK, CompileMessage
from tests.support.redis_server import RedisServer

MESSAGE = CompileMessage(task_id="task-1", attempt=2, request_id="r")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.kill()


@pytest.fixture
def broker(redis: RedisServer) -> Iterator[CeleryBroker]:
    redis.start()
    redis.empty()
    broker = CeleryBroker(redis.url)
    yield broker
    broker.close()


def test_a_message_lies_in_its_queue_with_ids_only(redis: RedisServer, broker: CeleryBroker) -> None:
    broker.send(MESSAGE, "compile.llvm")
    assert broker.depths(["compile.llvm", "compile.c"]) == {"compile.llvm": 1, "compile.c": 0}
    with redis.client() as client:
        message = json.loads(client.lrange("compile.llvm", 0, 0)[0])
    assert message["headers"]["task"] == COMPILE_TASK
    assert message["content-type"] == "application/json"
    assert len(json.dumps(message)) < 2000


def test_a_redis_that_is_away_is_said_and_its_return_is_noticed(redis: RedisServer, broker: CeleryBroker) -> None:
    broker.send(MESSAGE, "compile.llvm")
    redis.kill()
    began = time.monotonic()
    with pytest.raises(BrokerDown):
        broker.send(MESSAGE, "compile.llvm")
    with pytest.raises(BrokerDown):
        broker.depths(["compile.llvm"])
    assert time.monotonic() - began < 10
    redis.forget()
    redis.start()
    assert broker.depths(["compile.llvm"]) == {"compile.llvm": 0}
    broker.send(MESSAGE, "compile.llvm")
    assert broker.depths(["compile.llvm"]) == {"compile.llvm": 1}


def test_a_wrong_address_is_said(tmp_path: Path) -> None:
    broker = CeleryBroker("redis://127.0.0.1:1/0")
    with pytest.raises(BrokerDown):
        broker.send(MESSAGE, "compile.llvm")
    broker.close()
