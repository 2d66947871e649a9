"""The mathematics of every target, in the loop IR itself: no libm, and the same digits everywhere.

`legalize` rewrites an expression until only operations are left that every processor has; the functions it knows are
in `exponential`, `trigonometric`, `inverse`, `power`, `integers`, `rounding` and `half`, each with its error in ulp.
"""

from rlx_compiler.math.function import Call, Function
from rlx_compiler.math.legalize import legalize

__all__ = ["Call", "Function", "legalize"]
