"""The module that grows while a function is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.tracing.places import locate, user_span
from rlx_base.dtypes import of_numpy
from rlx_base.errors import CompileError, RlxError
from rlx_ir.builder import ModuleBuilder
from rlx_ir.module import Module
from rlx_ir.op import make, operation
from rlx_ir.types import TensorType

if TYPE_CHECKING:
    from rlx.tracing.tracer import Tracer

__all__ = ["Trace", "cannot"]


def cannot(name: str, why: str = "") -> RlxError:
    """E222, at the user's line."""
    return locate(CompileError("E222", name=name, why=f": {why}" if why else ""))


class Trace:
    """Adds nodes for what the traced function does. Values that it meets become constants of the module."""

    def __init__(self, name: str) -> None:
        self.builder = ModuleBuilder(name)

    def input(self, name: str, array: Any) -> Tracer:
        """A new input with the shape and dtype of an array."""
        return self._tracer(self.builder.input(self.builder.fresh(name), _type_of(array)))

    def value(self, given: Any) -> Tracer:
        """The given value in this module: a tracer as it is, an array or a number as a constant."""
        from rlx.tracing.tracer import Tracer

        if isinstance(given, Tracer):
            if given.trace is not self:
                raise cannot("a value of another traced function", "it was kept from an earlier call")
            return given
        array = np.asarray(given)
        _type_of(array)
        return self._tracer(self.builder.array(self.builder.fresh("constant"), array))

    def apply(self, name: str, *operands: Tracer | None, **attributes: Any) -> Tracer:
        """The (first) result of an op."""
        return self.results(name, *operands, **attributes)[0]

    def results(self, name: str, *operands: Tracer | None, **attributes: Any) -> tuple[Tracer, ...]:
        """All results of an op. Raises VerifyError at the user's line."""
        try:
            op = make(operation(name), attributes)
            node = self.builder.node(op, *(None if o is None else o.name for o in operands), span=user_span())
        except RlxError as error:
            raise locate(error) from None
        return tuple(self._tracer(result.name) for result in node.results)

    def call(self, module: Module, operands: tuple[Tracer, ...]) -> dict[str, Tracer]:
        """The results of a whole module by name; the trace holds it as a call."""
        names = tuple(operand.name for operand in operands)
        try:
            node = self.builder.node(operation("call")(), *names, regions=(module,), span=user_span())
        except RlxError as error:
            raise locate(error) from None
        pairs = zip(module.outputs, node.results, strict=True)
        return {output.name: self._tracer(result.name) for output, result in pairs}

    def _tracer(self, name: str) -> Tracer:
        from rlx.tracing.tracer import Tracer

        type = self.builder.type_of(name)
        assert isinstance(type, TensorType), f"{name} is a {type}"
        if not all(isinstance(size, int) for size in type.shape) or type.dtype.numpy is None:
            raise cannot(f"a {type}", "traced arrays have known shapes and NumPy's dtypes")
        return Tracer(self, name, tuple(int(str(size)) for size in type.shape), type.dtype.numpy)


def _type_of(array: Any) -> TensorType:
    try:
        return TensorType(np.shape(array), of_numpy(array.dtype))
    except KeyError:
        raise cannot(f"an array of {array.dtype}", "there is no such dtype in RLX") from None
