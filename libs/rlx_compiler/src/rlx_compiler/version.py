"""The compiler's version: part of every bundle and of every key."""

from importlib.metadata import version
from typing import Final

__all__ = ["VERSION"]

VERSION: Final = version("rlx-compiler")
