"""Numbers and truth values in JSON bodies, taken as JSON writes them: `false` is no 0, and `"3"` is no 3.

Query parameters and settings are text, and use plain `int` and `bool`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, Field, StrictBool

__all__ = ["NUMBER", "Count", "Flag", "Table"]


def _number(value: Any) -> Any:
    if isinstance(value, bool | str | bytes):
        raise ValueError("a number is expected")
    return value


NUMBER: Final = BeforeValidator(_number)
"""Stands last in `Annotated[int, Field(ge=0), NUMBER]`: bounds that stand after it are left out of the description."""

Count = Annotated[int, Field(ge=0, le=2**53), NUMBER]
"""At most what every JSON parser keeps exact."""

Flag = StrictBool

Key = TypeVar("Key", bound=str)
Value = TypeVar("Value")

Table = Annotated[dict[Key, Value], Field(json_schema_extra={"additionalProperties": False})]
"""A mapping whose keys have a pattern. The description says that no others are taken, which pydantic leaves out."""
