"""RLX: one program for every device.

```python
import numpy as np
import rlx

@rlx.module                       # a module of the language, read from its source
def net():
    x = rlx.tensor(shape=[1, 3], dtype="float32")
    return rlx.relu(x)

@rlx.jit                          # a function over NumPy arrays, traced when it is called
def scale(x, by):
    return np.tanh(x) * by

rlx.compile(net, target="c", output="build/net")      # a bundle
rlx.load("build/net").run({"x": np.ones((1, 3), np.float32)})
```

The names of the language (`rlx.tensor`, `rlx.conv2d`, …) have a meaning inside a module only.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

__all__ = [
    "CompileCache",
    "CompileOptions",
    "CompileResult",
    "DynamicModel",
    "InProcessModel",
    "JitFunction",
    "Module",
    "ModuleFunction",
    "RlxError",
    "compile",
    "jit",
    "load",
    "module",
    "serve",
]

# Loaded when first asked for: the command starts without a compiler, and a model without a web framework.
_HOME: Final = {
    "CompileCache": "rlx.caching",
    "CompileOptions": "rlx_compiler",
    "CompileResult": "rlx_compiler",
    "DynamicModel": "rlx.dynamic",
    "InProcessModel": "rlx_runtime",
    "JitFunction": "rlx.tracing",
    "Module": "rlx_ir",
    "ModuleFunction": "rlx.modules",
    "RlxError": "rlx_base.errors",
    "compile": "rlx.compiling",
    "jit": "rlx.tracing",
    "load": "rlx.loading",
    "module": "rlx.modules",
    "serve": "rlx.serving",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        language = importlib.import_module("rlx.language")  # `from rlx import` would come back to here
        if name in language.names():
            return language.outside(name)
    raise AttributeError(f"module 'rlx' has no attribute {name!r}")


def __dir__() -> list[str]:
    language = importlib.import_module("rlx.language")
    return sorted({*__all__, *language.names()})
