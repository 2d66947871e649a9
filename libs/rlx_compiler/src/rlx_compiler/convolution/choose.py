"""Which algorithm computes a convolution: the table, and the rule by which one is taken.

| algorithm | idea | where it wins |
|---|---|---|
| direct | the definition, in register tiles (`rlx_compiler.schedule`) | else |
| bordered | the same, on a copy with its padding around it | small images, many channels |
| winograd4 | F(4×4, 3×3): 2.25 products for each result instead of 9 | large images, where weights do not matter |
| winograd2 | F(2×2, 3×3): 4 products for each result; rounds less than the plain sum | deep layers of small images |

The one with the fewest expected cycles is taken, and every offer is told in the compile report. A schedule that the
author declares is about the loops of the definition, so it means `direct`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from rlx_compiler.convolution.alternative import Alternative, Offer
from rlx_compiler.convolution.bordered import bordered
from rlx_compiler.convolution.cost import direct
from rlx_compiler.convolution.problem import Convolution, recognised
from rlx_compiler.convolution.winograd import winograd
from rlx_compiler.lowering.values import NotVectorisable
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.expr import Tensor
from rlx_ir.layout import Layout

__all__ = ["ALGORITHMS", "alternative"]

Layouts: TypeAlias = Mapping[str, Layout | None]
Algorithm: TypeAlias = Callable[[Convolution, Layouts, Mapping[str, str], TargetSpec], Offer | None]

ALGORITHMS: Final[tuple[Algorithm, ...]] = (bordered, partial(winograd, 4), partial(winograd, 2))
_LEAST_GAIN: Final = 1.05  # over the definition: below it the figures say nothing


def alternative(
    defined: Tensor,
    layouts: Layouts,
    params: Mapping[str, str],
    constants: Mapping[str, NDArray[Any]],
    spec: TargetSpec,
    algorithms: tuple[Algorithm, ...] = ALGORITHMS,
    least_gain: float = _LEAST_GAIN,
) -> tuple[Alternative | None, tuple[str, ...]]:
    """The algorithm that is better than the generic kernel of a stage, if there is one, and what was weighed.

    `params` names the kernels' parameter for each value that the stage reads.
    """
    conv = recognised(defined, layouts, constants)
    if conv is None:
        return None, ()
    offers = [o for algorithm in algorithms if (o := algorithm(conv, layouts, params, spec)) is not None]
    if not offers:
        return None, ()
    plain = direct(conv, spec, edges=True)
    figures = ", ".join(f"{offer.algorithm} {offer.cycles / 1e3:.0f}" for offer in offers)
    weighed = (f"thousands of cycles expected: direct {plain / 1e3:.0f}, {figures}",)
    best = min(offers, key=lambda offer: offer.cycles)
    if plain < least_gain * best.cycles:
        return None, weighed
    try:
        return best.built(), weighed
    except NotVectorisable:
        return None, (*weighed, f"not {best.algorithm}: what follows does not lie channel by channel in memory")
