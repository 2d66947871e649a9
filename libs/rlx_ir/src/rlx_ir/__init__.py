"""The RLX language: types, ops, parser, printer, verifier and interpreter.

```python
module = rlx_ir.parse(text)            # TextError or VerifyError, with the place, where it is wrong
print(rlx_ir.print_module(module))     # the canonical text; parse gives the same module again
```

The package is pure: bytes in, values out. Files that constants name come through a `Resolver`.
"""

from rlx_ir.affinity import MemoryAffinity
from rlx_ir.archive import ArchiveLimits, Package, read_rlxz, write_rlxz
from rlx_ir.builder import ModuleBuilder
from rlx_ir.constants import Expression, Files, Resolver, Stored
from rlx_ir.dims import Dim, DimExpr, Shape, Symbol
from rlx_ir.identity import meaning_digest, program_digest
from rlx_ir.interpreter import run
from rlx_ir.layout import Layout
from rlx_ir.module import Computed, Constant, Module, Node, Output, Value, constant_of
from rlx_ir.op import OPS, Op, operation, register
from rlx_ir.regions import RegionOp
from rlx_ir.schedule import NO_SCHEDULE, ComputeSchedule, MemoryCoalesce, Schedule, Tile
from rlx_ir.text import File, Limits, parse, parse_file, print_file, print_module
from rlx_ir.tiles import check_schedule
from rlx_ir.types import OptionalType, SequenceType, TensorType, Type
from rlx_ir.verify import verify

__all__ = [
    "NO_SCHEDULE",
    "OPS",
    "ArchiveLimits",
    "ComputeSchedule",
    "Computed",
    "Constant",
    "Dim",
    "DimExpr",
    "Expression",
    "File",
    "Files",
    "Layout",
    "Limits",
    "MemoryAffinity",
    "MemoryCoalesce",
    "Module",
    "ModuleBuilder",
    "Node",
    "Op",
    "OptionalType",
    "Output",
    "Package",
    "RegionOp",
    "Resolver",
    "Schedule",
    "SequenceType",
    "Shape",
    "Stored",
    "Symbol",
    "TensorType",
    "Tile",
    "Type",
    "Value",
    "check_schedule",
    "constant_of",
    "meaning_digest",
    "operation",
    "parse",
    "parse_file",
    "print_file",
    "print_module",
    "program_digest",
    "read_rlxz",
    "register",
    "run",
    "verify",
    "write_rlxz",
]
