"""Where tensors are declared to live, against the memories that the target has."""

from __future__ import annotations

from collections.abc import Iterator

from rlx_base.errors import VerifyError
from rlx_base.span import Span
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.affinity import MemoryAffinity
from rlx_ir.module import Constant, Module, Value
from rlx_ir.types import TensorType

__all__ = ["check_memory"]


def check_memory(module: Module, spec: TargetSpec, *, strict: bool) -> list[str]:
    """A warning for each tensor whose declared location the target lacks; its main memory is used instead.

    With `strict` the first one is an error: E122.
    """
    warnings: list[str] = []
    for name, affinity, span in _declared(module):
        if affinity.location in spec.locations:
            continue
        if strict:
            known = ", ".join(sorted(spec.locations))
            raise VerifyError("E122", at=span, name=name, declared=affinity.location, known=known)
        warnings.append(
            f"memory_affinity mismatch on tensor {name}: it is declared in {affinity.location}, which {spec.target} "
            f"has not; {spec.spaces[0].location} is used (with --strict this is an error)"
        )
    return warnings


def _declared(module: Module) -> Iterator[tuple[str, MemoryAffinity, Span | None]]:
    for part in module.modules():
        results = [result for node in part.nodes for result in node.results]
        values: list[Value | Constant] = [*part.inputs, *part.constants, *results]
        for value in values:
            type = value.type
            if isinstance(type, TensorType) and type.affinity is not None:
                yield value.name, type.affinity, value.span
