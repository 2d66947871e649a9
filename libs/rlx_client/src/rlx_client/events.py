"""Server-sent events: lines in, job events out."""

from __future__ import annotations

from pydantic import ValidationError

from rlx_wire.api import JobEvent

__all__ = ["EventLines"]


class EventLines:
    """Collects the lines of a stream; `feed` gives an event when a blank line ends it."""

    def __init__(self) -> None:
        self._data: list[str] = []

    def feed(self, line: str) -> JobEvent | None:
        """An event that this line completes. What is no job event (a ping, a newer kind) is passed over."""
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            return None
        data, self._data = "\n".join(self._data), []
        try:
            return JobEvent.model_validate_json(data) if data else None
        except ValidationError:
            return None
