"""The compile cache: bundles by the key of everything that they depend on.

The key holds the program, its constants, the target, the named CPU, the options and the compiler, so a changed model
never meets a stale entry. `RLX_CACHE_DIR` says where the cache is; whatever is deleted from it is compiled again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rlx_base.errors import ArtifactError
from rlx_compiler import CompileOptions, CompileResult
from rlx_compiler.key import cache_key
from rlx_compiler.targets import resolve
from rlx_ir.identity import program_digest
from rlx_ir.module import Module
from rlx_wire.bundle import read_manifest, verify_bundle

__all__ = ["CacheEntry", "CompileCache"]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One bundle of the cache. `used` is the time of its last use, in seconds since 1970."""

    key: str
    directory: Path
    model: str
    target: str
    cpu: str
    bytes: int
    used: float


class CompileCache:
    """A folder of bundles, each under its key. Several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def default(cls) -> Self:
        """`RLX_CACHE_DIR`, else `rlx` in the user's folder for caches."""
        chosen = os.environ.get("RLX_CACHE_DIR")
        if chosen:
            return cls(Path(chosen).expanduser())
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(home).expanduser() / "rlx")

    def bundle(self, module: Module, options: CompileOptions, build: Callable[[Path], CompileResult]) -> CompileResult:
        """The bundle of a module: as it is held, or as `build` writes it to the folder that it is given.

        A held bundle is checked to the last byte; one that was damaged is built again.
        """
        key = cache_key(program_digest(module), resolve(options), options)
        directory = self.folder / key
        held = self._held(directory)
        if held is not None:
            return held
        self.folder.mkdir(parents=True, exist_ok=True)
        # Built beside its place and moved there whole: no other process ever sees half of it.
        with tempfile.TemporaryDirectory(prefix=".building-", dir=self.folder) as scratch:
            built = build(Path(scratch) / key)
            if (other := self._held(directory)) is not None:  # another process was first, and may be using it
                return other
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(directory)
            os.rename(built.directory, directory)
        return CompileResult(built.digest, directory, built.manifest, built.report, built.seconds_by_phase)

    def _held(self, directory: Path) -> CompileResult | None:
        if not directory.is_dir():
            return None
        try:
            manifest = verify_bundle(directory)
            report: dict[str, Any] = json.loads((directory / "report.json").read_bytes())
        except (ArtifactError, OSError, ValueError):
            return None
        with contextlib.suppress(OSError):
            os.utime(directory)
        return CompileResult(manifest.digest, directory, manifest, report)

    def entries(self) -> list[CacheEntry]:
        """What the cache holds, the latest used first."""
        return sorted(self._entries(), key=lambda entry: -entry.used)

    def _entries(self) -> Iterator[CacheEntry]:
        for directory in self.folder.glob("[0-9a-f]*"):
            try:
                manifest, used = read_manifest(directory), directory.stat().st_mtime
            except (ArtifactError, OSError):
                continue
            size = sum(file.bytes for file in manifest.files.values())
            yield CacheEntry(directory.name, directory, manifest.model, manifest.target, manifest.cpu, size, used)

    def collect(self, keep_bytes: int, unused_seconds: float, now: float | None = None) -> list[CacheEntry]:
        """Delete what was unused for longer, then the longest unused until the rest fits. Gives what was deleted."""
        now = time.time() if now is None else now
        deleted: list[CacheEntry] = []
        kept = 0
        for entry in self.entries():
            kept += entry.bytes
            if kept > keep_bytes or now - entry.used > unused_seconds:
                shutil.rmtree(entry.directory, ignore_errors=True)
                kept -= entry.bytes
                deleted.append(entry)
        return deleted
