"""Ops on text: string tensors are no matter for kernels, so these run on the host, between native calls.

A string tensor is a NumPy array of `str` objects. Every op that meets one is a host op; those here are what ONNX has
for text, and the two that lead from texts to numbers and back.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rlx_base.dtypes import BOOL, INT64, STRING
from rlx_base.errors import RequestError
from rlx_ir.dims import Shape
from rlx_ir.op import Array, HostOp, as_arrays, register
from rlx_ir.ops.rules import broadcast, check_dtype, inherit, refuse
from rlx_ir.types import TensorType

__all__ = [
    "RegexFullMatch",
    "StringConcat",
    "StringEqual",
    "StringNormalize",
    "StringSplit",
    "Text",
    "TextAt",
    "TextIndex",
]


def check_text(op: str, name: str, type: TensorType) -> None:
    """That an operand holds texts. Raises E110."""
    if type.dtype != STRING:
        raise refuse(op, f"{name} is {type.dtype}, where texts are needed", "give a tensor of dtype string")


def texts(values: Any, shape: tuple[int, ...]) -> Array:
    """An array of texts."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


@register
@dataclass(frozen=True, slots=True)
class Text(HostOp):
    """A tensor of the given texts. Errors: E110 where they do not fill the shape. Source: ONNX Constant-25."""

    name = "text"
    operands = ()

    texts: tuple[str, ...]
    shape: tuple[int, ...]

    def infer(self) -> tuple[TensorType, ...]:
        if min(self.shape, default=0) < 0 or np.prod(self.shape, dtype=object) != len(self.texts):
            raise refuse(self.name, f"{len(self.texts)} texts in the shape {list(self.shape)}", "give as many as fit")
        return (TensorType(self.shape, STRING),)

    def reference(self) -> tuple[Array, ...]:
        return (texts(self.texts, self.shape),)


@register
@dataclass(frozen=True, slots=True)
class StringConcat(HostOp):
    """y = a followed by b. Shapes: as broadcast. Source: ONNX StringConcat-20."""

    name = "string_concat"
    operands = ("a", "b")

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "a", a)
        check_text(self.name, "b", b)
        return (TensorType(broadcast(self.name, ("a", "b"), (a, b)), STRING),)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return (np.asarray(np.add(a, b), object),)


@register
@dataclass(frozen=True, slots=True)
class StringEqual(HostOp):
    """y = whether two texts are equal. Shapes: as broadcast; bool. Source: ONNX Equal-19."""

    name = "string_equal"
    operands = ("a", "b")

    def infer(self, a: TensorType, b: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "a", a)
        check_text(self.name, "b", b)
        return (TensorType(broadcast(self.name, ("a", "b"), (a, b)), BOOL),)

    def reference(self, a: Array, b: Array) -> tuple[Array, ...]:
        return as_arrays([np.asarray(np.equal(a, b)).astype(bool)])


@register
@dataclass(frozen=True, slots=True)
class StringSplit(HostOp):
    """The parts of each text between delimiters (runs of white space, by default), and how many there are.

    At most `maxsplit` cuts are made, from the left. Parts fill a new last dimension of `width` places, "" after the
    last. Shapes: (d…) → (d…, width) and (d…), int64. Errors: E110 for a width below 0; E427 where a text has more
    parts. Source: ONNX StringSplit-20, with the width as attribute.
    """

    name = "string_split"
    operands = ("x",)
    results = ("output", "counts")

    width: int
    delimiter: str | None = None
    maxsplit: int = -1

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "x", x)
        if self.width < 0:
            raise refuse(self.name, f"width is {self.width}", "give a number ≥ 0")
        return TensorType((*x.shape, self.width), STRING), TensorType(x.shape, INT64)

    def reference(self, x: Array) -> tuple[Array, ...]:
        parts = [text.split(self.delimiter or None, self.maxsplit) for text in x.reshape(-1)]
        longest = max(map(len, parts), default=0)
        if longest > self.width:
            raise RequestError("E427", op=self.name, found=f"{longest} parts", room=f"{self.width} places")
        padded = [part for own in parts for part in (*own, *[""] * (self.width - len(own)))]
        counts = np.array([len(own) for own in parts], np.int64)
        return texts(padded, (*x.shape, self.width)), counts.reshape(x.shape)


