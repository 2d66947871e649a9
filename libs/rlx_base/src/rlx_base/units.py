"""Quantities with units as people write them: "1.2TB/s", "12ns", "40GB", "1Gbps"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Bandwidth", "Bytes", "Duration", "parse_bandwidth", "parse_bytes", "parse_duration"]

Bytes = int  # a size in bytes
Bandwidth = float  # bytes per second
Duration = float  # seconds

_NUMBER: Final = r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-]?[0-9]{1,2})?)\s*"
_PREFIX: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_SIZE: Final = re.compile(_NUMBER + r"([kKMGTP]i?|)(B)\s*")
_RATE: Final = re.compile(_NUMBER + r"([kKMGTP]i?|)(B/s|bps|b/s|bit/s)\s*")
_TIME: Final = re.compile(_NUMBER + r"(ns|us|µs|ms|s|min|h)\s*")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class _Scaled:
    value: float
    unit: str


def _scaled(pattern: re.Pattern[str], text: str, what: str, example: str) -> _Scaled:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a {what}; write it like {example}")
    prefix = found[2]
    return _Scaled(float(found[1]) * (_BINARY.get(prefix) or _PREFIX[prefix]), found[3])


def parse_bytes(text: str) -> Bytes:
    """Bytes of a size: `"40GB"` = 40·10⁹, `"32KiB"` = 32·2¹⁰. Raises ValueError with an example."""
    return int(_scaled(_SIZE, text, "size", '"40GB" or "32KiB"').value)


def parse_bandwidth(text: str) -> Bandwidth:
    """Bytes per second of a rate; bits and bytes are told apart: `"1Gbps"` = 1.25·10⁸. Raises ValueError."""
    rate = _scaled(_RATE, text, "bandwidth", '"32GB/s" or "1Gbps"')
    return rate.value if rate.unit == "B/s" else rate.value / 8


def parse_duration(text: str) -> Duration:
    """Seconds of a duration: `"12ns"`, `"0.2ms"`, `"5s"`. Raises ValueError."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f'{text!r} is not a duration; write it like "12ns" or "0.2ms"')
    return float(found[1]) * _SECONDS[found[2]]
