"""Text in the family of C: one walk, and a table per dialect for how types, functions and memory are spelled."""

from rlx_compiler.emit.c_like.module import emit

__all__ = ["emit"]
