"""What is known while a graph is walked: its values, which of them are data already, and the node at hand.

A value whose elements follow from the model alone (initializers, constants, shapes of known sizes, and what is computed
from them) is *known*: it is folded here, and only becomes a constant of the module where an op needs it as an operand.
A shape with unknown sizes is data too: an array of dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

from rlx_base.dtypes import BOOL, INT64, STRING, of_numpy
from rlx_compiler.onnx.names import identifier
from rlx_ir.builder import ModuleBuilder, infer
from rlx_ir.dims import Dim, Symbol
from rlx_ir.elements import EXTENDED, numpy_of, reference
from rlx_ir.module import constant_of
from rlx_ir.op import Op
from rlx_ir.ops.copying import Cast
from rlx_ir.ops.text import Text
from rlx_ir.types import TensorType

if TYPE_CHECKING:
    from rlx_compiler.onnx.graphs import Walk

__all__ = ["Array", "Call", "Scope", "Translation", "Unsupported", "Value"]

Array = NDArray[Any]

# Larger results are not folded while a model is read: a pass of the compiler does it where it pays.
MAX_FOLDED: Final = 1 << 16
# Weights of bfloat16, float8, int4 … stay as small as they are: only a few are turned into numbers here.
MOST_UNPACKED: Final = 64


class Unsupported(Exception):
    """A node that cannot be imported, why, and the inputs whose elements would have to be known for it."""

    def __init__(self, why: str, needs: frozenset[str] = frozenset()) -> None:
        super().__init__(why)
        self.why, self.needs = why, needs


@dataclass(eq=False)
class Value:
    """A value of the graph. `name` is its name in the module, once it is there; `data` its elements, where known
    (an object array of dimensions for a shape with unknown sizes); `inputs` the graph inputs that it depends on.

    A sequence has `items`, its elements one by one: how many there are is always known here. `empty` is an optional
    that holds nothing; one that holds a value is that value. Neither has a type that means anything.
    """

    type: TensorType
    name: str | None = None
    data: Array | None = None
    inputs: frozenset[str] = frozenset()
    items: tuple[Value, ...] | None = None
    empty: bool = False

    @classmethod
    def of_items(cls, items: Sequence[Value]) -> Value:
        """A sequence."""
        inputs = frozenset[str]().union(*(item.inputs for item in items))
        return cls(TensorType((), BOOL), inputs=inputs, items=tuple(items))

    @classmethod
    def nothing(cls) -> Value:
        """An optional that is empty."""
        return cls(TensorType((), BOOL), empty=True)

    @property
    def known(self) -> Array | None:
        """The elements, where all are numbers."""
        unknown = self.data is None or (self.data.dtype == object and self.type.dtype != STRING)
        return None if unknown else self.data

    @property
    def rank(self) -> int:
        return self.type.rank


@dataclass
class Translation:
    """The module in the making."""

    builder: ModuleBuilder
    wanted: dict[str, str] = field(default_factory=dict)  # made name → the name that the model gives the value
    constants: dict[Value, str] = field(default_factory=dict)  # known values that this module has as constants
    labels: dict[Value, str] = field(default_factory=dict)  # what the model calls its initializers

    def constant(self, array: Any) -> Value:
        """A known value."""
        elements = np.asarray(array)
        return Value(TensorType(elements.shape, of_numpy(elements.dtype)), None, elements)

    def shape(self, dims: Sequence[Dim]) -> Value:
        """Sizes as a known int64 tensor; unknown ones stay dimensions."""
        if all(isinstance(dim, int) for dim in dims):
            return self.constant(np.array(dims, np.int64))
        elements = np.empty(len(dims), object)
        elements[:] = list(dims)
        return Value(TensorType((len(dims),), INT64), None, elements)

    def operand(self, value: Value) -> str:
        """The value's name in the module; a known one becomes a constant now.

        A known value can be read by several modules (the branches of an If), each with a constant of its own.
        """
        if value.items is not None or value.empty:
            raise Unsupported(f"a {'sequence' if value.items is not None else 'missing value'} is used as a tensor")
        if value.known is not None:
            if value not in self.constants:
                self.constants[value] = self._constant(value, value.known)
            return self.constants[value]
        if value.name is None:
            raise Unsupported("a shape with unknown sizes is used as data")
        return value.name

    def _constant(self, value: Value, elements: Array) -> str:
        if value.type.dtype == STRING:
            return self.builder.add(Text(tuple(elements.reshape(-1)), elements.shape))
        name = self.builder.fresh(identifier(self.labels.get(value, "constant")))
        return self.builder.constant(constant_of(name, elements))

    def apply(self, op: Op, *operands: Value | None) -> tuple[Value, ...]:
        """The results of an op: folded where all operands are known, else a node."""
        while operands and operands[-1] is None:
            operands = operands[:-1]
        given = [value for value in operands if value is not None]
        folded = self._fold(op, operands)
        if folded is not None:
            return folded
        inputs = frozenset[str]().union(*(value.inputs for value in given))
        node = self.builder.node(op, *(None if value is None else self.operand(value) for value in operands))
        return tuple(Value(result.tensor, result.name, None, inputs) for result in node.results)

    def _fold(self, op: Op, operands: Sequence[Value | None]) -> tuple[Value, ...] | None:
        arrays = [None if value is None else value.known for value in operands]
        if any(array is None and value is not None for array, value in zip(arrays, operands, strict=True)):
            return None
        first = arrays[0] if arrays else None
        if isinstance(op, Cast) and first is not None and first.dtype.name in EXTENDED and first.size > MOST_UNPACKED:
            return None
        padded = [*operands, *[None] * (len(op.operands) - len(operands))]
        types = infer(op, [None if value is None else value.type for value in padded], ())
        sizes = [np.prod([size for size in type.shape if isinstance(size, int)], dtype=object) for type in types]
        if sum(sizes) > MAX_FOLDED or sum(array.size for array in arrays if array is not None) > MAX_FOLDED:
            return None
        with np.errstate(all="ignore"):
            results = reference(op, [*arrays, *[None] * (len(padded) - len(operands))], types)
        return tuple(self.constant(result) for result in results)

    def cast(self, value: Value, dtype: Any) -> Value:
        """The value in another dtype."""
        if value.type.dtype == dtype:
            return value
        if value.data is not None and value.known is None and dtype.is_integer:
            return Value(TensorType(value.type.shape, dtype), None, value.data)
        return self.apply(Cast(dtype), value)[0]


@dataclass
class Scope:
    """The names that a graph sees: its own, and those around it. None stands for a value that could not be imported."""

    values: dict[str, Value | None]
    around: Scope | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.values or (self.around is not None and name in self.around)

    def __getitem__(self, name: str) -> Value | None:
        if name in self.values:
            return self.values[name]
        if self.around is None:
            raise Unsupported(f"{name!r} is not defined")
        return self.around[name]


@dataclass
class Call:
    """One node of the graph at hand: what its importer asks for operands and attributes, and applies ops through."""

    translation: Translation
    proto: onnx.NodeProto
    operands: Sequence[Value | None]
    opsets: Mapping[str, int]
    scope: Scope
    walk: Walk
    declared: Mapping[str, TensorType] = field(default_factory=dict)  # the types that the model states for its values

    @property
    def opset(self) -> int:
        return self.opsets[self.proto.domain if self.proto.domain != "ai.onnx" else ""]

    def sequence(self, place: int) -> tuple[Value, ...]:
        """The elements of an operand that has to be a sequence."""
        items = self[place].items
        if items is None:
            raise Unsupported(f"operand {place} is no sequence")
        return items

    def optional(self, place: int) -> Value | None:
        """An operand that may be absent."""
        return self.operands[place] if place < len(self.operands) else None

    def __getitem__(self, place: int) -> Value:
        """An operand that is needed."""
        value = self.optional(place)
        if value is None:
            raise Unsupported(f"operand {place} is missing")
        return value

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute: a number, text, list, tensor or graph."""
        for attribute in self.proto.attribute:
            if attribute.name == name:
                value = onnx.helper.get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else list(value) if _is_list(value) else value
        return default

    def known(self, place: int, what: str) -> Array:
        """The elements of an operand that has to be known, as `what`."""
        value = self[place]
        if value.known is None:
            raise Unsupported(f"{what} is not known when the model is imported", value.inputs)
        return value.known

    def integers(self, place: int, name: str, default: Sequence[int] | None = None) -> list[int] | None:
        """A list that newer opsets give as an operand and older ones as an attribute."""
        if self.optional(place) is not None:
            return [int(value) for value in self.known(place, name).reshape(-1)]
        found = self.attribute(name, default)
        return None if found is None else [int(value) for value in found]

    def sizes(self, place: int, what: str) -> list[int | str]:
        """A shape operand; unknown sizes by name."""
        value = self[place]
        if value.data is None:
            raise Unsupported(f"{what} is not known when the model is imported", value.inputs)
        found: list[int | str] = []
        for size in value.data.reshape(-1):
            if isinstance(size, Symbol):
                found.append(size.name)
            elif isinstance(size, int | np.integer):
                found.append(int(size))
            else:
                raise Unsupported(f"{what} has the computed size {size}", value.inputs)
        return found

    def declared_shape(self, place: int = 0) -> tuple[int, ...] | None:
        """The shape that the model states for a result, where all its sizes are numbers."""
        type = self.declared.get(self.proto.output[place]) if place < len(self.proto.output) else None
        if type is None:
            return None
        sizes = tuple(size for size in type.shape if isinstance(size, int))
        return sizes if len(sizes) == type.rank else None

    def apply(self, op: Op, *operands: Value | None) -> Value:
        """The (first) result of an op."""
        return self.translation.apply(op, *operands)[0]

    def apply_all(self, op: Op, *operands: Value | None) -> tuple[Value, ...]:
        """All results of an op."""
        return self.translation.apply(op, *operands)

    def constant(self, array: Any) -> Value:
        """A known value."""
        return self.translation.constant(array)

    def like(self, number: float, value: Value) -> Value:
        """A number in the dtype of a value."""
        return self.constant(np.array(number).astype(numpy_of(value.type.dtype)))

    def cast(self, value: Value, dtype: Any) -> Value:
        """The value in another dtype."""
        return self.translation.cast(value, dtype)

    def wants(self, place: int) -> bool:
        """Whether the model uses a result."""
        return place < len(self.proto.output) and self.proto.output[place] != ""


def _is_list(value: Any) -> bool:
    return not isinstance(value, str | int | float | onnx.TensorProto | onnx.GraphProto | onnx.SparseTensorProto) and (
        hasattr(value, "__iter__")
    )
