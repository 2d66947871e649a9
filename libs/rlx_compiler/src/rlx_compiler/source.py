"""Reading a model from disk: a `.rlx` file with the weights of its folder, an `.rlxz`, an `.onnx`, or a folder of one.

The language itself opens no file. Here names in a text become memory-mapped files, and only files of the model's own
folder: a name that leads out of it, also through a link, is refused.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlx_base.errors import CompileError, TextError
from rlx_ir.archive import read_rlxz
from rlx_ir.constants import Resolver, check_file_name
from rlx_ir.module import Module
from rlx_ir.specialise import open_dims
from rlx_ir.text import Limits, parse
from rlx_ir.text.lexing import decode

__all__ = ["FolderResolver", "Source", "load_module", "load_source"]

_TEXT: Final = ".rlx"
_ARCHIVE: Final = ".rlxz"
_ONNX: Final = ".onnx"


@dataclass(frozen=True)
class Source:
    """A model as it lies on disk: its text, the file that errors name, and where its weights come from."""

    text: str
    file: str
    resolver: Resolver

    def parse(self) -> Module:
        """The entry module. Raises TextError and VerifyError; `error.render(source.text)` shows the place."""
        return parse(self.text, file=self.file, resolver=self.resolver)


@dataclass(frozen=True)
class FolderResolver:
    """The files of one folder, memory-mapped, each opened without following a link out of it."""

    folder: Path

    def __call__(self, name: str, /) -> memoryview:
        """The content of a file. Raises E041 where the name leads out of the folder, E042 where there is none."""
        check_file_name(name)
        path = self.folder / name
        root = self.folder.resolve()
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            raise TextError("E042", name=name) from None
        if not real.is_relative_to(root):
            raise TextError("E041", name=name)
        return _map(real, name)


def _map(path: Path, name: str) -> memoryview:
    """A file's content, mapped read-only. The path has no links left, and none may have appeared since."""
    try:
        # Not blocking, since a pipe under that name would hold the reader for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise TextError("E042", name=name) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise TextError("E042", name=name)
        if status.st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(descriptor, status.st_size, prot=mmap.PROT_READ))
    finally:
        os.close(descriptor)


def load_source(path: Path) -> Source:
    """The model at a path. Raises E209 where there is none, TextError where it is refused."""
    if path.is_dir():
        path = _only_model(path)
    if path.suffix == _ARCHIVE:
        package = read_rlxz(_read(path))
        return Source(package.text, f"{path}/model.rlx", package.resolver)
    if path.suffix != _TEXT:
        raise CompileError("E209", what=f"{path} is neither {_TEXT}, {_ARCHIVE} nor {_ONNX}")
    content = _read(path)
    if len(content) > Limits().bytes:
        raise TextError("E001", what="bytes", limit=Limits().bytes)
    return Source(decode(bytes(content), str(path)), str(path), FolderResolver(path.parent))


def load_module(path: Path, dims: Mapping[str, int] | None = None) -> Module:
    """The entry module of the model at a path. Raises as `load_source` and `Source.parse`, and as `import_onnx`.

    Raises E215 for a size of a dimension that a text does not have: a name with a slip in it would change nothing.
    An `.onnx` model is imported for these sizes of its open dimensions, which more models allow than without.
    """
    if path.is_dir():
        path = _only_model(path)
    if path.suffix == _ONNX:
        from rlx_compiler.onnx import import_onnx

        return import_onnx(path, dims=dims).module
    module = load_source(path).parse()
    if dims and (unknown := sorted(set(dims) - (known := open_dims(module)))):
        raise CompileError(
            "E215", name=module.name, unknown=", ".join(unknown), known=", ".join(sorted(known)) or "none"
        )
    return module


def _read(path: Path) -> memoryview:
    try:
        return _map(path.resolve(strict=True), path.name)
    except (OSError, RuntimeError, TextError):
        raise CompileError("E209", what=f"there is no file {path}") from None


def _only_model(folder: Path) -> Path:
    """The one model of a folder."""
    found = sorted(path for path in folder.iterdir() if path.suffix in (_TEXT, _ARCHIVE, _ONNX))
    if len(found) != 1:
        listed = ", ".join(path.name for path in found[:5]) or "none"
        raise CompileError("E209", what=f"{folder} holds {len(found)} models ({listed})")
    return found[0]
