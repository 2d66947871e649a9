"""Opening a model: a file or its bytes, with external data beside it."""

from __future__ import annotations

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from rlx_base.errors import CompileError

__all__ = ["read_model"]


def read_model(model: Path | bytes) -> onnx.ModelProto:
    """The model; external data is read from the folder of the file, and from nowhere else. Raises E214."""
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model)
        return onnx.load_model(str(model), load_external_data=True)
    except (DecodeError, OSError, ValueError, onnx.checker.ValidationError) as why:
        what = "the given bytes" if isinstance(model, bytes) else str(model)
        raise CompileError(
            "E214", what=f"{what}: {str(why).splitlines()[0] if str(why) else type(why).__name__}"
        ) from None