@register
@dataclass(frozen=True, slots=True)
class StringNormalize(HostOp):
    """Texts without accents, without the stop words, and in one case.

    Texts that are left empty are taken out of a list, or of a matrix of one row; where all are, one "" stays. So the
    number of places is an attribute, `count`. Shapes: (n) → (count), (1, n) → (1, count).
    Errors: E110 for other shapes; E427 where another number is left. Source: ONNX StringNormalizer-10.
    """

    name = "string_normalize"
    operands = ("x",)

    count: int
    case: Literal["none", "lower", "upper"] = "none"
    case_sensitive: bool = False
    stopwords: tuple[str, ...] = ()

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "x", x)
        if x.rank not in (1, 2) or (x.rank == 2 and x.shape[0] != 1):
            raise refuse(self.name, f"x is {x}", "give a list of texts, or a matrix of one row")
        return (TensorType((*x.shape[:-1], self.count), STRING),)

    def _cased(self, text: str) -> str:
        return text.lower() if self.case == "lower" else text.upper() if self.case == "upper" else text

    def _normal(self, text: str) -> str:
        plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        plain = text if text.isascii() else plain
        if self.case_sensitive:
            kept = [word for word in plain.split(" ") if word not in self.stopwords]
            return self._cased(" ".join(kept))
        stops = {self._cased(word) for word in self.stopwords}
        return " ".join(word for word in self._cased(plain).split(" ") if word not in stops)

    def reference(self, x: Array) -> tuple[Array, ...]:
        left = [text for text in map(self._normal, x.reshape(-1)) if text] or [""]
        if len(left) != self.count:
            raise RequestError("E427", op=self.name, found=f"{len(left)} texts", room=f"{self.count} places")
        return (texts(left, (*x.shape[:-1], self.count)),)


@register
@dataclass(frozen=True, slots=True)
class RegexFullMatch(HostOp):
    """y = whether a text as a whole matches the pattern. Shapes: as x; bool.

    Errors: E110 for a pattern that is none. Source: ONNX RegexFullMatch-20, whose syntax is that of RE2.
    """

    name = "regex_full_match"
    operands = ("x",)

    pattern: str

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "x", x)
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise refuse(self.name, f"the pattern {self.pattern!r}: {error}", "give a regular expression") from None
        return (TensorType(x.shape, BOOL),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        pattern = re.compile(self.pattern)
        found = [pattern.fullmatch(text) is not None for text in x.reshape(-1)]
        return (np.array(found, bool).reshape(x.shape),)


@register
@dataclass(frozen=True, slots=True)
class TextIndex(HostOp):
    """y = the place of each text in a list, or −1. Shapes: as x; int64. Source: ONNX LabelEncoder-4 of strings."""

    name = "text_index"
    operands = ("x",)

    texts: tuple[str, ...]

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_text(self.name, "x", x)
        return (TensorType(x.shape, INT64),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        places = {text: place for place, text in reversed(list(enumerate(self.texts)))}
        return (np.array([places.get(text, -1) for text in x.reshape(-1)], np.int64).reshape(x.shape),)


@register
@dataclass(frozen=True, slots=True)
class TextAt(HostOp):
    """y = the text at a place of a list, `default` where there is none. Shapes: as x. Source: ONNX LabelEncoder-4."""

    name = "text_at"
    operands = ("x",)

    texts: tuple[str, ...]
    default: str = ""

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_dtype(self.name, "x", x.dtype, "integer")
        shape: Shape = x.shape
        return (inherit(x, shape, STRING),)

    def reference(self, x: Array) -> tuple[Array, ...]:
        size = len(self.texts)
        found = [self.texts[i] if 0 <= i < size else self.default for i in x.reshape(-1).tolist()]
        return (texts(found, x.shape),)
