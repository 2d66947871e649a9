"""`@rlx.jit`: a function over NumPy arrays, traced, compiled for a target, and run in this process.

`trace` holds the module that grows, `tracer` the array that stands for a value of it, `ufuncs` and `functions` say
what NumPy means in ops, `jit` keeps one compiled module for each kind of arguments.
"""

from rlx.tracing.jit import JitFunction, jit
from rlx.tracing.tracer import Tracer

__all__ = ["JitFunction", "Tracer", "jit"]
