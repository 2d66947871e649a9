"""ONNX in: an `.onnx` model becomes a module, its readable text, and a safetensors file.

```python
imported = import_onnx(Path("model.onnx"))        # CompileError E213 lists everything that is not supported
imported.write(Path("model.rlx"))                 # model.rlx and model.safetensors beside it
```

`open_onnx` gives a program instead, which is imported for the inputs at hand, whatever their shapes.

`reading` opens models, `tensors` turns their tensors and types into ours, `translation` holds what is known while a
graph is walked, `graphs` walks it, `operators` has one small function per operator. The `onnx` package is an extra
(`rlx-compiler[onnx]`) and is imported only when a model is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rlx_base.errors import CompileError

if TYPE_CHECKING:
    from rlx_compiler.onnx.importing import Imported, Structure
    from rlx_compiler.onnx.program import OnnxProgram

__all__ = ["import_onnx", "open_onnx"]


def import_onnx(
    model: Path | bytes,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, NDArray[Any]] | None = None,
    structures: Mapping[str, Structure] | None = None,
) -> Imported:
    """The module of a model.

    `dims` gives symbolic dimensions a size. `values` gives inputs that only say shapes (the target of a Reshape, the
    axes of a reduction) their elements: such an input becomes part of the program. `structures` says of inputs that are
    sequences what their elements are (each becomes an input), and of optionals whether they are there.
    Raises CompileError E213, with every node that cannot be imported, E214 where the file is no ONNX model, E204 where
    `onnx` is not installed.
    """
    _needs_onnx()
    from rlx_compiler.onnx.importing import import_model
    from rlx_compiler.onnx.reading import read_model

    return import_model(read_model(model), dict(dims or {}), values or {}, structures or {})


def open_onnx(model: Path | bytes) -> OnnxProgram:
    """The model as a program for inputs of any shape. Raises E214 and E204 as `import_onnx` does."""
    _needs_onnx()
    from rlx_compiler.onnx.program import OnnxProgram

    return OnnxProgram(model)


def _needs_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise CompileError("E204", tool="onnx", hint="pip install 'rlx-compiler[onnx]'") from None
