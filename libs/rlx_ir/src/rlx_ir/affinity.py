"""Memory affinity: where a tensor wants to live, how fast that memory is, and what keeps its copies coherent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rlx_base.errors import VerifyError
from rlx_base.span import Span
from rlx_base.units import parse_bandwidth, parse_duration

__all__ = ["COHERENCES", "LOCATIONS", "MemoryAffinity"]

LOCATIONS: Final = ("DDR", "HBM", "SRAM", "L2", "VRAM", "BRAM", "UNIFIED", "REMOTE")
COHERENCES: Final = ("MESI", "MOESI", "none", "host")


@dataclass(frozen=True, slots=True)
class MemoryAffinity:
    """As declared: quantities keep their text (`"1.2TB/s"`), since the canonical form prints what was written."""

    location: str
    bandwidth: str | None = None
    latency: str | None = None
    coherence: str | None = None

    @staticmethod
    def of(fields: Mapping[str, object], at: Span | None = None) -> MemoryAffinity:
        """From the fields of a `memory_affinity` dict. Raises E121 where one is unknown or has no meaning."""
        known = ("location", "bandwidth", "latency", "coherence")
        for key, value in fields.items():
            if key not in known:
                raise VerifyError("E121", at=at, what=f"unknown field {key!r}; it has {', '.join(known)}")
            if not isinstance(value, str):
                raise VerifyError("E121", at=at, what=f"{key} is a text, not {value!r}")
        text = {key: str(value) for key, value in fields.items()}
        location = text.get("location")
        if location not in LOCATIONS:
            raise VerifyError("E121", at=at, what=f"location is one of {', '.join(LOCATIONS)}, not {location!r}")
        coherence = text.get("coherence")
        if coherence is not None and coherence not in COHERENCES:
            raise VerifyError("E121", at=at, what=f"coherence is one of {', '.join(COHERENCES)}, not {coherence!r}")
        try:
            if "bandwidth" in text:
                parse_bandwidth(text["bandwidth"])
            if "latency" in text:
                parse_duration(text["latency"])
        except ValueError as wrong:
            raise VerifyError("E121", at=at, what=str(wrong)) from None
        return MemoryAffinity(location, text.get("bandwidth"), text.get("latency"), coherence)

    @property
    def bytes_per_second(self) -> float | None:
        return parse_bandwidth(self.bandwidth) if self.bandwidth is not None else None

    @property
    def seconds_of_latency(self) -> float | None:
        return parse_duration(self.latency) if self.latency is not None else None

    def fields(self) -> dict[str, str]:
        """The declared fields in canonical order."""
        pairs = (
            ("location", self.location),
            ("bandwidth", self.bandwidth),
            ("latency", self.latency),
            ("coherence", self.coherence),
        )
        return {key: value for key, value in pairs if value is not None}
