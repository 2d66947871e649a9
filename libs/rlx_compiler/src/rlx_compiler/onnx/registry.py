"""Which function imports an operator: by domain, name and the opset from which on it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from rlx_compiler.onnx.translation import Call, Value

__all__ = ["Importer", "importer_of", "operator"]

# A function from one node to its results, in order; None for an absent one.
Importer: TypeAlias = "Callable[[Call], Value | Sequence[Value | None]]"

_IMPORTERS: Final[dict[tuple[str, str], dict[int, Importer]]] = {}


def operator(*names: str, since: int = 1, domain: str = "") -> Callable[[Importer], Importer]:
    """Marks the importer of some operators from opset `since` on, up to the next one that is marked."""

    def mark(importer: Importer) -> Importer:
        for name in names:
            versions = _IMPORTERS.setdefault((domain, name), {})
            assert since not in versions, f"two importers of {name}-{since}"
            versions[since] = importer
        return importer

    return mark


def importer_of(domain: str, name: str, opset: int) -> Importer | None:
    """The importer of an operator in an opset, if there is one."""
    import rlx_compiler.onnx.operators  # noqa: F401  registers them

    versions = _IMPORTERS.get(("" if domain == "ai.onnx" else domain, name), {})
    fitting = [since for since in versions if since <= opset]
    return versions[max(fitting)] if fitting else None
