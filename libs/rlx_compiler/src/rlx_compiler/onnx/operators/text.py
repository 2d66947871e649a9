"""Operators on text, and images in their files: what the host computes."""

from __future__ import annotations

from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.op import make
from rlx_ir.ops.images import DecodeImage
from rlx_ir.ops.text import RegexFullMatch, StringConcat, StringNormalize, StringSplit

__all__: list[str] = []


def _sizes(call: Call, what: str) -> tuple[int, ...]:
    """The declared shape of the result, whose size the data decides."""
    declared = call.declared_shape()
    if declared is None:
        raise Unsupported(f"{what} is known at run time alone, and the model declares no size", call[0].inputs)
    return declared


@operator("StringConcat")
def string_concat(call: Call) -> Value:
    return call.apply(StringConcat(), call[0], call[1])


@operator("StringSplit")
def string_split(call: Call) -> tuple[Value, ...]:
    nothing = 0 in call[0].type.shape
    width = 0 if nothing else _sizes(call, "into how many parts it splits")[-1]
    op = StringSplit(width, call.attribute("delimiter") or None, call.attribute("maxsplit", -1))
    return call.apply_all(op, call[0])


@operator("StringNormalizer")
def string_normalizer(call: Call) -> Value:
    words = [word.decode() if isinstance(word, bytes) else word for word in call.attribute("stopwords", [])]
    attributes = {
        "count": _sizes(call, "how many texts it leaves")[-1],
        "case": call.attribute("case_change_action", "NONE").lower(),
        "case_sensitive": bool(call.attribute("is_case_sensitive", 0)),
        "stopwords": words,
    }
    return call.apply(make(StringNormalize, attributes), call[0])


@operator("RegexFullMatch")
def regex_full_match(call: Call) -> Value:
    return call.apply(RegexFullMatch(call.attribute("pattern", "")), call[0])


@operator("ImageDecoder")
def image_decoder(call: Call) -> Value:
    height, width = _sizes(call, "the size of the image")[:2]
    attributes = {
        "height": height,
        "width": width,
        "pixel_format": call.attribute("pixel_format", "RGB").lower(),
    }
    return call.apply(make(DecodeImage, attributes), call[0])
