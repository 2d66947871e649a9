"""What a service answers when it refuses: RFC 9457 `application/problem+json`, with RLX's code and its two lines.

Every body of an error on `/v1` and `/v2` is a `Problem`. On `/v2` it also carries `error`, the member that clients of
the Open Inference Protocol read; it is there on `/v1` too, so that one handler serves both.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from rlx_base.errors import RlxError, restored
from rlx_base.span import Span

__all__ = ["PROBLEM_MEDIA_TYPE", "Problem", "Violation"]

PROBLEM_MEDIA_TYPE: Final = "application/problem+json"


class Violation(BaseModel):
    """One thing that is wrong in a request: which field, and what about it."""

    model_config = ConfigDict(frozen=True)

    field: str
    message: str


class Problem(BaseModel):
    """Why a request was refused. `detail` says what is wrong with what, `help` says what to do.

    `line`, `column` and `rendered` (the text with its caret) are there when the fault lies in a program's text.
    """

    model_config = ConfigDict(frozen=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    error: str = ""
    code: str
    help: str = ""
    caused_by: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    rendered: str | None = None
    request_id: str | None = None
    violations: tuple[Violation, ...] = ()

    def model_post_init(self, context: Any, /) -> None:
        if not self.error:
            object.__setattr__(self, "error", self.detail)

    @classmethod
    def of(cls, error: RlxError, *, source: str | None = None, violations: tuple[Violation, ...] = ()) -> Problem:
        """The answer that an error becomes; `source` is the text that `error.at` points into."""
        at = error.at
        return cls(
            type=f"urn:rlx:error:{error.code}",
            title=type(error).__name__,
            status=error.status,
            detail=error.message,
            code=error.code,
            help=error.help,
            caused_by=error.caused_by,
            file=at.file if at else None,
            line=at.line if at else None,
            column=at.column if at else None,
            end_column=at.end_column if at else None,
            rendered=error.render(source) if at else None,
            violations=violations,
        )

    def to_error(self) -> RlxError:
        """The error that the service raised, to be raised again by whoever asked it."""
        at = None
        if self.file is not None and self.line is not None and self.column is not None:
            at = Span(self.file, self.line, self.column, self.end_column or self.column + 1)
        return restored(self.code, self.detail, self.help, status=self.status, at=at, caused_by=self.caused_by)

    def body(self) -> bytes:
        """The bytes of the answer; members that say nothing are left out."""
        return self.model_dump_json(exclude_none=True, exclude_defaults=False).encode()
