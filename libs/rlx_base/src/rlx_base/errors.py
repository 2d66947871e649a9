"""The exceptions of RLX: one tree, each raised by a code of `rlx_base.error_table.TABLE`.

```
RlxError
├── TextError       E0xx  the text of a program and its parsing
├── VerifyError     E1xx  types and verification
├── CompileError    E2xx  compilation and targets
├── ArtifactError   E3xx  bundles and signatures
├── RequestError    E4xx  requests to a service
├── ClusterError    E5xx  nodes, devices and the cluster
└── InternalError   E9xx  a fault of RLX itself
```

An error says in one line what is wrong with what, and in one line what to do. HTTP answers carry the same code in
an `application/problem+json` body.
"""

from __future__ import annotations

from typing import ClassVar

from rlx_base.error_table import TABLE
from rlx_base.span import Span

__all__ = [
    "ArtifactError",
    "ClusterError",
    "CompileError",
    "InternalError",
    "RequestError",
    "RlxError",
    "TextError",
    "VerifyError",
    "restored",
]


class RlxError(Exception):
    """Base of every error that RLX raises for its users.

    `code` names a row of `TABLE`; the keyword fields fill its templates. `at` is where in a program's text it
    happened, `help` replaces the table's second line where the place knows better, `caused_by` keeps the words of
    a driver or library, since users search for those too; `label` stands behind the caret.
    """

    series: ClassVar[str] = ""
    source: str | None = None
    """The whole text that `at` points into, where whoever raised the error had it."""

    def __init__(
        self,
        code: str,
        /,
        *,
        at: Span | None = None,
        help: str | None = None,
        caused_by: str | None = None,
        label: str = "",
        **fields: object,
    ) -> None:
        kind = TABLE[code]
        if not code.startswith(self.series):
            raise ValueError(f"{code} is not raised as {type(self).__name__}")
        self.code = f"RLX-{code}"
        self.status = kind.status
        self.message = kind.text.format(**fields)
        self.help = help if help is not None else kind.help.format(**fields)
        self.at = at
        self.caused_by = caused_by
        self.label = label
        self.fields = fields
        super().__init__(self.message)

    def render(self, source: str | None = None) -> str:
        """The error as a user reads it: place, code, text, the source line with a caret, and what to do.

        `source` is the whole text of the file that `at` points into; without it the caret is left out.
        """
        source = self.source if source is None else source
        place = f"{self.at.file}:{self.at.line}:{self.at.column}: " if self.at else ""
        lines = [f"{place}error[{self.code}]: {self.message}"]
        rows = source.splitlines() if source is not None else []
        if self.at and 0 < self.at.line <= len(rows):
            row = rows[self.at.line - 1]
            width = max(1, min(self.at.end_column, len(row) + 1) - self.at.column)
            lines.append(f"{self.at.line:>5} | {row}")
            lines.append(f"      | {' ' * (self.at.column - 1)}{'^' * width} {self.label}".rstrip())
        if self.caused_by:
            lines.append(f"   caused by: {self.caused_by}")
        lines.append(f"   help: {self.help}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()


class TextError(RlxError):
    """The text of a program cannot be read."""

    series = "E0"


class VerifyError(RlxError):
    """A program was read but does not hold together: shapes, dtypes, layouts, affinities."""

    series = "E1"


class CompileError(RlxError):
    """A program that holds together cannot be compiled for this target."""

    series = "E2"


class ArtifactError(RlxError):
    """A bundle was refused: digest, ABI, CPU features or signature do not match."""

    series = "E3"


class RequestError(RlxError):
    """A request to a service is wrong, or cannot be taken now."""

    series = "E4"


class ClusterError(RlxError):
    """A node, a device or the cluster's state is not what the request needs."""

    series = "E5"


class InternalError(RlxError):
    """A fault of RLX itself."""

    series = "E9"


def restored(
    code: str,
    message: str,
    help: str,
    *,
    status: int,
    at: Span | None = None,
    caused_by: str | None = None,
    label: str = "",
) -> RlxError:
    """An error as another process raised it: its words are kept, whichever release wrote them."""
    series = code.removeprefix("RLX-")
    kind = next((kind for kind in RlxError.__subclasses__() if series.startswith(kind.series)), InternalError)
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.code, error.status, error.message, error.help = code, status, message, help
    error.at, error.caused_by, error.label, error.fields = at, caused_by, label, {}
    return error
