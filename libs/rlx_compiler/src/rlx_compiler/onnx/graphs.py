"""Walking a graph: each node by its importer, or by the body of its function where there is one.

What cannot be imported is collected: a node that fails gives values that are missing, nodes that use them are passed
over, and the walk goes on to find what else fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import onnx

from rlx_base.errors import RlxError
from rlx_compiler.onnx.names import identifier
from rlx_compiler.onnx.registry import importer_of
from rlx_compiler.onnx.tensors import array_of, tensor_type, type_proto
from rlx_compiler.onnx.translation import Call, Scope, Translation, Unsupported, Value
from rlx_ir.types import TensorType

__all__ = ["Problem", "Walk", "declared_types", "translate_graph"]


@dataclass(frozen=True)
class Problem:
    """A node that cannot be imported."""

    node: str
    operator: str
    opset: int
    domain: str
    why: str
    needs: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.node}: {self.operator} (opset {self.opset}, domain {self.domain or 'ai.onnx'}): {self.why}"


@dataclass
class Walk:
    """One pass over a model: its functions, and the problems found so far."""

    translation: Translation
    functions: Mapping[tuple[str, str], onnx.FunctionProto]
    problems: list[Problem] = field(default_factory=list)

    def graph(self, graph: onnx.GraphProto, scope: Scope, opsets: Mapping[str, int]) -> None:
        """All nodes of a graph; its initializers become known values."""
        for tensor in graph.initializer:
            if tensor.name not in scope.values:
                scope.values[tensor.name] = self._initializer(tensor)
        self.nodes(graph.node, scope, opsets, declared_types(graph))

    def _initializer(self, tensor: onnx.TensorProto) -> Value | None:
        try:
            value = self.translation.constant(array_of(tensor))
        except (ValueError, TypeError) as why:
            self.problems.append(Problem(tensor.name, "initializer", 0, "", str(why)))
            return None
        self.translation.labels[value] = tensor.name
        return value

    def nodes(
        self,
        nodes: Iterable[onnx.NodeProto],
        scope: Scope,
        opsets: Mapping[str, int],
        declared: Mapping[str, TensorType],
    ) -> None:
        for node in nodes:
            self._node(node, scope, opsets, declared)

    def _node(
        self, node: onnx.NodeProto, scope: Scope, opsets: Mapping[str, int], declared: Mapping[str, TensorType]
    ) -> None:
        scope.values.update(dict.fromkeys((name for name in node.output if name), None))
        opset = opsets.get("" if node.domain == "ai.onnx" else node.domain, 1)
        try:
            operands = [scope[name] if name else None for name in node.input]
            if any(name and value is None for name, value in zip(node.input, operands, strict=True)):
                return  # what it needs could not be imported, which is said already
            call = Call(self.translation, node, operands, opsets, scope, self, declared)
            results = self.call(call)
        except Unsupported as found:
            self._problem(node, opset, found.why, found.needs)
            return
        except (RlxError, ValueError, TypeError, KeyError, NotImplementedError) as found:
            self._problem(node, opset, str(found).splitlines()[0] if str(found) else type(found).__name__)
            return
        for name, value in zip(node.output, results, strict=False):
            if name and value is not None:
                scope.values[name] = value
                self._name(name, value)

    def _problem(self, node: onnx.NodeProto, opset: int, why: str, needs: frozenset[str] = frozenset()) -> None:
        name = node.name or next((name for name in node.output if name), "?")
        self.problems.append(Problem(name, node.op_type, opset, node.domain, why, needs))

    def _name(self, name: str, value: Value) -> None:
        if value.name is not None:
            self.translation.wanted.setdefault(value.name, identifier(name))

    def call(self, call: Call) -> Sequence[Value | None]:
        """The results of one node."""
        node = call.proto
        key = (node.domain, node.op_type)
        if key in self.functions:
            return self.function(self.functions[key], call)
        opset = call.opsets.get("" if node.domain == "ai.onnx" else node.domain, 1)
        importer = importer_of(node.domain, node.op_type, opset)
        if importer is not None:
            results = importer(call)
            return (results,) if isinstance(results, Value) else results
        body = _function_body(call, opset)
        if body is None:
            raise Unsupported("there is no importer for this operator")
        return self.function(body, call)

    def function(self, function: onnx.FunctionProto, call: Call) -> Sequence[Value | None]:
        """The nodes of a function's body in place of the call."""
        given = dict(zip(function.input, call.operands, strict=False))
        scope = Scope({name: given.get(name) for name in function.input})
        opsets = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in function.opset_import}
        opsets.setdefault("", call.opsets.get("", 1))
        attributes = {attribute.name: attribute for attribute in function.attribute_proto}
        attributes |= {attribute.name: attribute for attribute in call.proto.attribute}
        absent = {name for name in function.input if given.get(name) is None}
        before = len(self.problems)
        self.nodes((_bound(node, attributes, absent) for node in function.node), scope, opsets, {})
        if len(self.problems) > before:
            first = self.problems[before]
            needs = frozenset[str]().union(*(problem.needs for problem in self.problems[before:]))
            del self.problems[before:]
            raise Unsupported(f"in its function body, {first.operator}: {first.why}", needs)
        return [scope.values.get(name) for name in function.output]


