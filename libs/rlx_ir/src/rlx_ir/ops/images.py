"""decode_image: the pixels of an encoded image, by Pillow, on the host."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rlx_base.dtypes import DTYPES
from rlx_base.errors import CompileError, RequestError
from rlx_ir.op import Array, HostOp, register
from rlx_ir.ops.rules import refuse
from rlx_ir.types import TensorType

__all__ = ["DecodeImage"]

_UINT8 = DTYPES["uint8"]


@register
@dataclass(frozen=True, slots=True)
class DecodeImage(HostOp):
    """The pixels of a JPEG, PNG, WebP, BMP, TIFF, PNM or JPEG 2000 file as (height, width, 3), or 1 for "grayscale".

    Shapes: the file's bytes (n) → (height, width, channels), uint8. Errors: E110 for other operands; E427 for a file of
    another size, or that is no image; E204 where Pillow is not installed. Source: ONNX ImageDecoder-20.
    """

    name = "decode_image"
    operands = ("encoded",)

    height: int
    width: int
    pixel_format: Literal["rgb", "bgr", "grayscale"] = "rgb"

    def infer(self, encoded: TensorType) -> tuple[TensorType, ...]:
        if encoded.dtype != _UINT8 or encoded.rank != 1:
            raise refuse(self.name, f"encoded is {encoded}", "give the bytes of the file: uint8[n]")
        if min(self.height, self.width) < 1:
            raise refuse(self.name, f"the image is {self.height} x {self.width}", "give its size in pixels")
        return (TensorType((self.height, self.width, 1 if self.pixel_format == "grayscale" else 3), _UINT8),)

    def reference(self, encoded: Array) -> tuple[Array, ...]:
        try:
            from PIL import Image, UnidentifiedImageError
        except ImportError:
            raise CompileError("E204", tool="Pillow", hint="pip install pillow") from None
        try:
            # The size stands in the file's head: nothing large is unpacked for one of another size.
            with Image.open(io.BytesIO(encoded.tobytes())) as image:
                if image.size != (self.width, self.height):
                    found, room = f"an image of {image.size[1]} x {image.size[0]}", f"{self.height} x {self.width}"
                    raise RequestError("E427", op=self.name, found=found, room=room)
                pixels = np.asarray(image.convert("L" if self.pixel_format == "grayscale" else "RGB"), np.uint8)
        except (UnidentifiedImageError, OSError, ValueError) as error:
            raise RequestError("E427", op=self.name, found=f"no image ({error})", room="an image") from None
        if self.pixel_format == "grayscale":
            return (pixels[:, :, None].copy(),)
        return ((pixels[:, :, ::-1] if self.pixel_format == "bgr" else pixels).copy(),)
