"""The ops of RLX, one file per family. Importing this package registers them all."""

from rlx_ir.ops import activation, arithmetic, comparison, copying, functions

__all__ = ["activation", "arithmetic", "comparison", "copying", "functions"]
