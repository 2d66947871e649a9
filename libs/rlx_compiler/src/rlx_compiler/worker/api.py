"""The calls of a worker to compile-api. What is lost on the way is repeated: every call may be."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
from pydantic import ValidationError

from rlx_base.errors import ArtifactError, ClusterError
from rlx_wire.api import Progress, SourceFile
from rlx_wire.jobs import (
    TOKEN_HEADER,
    Assignment,
    Claim,
    CompileMessage,
    Heartbeat,
    Lease,
    Result,
)
from rlx_wire.problem import Problem
from rlx_wire.service.logs import REQUEST_ID_HEADER

__all__ = ["AttemptOver", "Refused", "WorkerApi"]

_CHUNK: Final = 1 << 20
_PAUSES: Final = (0.1, 0.3, 1.0, 2.0, 4.0)
_STORE_FULL: Final = 507
_OVER: Final = 409
_SLOW_DOWN: Final = 429
log = logging.getLogger(__name__)


class AttemptOver(Exception):
    """The attempt is not ours, or not any more: stop, and drop the message."""


class Refused(Exception):
    """compile-api does not take what we send; `problem` is what it says about it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.status}: {problem.detail}")
        self.problem = problem

    @property
    def final(self) -> bool:
        """Whether another attempt would be answered the same: what was sent is at fault, or the store is full."""
        return self.problem.status < 500 or self.problem.status == _STORE_FULL


class WorkerApi:
    """One attempt's view of compile-api; every call but `source` raises `AttemptOver` once the attempt is over.

    Raises `Refused` where the service says no for another reason (of a full store: after some tries), E531 where it
    cannot be reached for some seconds.
    """

    def __init__(self, url: str, key: str | None, message: CompileMessage, token: str) -> None:
        self._path = f"/v1/tasks/{message.task_id}/attempts/{message.attempt}"
        self._token = token
        self._url = url
        headers = {REQUEST_ID_HEADER: message.request_id}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx.Client(base_url=url, headers=headers, timeout=httpx.Timeout(10.0, connect=2.0))

    def close(self) -> None:
        self._client.close()

    def claim(self, worker: str, compiler_version: str) -> Assignment:
        claim = Claim(token=self._token, worker=worker, compiler_version=compiler_version)
        return Assignment.model_validate_json(self._post("", claim).content)

    def beat(self, progress: Progress | None, timeout: float) -> Lease:
        """One try: the next heartbeat is the repetition. Raises httpx.TransportError where it did not arrive."""
        heartbeat = Heartbeat(token=self._token, progress=progress)
        answer = self._client.post(
            f"{self._path}/heartbeat", content=heartbeat.model_dump_json(), headers=_JSON, timeout=timeout
        )
        return Lease.model_validate_json(_checked(answer).content)

    def source(self, file: SourceFile, path: Path) -> None:
        """Fetches a file of the source and checks its digest. Raises E304 where it is another."""
        digest = hashlib.sha256()
        with (
            self._client.stream("GET", f"/v1/sources/{file.digest}") as answer,
            path.open("wb") as sink,
        ):
            if answer.is_error:
                answer.read()
            for chunk in _checked(answer).iter_bytes(_CHUNK):
                digest.update(chunk)
                sink.write(chunk)
        if digest.hexdigest() != file.digest:
            raise ArtifactError("E304", name=file.name, expected=file.digest, found=digest.hexdigest())

    def upload(self, archive: Path, digest: str) -> None:
        headers = {TOKEN_HEADER: self._token, "Content-Type": "application/zip"}
        for pause in _pauses():
            with archive.open("rb") as stream:
                answer = self._try("PUT", f"{self._path}/artifact/{digest}", pause, content=stream, headers=headers)
            if answer is not None:
                return

    def report(self, result: Result) -> None:
        self._post("/result", result)

    @property
    def token(self) -> str:
        return self._token

    def _post(self, path: str, body: Claim | Result) -> httpx.Response:
        for pause in _pauses():
            content = body.model_dump_json(exclude_none=True)
            answer = self._try("POST", f"{self._path}{path}", pause, content=content, headers=_JSON)
            if answer is not None:
                return answer
        raise AssertionError("the last try returns or raises")

    def _try(self, method: str, path: str, pause: float | None, **request: Any) -> httpx.Response | None:
        """An answer, or None after a pause where it may come the next time."""
        try:
            answer = self._client.request(method, path, **request)
            again = answer.status_code >= 500 or answer.status_code == _SLOW_DOWN
            if not again or (pause is None and answer.status_code == _STORE_FULL):
                return _checked(answer)
            reason = f"status {answer.status_code}"
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
        if pause is None:
            raise ClusterError("E531", service="compile-api", url=self._url, reason=reason)
        log.warning("compile-api at %s: %s; trying again", self._url, reason)
        time.sleep(pause)
        return None


_JSON: Final = {"Content-Type": "application/json"}


def _pauses() -> Iterator[float | None]:
    """The pause after each try, None after the last."""
    yield from _PAUSES
    yield None


def _checked(answer: httpx.Response) -> httpx.Response:
    if not answer.is_error:
        return answer
    try:
        problem = Problem.model_validate_json(answer.content)
    except ValidationError:  # not of compile-api: of a proxy before it
        reason = f"status {answer.status_code}: {answer.text[:500]}"
        error = ClusterError("E531", service="compile-api", url=str(answer.url), reason=reason)
        problem = Problem.of(error).model_copy(update={"status": answer.status_code})
    if answer.status_code == _OVER:
        raise AttemptOver(problem.detail)
    raise Refused(problem)
