"""Bytes that somebody else holds: read in memory, or a view of a memory-mapped file."""

from typing import TypeAlias

__all__ = ["Buffer"]

Buffer: TypeAlias = bytes | bytearray | memoryview
