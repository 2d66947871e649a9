"""`rlx.constant(…)`: literals, restricted NumPy expressions, and tensors of a safetensors file."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from rlx_base.dtypes import DTYPES
from rlx_base.errors import TextError
from rlx_ir.constants import expression as trees
from rlx_ir.constants.expression import Elements, Expression, Number, TooLarge, Tree
from rlx_ir.constants.functions import FUNCTIONS
from rlx_ir.constants.stored import Files
from rlx_ir.module import Constant
from rlx_ir.op import nearest
from rlx_ir.text.arguments import bind, keywords, positional
from rlx_ir.text.source import Source, dotted
from rlx_ir.text.types import STORAGE, check_size, read_affinity, read_layout, read_shape
from rlx_ir.types import TensorType

__all__ = ["ConstantReader"]

_SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_METHODS: Final = ("astype", "reshape", "transpose")
_KNOWN: Final = ", ".join((*FUNCTIONS, "np.array", *(f".{method}" for method in _METHODS)))


class ConstantReader:
    """Reads the constants of one module; files are opened through `files` only."""

    def __init__(self, source: Source, module: str, files: Files) -> None:
        self.source, self.module, self.files = source, module, files

    def read(self, call: ast.Call, name: str) -> Constant:
        """The constant that an `rlx.constant` call declares, under this name."""
        source = self.source
        given = bind(source, call, "rlx.constant", ("value", "dtype", "shape", "seed", "file", "key", *STORAGE))
        if "file" in given or "key" in given:
            for other in ("value", "dtype", "shape", "seed"):
                if other in given:
                    raise source.error(
                        "E018", given[other], what=other, expected="part of the file", found="given beside it"
                    )
            constant = self._stored(call, given, name)
        elif "value" in given:
            constant = self._computed(given, name)
        else:
            raise source.error("E017", call.func, call="rlx.constant", name="value", known="value, or file and key")
        type = constant.type
        check_size(source, call, type.shape)
        layout = read_layout(source, given, type.rank)
        return replace(
            constant,
            type=TensorType(type.shape, type.dtype, layout, read_affinity(source, given)),
            span=source.span(call.func),
        )

    def _stored(self, call: ast.Call, given: dict[str, ast.expr], name: str) -> Constant:
        for part in ("file", "key"):
            if part not in given:
                raise self.source.error("E017", call.func, call="rlx.constant", name=part, known="file and key")
        file = self.source.string(given["file"], "file")
        key = self.source.string(given["key"], "key")
        try:
            data = self.files.tensor(file, key)
        except TextError as error:
            error.at = error.at or self.source.span(given["key" if error.code == "RLX-E044" else "file"])
            raise
        return Constant(name, TensorType(data.shape, data.dtype), data)

    def _computed(self, given: dict[str, ast.expr], name: str) -> Constant:
        source, value = self.source, given["value"]
        dtype = source.dtype(given["dtype"]) if "dtype" in given else None
        if dtype is not None and DTYPES[dtype].numpy is None:
            raise source.error("E011", given["dtype"], what=f"a constant of {dtype}")
        tree = self.guard(value, lambda: self._literal(value, dtype))
        if tree is None:
            tree = self.tree(value)
            if isinstance(tree, Number):
                tree = self.guard(value, lambda: trees.elements(tree.value, dtype))
            elif dtype is not None and tree.static.dtype.name != dtype:
                tree = trees.cast(tree, dtype)
        assert not isinstance(tree, Number)
        if "shape" in given:
            tree = self._in_shape(tree, given["shape"])
        if "seed" in given and not trees.is_random(tree):
            raise source.error(
                "E018", given["seed"], what="seed", expected="for random values", found="given without any"
            )
        if isinstance(tree, Elements):
            return Constant(name, TensorType(tree.static.shape, tree.static.dtype), tree.data)
        seed = self._seed(given, name) if trees.is_random(tree) else None
        return Constant(name, TensorType(tree.static.shape, tree.static.dtype), Expression(tree, seed))

    def _seed(self, given: dict[str, ast.expr], name: str) -> int:
        if "seed" not in given:
            return trees.seed_of(self.module, name)
        seed = self.source.integer(given["seed"], "seed")
        if not 0 <= seed < 1 << 32:
            raise self.source.expected(given["seed"], "seed", "a whole number from 0 to 2**32 - 1")
        return seed

    def _in_shape(self, tree: trees.Array, node: ast.expr) -> trees.Array:
        shape = read_shape(self.source, node)
        if isinstance(tree, Elements) and tree.static.count == 0 and 0 in shape:
            # An empty list says no shape: [] with shape=[0, 3].
            array = tree.data.array().reshape(tuple(int(dim) for dim in shape if isinstance(dim, int)))
            if array.shape == shape:
                return trees.of_array(array)
        if shape != tree.static.shape:
            raise self.source.error(
                "E018", node, what="shape", expected=f"that of the value, {list(tree.static.shape)}", found=list(shape)
            )
        return tree

    def guard(self, node: ast.expr, build: Callable[[], Any]) -> Any:
        """What `build` gives; its complaints point at `node`."""
        try:
            return build()
        except TooLarge as large:
            raise self.source.error("E031", node, count=large.count, limit=trees.MAX_ELEMENTS) from None
        except ValueError as wrong:
            function = node.func if isinstance(node, ast.Call) else node
            raise self.source.error("E032", node, function=self.source.shown(function), what=wrong) from None

    def _literal(self, node: ast.expr, dtype: str | None) -> Elements | None:
        """A number or nested lists of numbers; None where it is an expression."""
        if isinstance(node, ast.List | ast.Tuple):
            return trees.elements(self._nested(node), dtype)
        return None

    def _nested(self, node: ast.expr) -> Any:
        if isinstance(node, ast.List | ast.Tuple):
            return [self._nested(item) for item in node.elts]
        return self.source.number(node, "an element")

    def tree(self, node: ast.expr) -> Tree:
        """The expression that a syntax node stands for. Raises E010, E018, E030 … E032."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return trees.literal(self.source.number(node, "a number"))
            case ast.Attribute():
                return trees.literal(self.source.number(node, "a constant"))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.guard(node, lambda: trees.negated(self.tree(operand)))  # type: ignore[no-any-return]
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.tree(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
                first, second = self.tree(left), self.tree(right)
                return self.guard(node, lambda: trees.binary(_SYMBOLS[type(op)], first, second))  # type: ignore[no-any-return]
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if dotted(node.func) is None or (
                method in _METHODS and not (dotted(value) or "").startswith("np")
            ):
                return self._method(node, value, method)
            case ast.Call():
                return self._call(node)
        raise self.source.expected(node, "a constant", "a number, nested lists, or a NumPy expression")

    def _call(self, node: ast.Call) -> Tree:
        name = dotted(node.func)
        if name == "np.array":
            given = bind(self.source, node, name, ("object", "dtype"), ("object",))
            dtype = self.source.dtype(given["dtype"]) if "dtype" in given else None
            value = self._nested(given["object"])
            return self.guard(node, lambda: trees.elements(value, dtype))  # type: ignore[no-any-return]
        if name not in FUNCTIONS:
            raise self.source.error(
                "E030", node.func, name=self.source.shown(node.func), hint=nearest(name or "", FUNCTIONS), known=_KNOWN
            )
        parameters = FUNCTIONS[name].parameters
        arguments: dict[str, Any]
        if parameters[0].kind == "sizes":
            if node.keywords:
                raise self.source.error(
                    "E016", node.keywords[0], call=name, name=node.keywords[0].arg, hint="", known="sizes"
                )
            arguments = {parameters[0].name: self._sizes(positional(self.source, node))}
        else:
            if (
                name == "np.arange"
                and len(node.args) == 1
                and not any(k.arg in ("start", "stop") for k in node.keywords)
            ):
                node = ast.copy_location(  # np.arange(stop) counts from 0
                    ast.Call(node.func, [ast.copy_location(ast.Constant(0), node), *node.args], node.keywords), node
                )
            required = [p.name for p in parameters if p.required]
            given = bind(self.source, node, name, [p.name for p in parameters], required)
            arguments = {p.name: p.default for p in parameters}
            for parameter in parameters:
                if parameter.name in given:
                    arguments[parameter.name] = self._argument(given[parameter.name], parameter.name, parameter.kind)
        return self.guard(node, lambda: trees.call(name, arguments))  # type: ignore[no-any-return]

    def _argument(self, node: ast.expr, name: str, kind: str) -> Any:
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        match kind:
            case "shape":
                return self._sizes([node] if not isinstance(node, ast.List | ast.Tuple) else node.elts)
            case "dtype":
                return self.source.dtype(node)
            case "bool":
                value = self.source.plain(node, name)
                if not isinstance(value, bool):
                    raise self.source.expected(node, name, "True or False")
                return value
        tree = self.tree(node)
        if not isinstance(tree, Number) or (kind == "int" and type(tree.value) is not int):
            raise self.source.expected(node, name, "a whole number" if kind == "int" else "a number")
        if isinstance(tree.value, bool) and name != "fill_value":
            raise self.source.expected(node, name, "a number")
        return tree.value

    def _sizes(self, nodes: list[ast.expr] | Any) -> tuple[int, ...]:
        sizes = []
        for node in nodes:
            size = self.source.integer(node, "a size")
            if not 0 <= size <= 1 << 40:
                raise self.source.expected(node, "a size", "a whole number from 0 to 2**40")
            sizes.append(size)
        if len(sizes) > 16:
            raise self.source.expected(nodes[16], "a shape", "of at most 16 dimensions")
        return tuple(sizes)

    def _method(self, node: ast.Call, value: ast.expr, method: str) -> Tree:
        if method not in _METHODS:
            hint = nearest(method, _METHODS)
            raise self.source.error("E030", node.func, name=f".{method}", hint=hint, known=_KNOWN)
        operand = self.tree(value)
        if keywords(self.source, node):
            raise self.source.error(
                "E016",
                node.keywords[0],
                call=f".{method}",
                name=node.keywords[0].arg,
                hint="",
                known="positional arguments",
            )
        arguments = positional(self.source, node)
        if method == "astype":
            if len(arguments) != 1:
                raise self.source.error("E017", node.func, call=".astype", name="dtype", known="dtype")
            dtype = self.source.dtype(arguments[0])
            return self.guard(node, lambda: trees.cast(operand, dtype))  # type: ignore[no-any-return]
        if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
            arguments = arguments[0].elts
        numbers = [
            self.source.integer(argument, "a size" if method == "reshape" else "an axis") for argument in arguments
        ]
        if method == "reshape":
            return self.guard(node, lambda: trees.reshaped(operand, numbers))  # type: ignore[no-any-return]
        return self.guard(node, lambda: trees.transposed(operand, numbers or None))  # type: ignore[no-any-return]
