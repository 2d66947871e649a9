"""An application of compile-api for tests: its broker is a list, its clock stands still, no child reads uploads."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from rlx_compile_api.broker import BrokerDown
from rlx_compile_api.inspection import Inspected, Refused
from rlx_compile_api.service import Service
from rlx_wire.api import Program, ProgramOutput, TensorInfo
from rlx_wire.bundle import pack_bundle
from rlx_wire.jobs import TOKEN_HEADER, CompileMessage
from rlx_wire.problem import Problem
from tests.support.bundles import write_small_bundle

__all__ = ["Api", "Clock", "ListBroker", "inspect_text", "problem"]

TOKEN = "0123456789abcdef" * 2


@dataclass
class ListBroker:
    """A broker whose queues are lists; `down` makes it refuse."""

    queues: dict[str, list[CompileMessage]] = field(default_factory=lambda: defaultdict(list))
    down: bool = False

    def send(self, message: CompileMessage, queue: str) -> None:
        if self.down:
            raise BrokerDown("down")
        self.queues[queue].append(message)

    def depths(self, queues: Iterable[str]) -> dict[str, int]:
        if self.down:
            raise BrokerDown("down")
        return {queue: len(self.queues[queue]) for queue in queues}

    def close(self) -> None:
        pass


@dataclass
class Clock:
    """Time that passes when the test says so."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


class TextInspector:
    """Stands in for the child process: any text but one that begins with `bad` is a program."""

    def __call__(self, path: Path, /) -> Inspected:
        content = path.read_bytes()
        if content.startswith(b"bad"):
            problem = Problem(
                title="TextError",
                status=422,
                detail="no program",
                code="RLX-E001",
                line=1,
                column=1,
                rendered="model.rlx:1:1: error[RLX-E001]: no program\n    1 | bad\n      | ^^^",
            )
            raise Refused(problem)
        digest = hashlib.sha256(content).hexdigest()
        x = TensorInfo(name="x", dtype="float32", shape=(1, "n"))
        return Inspected(module="net", program_digest=digest, meaning_digest=digest, inputs=(x,), outputs=(x,))

    def program(self, path: Path, /) -> Program:
        x = TensorInfo(name="x", dtype="float32", shape=(1, "n"))
        output = ProgramOutput(name="x", value="x")
        text = path.read_text(encoding="utf-8")
        return Program(file=path.name, text=text, inputs=(x,), constants=(), nodes=(), outputs=(output,))


inspect_text = TextInspector()


@dataclass
class Api:
    """A running application and what it was given."""

    client: TestClient
    service: Service
    broker: ListBroker
    clock: Clock

    def upload(self, model: str = "net", content: bytes = b"program") -> dict[str, Any]:
        files = {"model": ("net.rlx", content)}
        answer = self.client.post(f"/v1/models/{model}/versions", files=files)
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    def compile(self, model: str = "net", *targets: str, **fields: object) -> dict[str, Any]:
        wanted = {"model": model, "targets": targets or ("llvm",), **fields}
        answer = self.client.post("/v1/compile", json=wanted)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def job(self, job: str) -> dict[str, Any]:
        return dict(self.client.get(f"/v1/jobs/{job}").json())

    def publish(self) -> int:
        return self.service.publisher.publish()

    # ── what a worker does ───────────────────────────────────────────────────

    def claim(self, task: str, attempt: int = 1, token: str = TOKEN, version: str = "0.1.0") -> httpx2.Response:
        body = {"token": token, "worker": "w1", "compiler_version": version}
        return self.client.post(f"/v1/tasks/{task}/attempts/{attempt}", json=body)

    def beat(self, task: str, attempt: int = 1, token: str = TOKEN, **progress: object) -> httpx2.Response:
        body: dict[str, object] = {"token": token}
        if progress:
            body["progress"] = progress
        return self.client.post(f"/v1/tasks/{task}/attempts/{attempt}/heartbeat", json=body)

    def send_bundle(self, folder: Path, task: dict[str, Any], program: str, attempt: int = 1) -> str:
        """Uploads a bundle as a worker does; gives its digest."""
        digest = write_small_bundle(folder / task["id"], program, task["target"], task["cpu"])
        path = f"/v1/tasks/{task['id']}/attempts/{attempt}/artifact/{digest}"
        archive = pack_bundle(folder / task["id"])
        answer = self.client.put(path, content=archive, headers={TOKEN_HEADER: TOKEN})
        assert answer.status_code == 204, answer.text
        return digest

    def report(self, task: str, attempt: int = 1, token: str = TOKEN, **result: object) -> httpx2.Response:
        return self.client.post(f"/v1/tasks/{task}/attempts/{attempt}/result", json={"token": token, **result})


def problem(response: httpx2.Response) -> dict[str, Any]:
    """The body of a refusal, checked for its form."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body: dict[str, Any] = json.loads(response.text)
    assert body["status"] == response.status_code
    assert body["code"].startswith("RLX-E")
    assert body["detail"]
    return body