def _bound(node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], absent: set[str]) -> onnx.NodeProto:
    """A node of a function with the call's attributes in place of references, and absent operands left out."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            copy.attribute.append(attribute)
        elif attribute.ref_attr_name in attributes:
            given = onnx.AttributeProto()
            given.CopyFrom(attributes[attribute.ref_attr_name])
            given.name = attribute.name
            copy.attribute.append(given)
    for place, name in enumerate(copy.input):
        if name in absent:
            copy.input[place] = ""
    return copy


def _function_body(call: Call, opset: int) -> onnx.FunctionProto | None:
    """The body that ONNX itself gives for an operator."""
    try:
        schema: Any = onnx.defs.get_schema(call.proto.op_type, opset, call.proto.domain)
    except onnx.defs.SchemaError:
        return None
    body: Any = None
    if schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
        if versions:
            types = [
                (type_proto(value.type) if value is not None else onnx.TypeProto()).SerializeToString()
                for value in call.operands
            ]
            body = schema.get_context_dependent_function_with_opset_version(
                max(versions), call.proto.SerializeToString(), types
            )
    elif schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= opset]
        if versions:
            body = schema.get_function_with_opset_version(max(versions))
    if body is None:
        return None
    if isinstance(body, onnx.FunctionProto):
        function = body
    else:
        function = onnx.FunctionProto()
        function.ParseFromString(body)
    present = {attribute.name for attribute in call.proto.attribute}
    for name, attribute in schema.attributes.items():
        if name not in present and attribute.default_value.name:
            function.attribute_proto.append(attribute.default_value)
    if not function.opset_import:
        function.opset_import.append(onnx.helper.make_opsetid("", opset))
    return function


def declared_types(graph: onnx.GraphProto) -> dict[str, TensorType]:
    """The tensor types that a graph states for its values, where they are complete."""
    found: dict[str, TensorType] = {}
    for info in (*graph.value_info, *graph.output):
        try:
            found[info.name] = tensor_type(info.type, info.name)
        except ValueError:
            continue
    return found


def translate_graph(walk: Walk, graph: onnx.GraphProto, scope: Scope, opsets: Mapping[str, int]) -> list[Value]:
    """The outputs of a graph within a graph, with its nodes put in place."""
    before = len(walk.problems)
    walk.graph(graph, scope, opsets)
    if len(walk.problems) > before:
        first = walk.problems[before]
        needs = frozenset[str]().union(*(problem.needs for problem in walk.problems[before:]))
        del walk.problems[before:]
        raise Unsupported(f"in its body, {first.operator}: {first.why}", needs)
    results = [scope[info.name] for info in graph.output]
    return [replace(value) for value in results if value is not None]
