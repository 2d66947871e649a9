"""Winograd's algorithm on tiles: y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A, where d is a tile of the image and y of the result.

F(m×m, 3×3) makes m×m results from (m+2)² products instead of 9·m². The matrices evaluate polynomials at points
(Cook and Toom): the fewer and the smaller the numbers in them, the smaller the rounding. Sources: Winograd, 1980; Lavin
and Gray, 2016; for the points of F(4×4), Barabasz et al., 2018: ±¾ and ±3⁄2 round half as much as the usual ±1 and ±2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import FLOAT32
from rlx_compiler.loops.ir import Apply, Broadcast, Expr, Fma, Let, Literal, Stmt, Var

__all__ = ["KERNEL", "Tiles", "transformed", "transformed_weights"]

KERNEL = 3
_POINTS = {2: (0, 1, -1), 4: (0, Fraction(3, 4), Fraction(-3, 4), Fraction(3, 2), Fraction(-3, 2))}
Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The matrices of F(m×m, 3×3): `results` Aᵀ (m × n), `weights` G (n × 3), `inputs` Bᵀ (n × n), n = m + 2."""

    size: int
    results: Matrix
    weights: Matrix
    inputs: Matrix

    @property
    def reach(self) -> int:
        return self.size + KERNEL - 1

    @staticmethod
    @cache
    def of(size: int) -> Tiles:
        """The matrices for tiles of size × size results: 2 or 4."""
        points = [Fraction(point) for point in _POINTS[size]]
        results = [[point**row for point in points] + [Fraction(row == size - 1)] for row in range(size)]
        weights, inputs = [], []
        for point in points:
            others = [other for other in points if other != point]
            scale = Fraction(1)
            for other in others:
                scale *= point - other
            weights.append([point**power / scale for power in range(KERNEL)])
            inputs.append([*_polynomial(others), Fraction(0)])
        weights.append([Fraction(power == KERNEL - 1) for power in range(KERNEL)])
        inputs.append(_polynomial(points))
        return Tiles(size, _floats(results), _floats(weights), _floats(inputs))


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Π (x − root), lowest power first."""
    product = [Fraction(1)]
    for root in roots:
        product = [
            low - root * high for low, high in zip([Fraction(0), *product], [*product, Fraction(0)], strict=True)
        ]
    return product


def _floats(matrix: Sequence[Sequence[Fraction]]) -> Matrix:
    return tuple(tuple(float(number) for number in row) for row in matrix)


def transformed_weights(weights: NDArray[Any], tiles: Tiles) -> NDArray[np.float32]:
    """G g Gᵀ of each pair of channels, in float64, as (place in the tile, input channel, output channel)."""
    matrix = np.array(tiles.weights)
    wide = matrix @ weights.astype(np.float64) @ matrix.T
    return np.ascontiguousarray(wide.transpose(2, 3, 1, 0).reshape(tiles.reach**2, *wide.shape[1::-1]), np.float32)


def transformed(
    values: Sequence[Sequence[Expr]], matrix: Matrix, lanes: int, fresh: Callable[[str], str]
) -> tuple[list[Stmt], list[list[Expr]]]:
    """matrix · values · matrixᵀ, each number of it under a name: first down the columns, then along the rows."""
    statements: list[Stmt] = []

    def named(value: Expr) -> Expr:
        if isinstance(value, Var):
            return value
        name = fresh("part")
        statements.append(Let(name, value))
        return Var(name, FLOAT32, lanes)

    def multiplied(vector: Sequence[Expr]) -> list[Expr]:
        return [named(value) for value in _products(matrix, vector, lanes, named)]

    columns = [multiplied([row[place] for row in values]) for place in range(len(values[0]))]
    rows = [multiplied([column[place] for column in columns]) for place in range(len(matrix))]
    return statements, rows


def _products(matrix: Matrix, vector: Sequence[Expr], lanes: int, named: Callable[[Expr], Expr]) -> list[Expr]:
    """matrix · vector. Two rows that differ in signs alone share the sums of what is equal and what is opposite."""
    found: list[Expr | None] = [None] * len(matrix)
    for place, row in enumerate(matrix):
        if found[place] is not None:
            continue
        twin = next((i for i in range(place + 1, len(matrix)) if _mirrored(row, matrix[i])), None)
        if twin is None:
            found[place] = _combination(row, vector, lanes)
            continue
        same = [a if a == b else 0.0 for a, b in zip(row, matrix[twin], strict=True)]
        opposite = [a if a != b else 0.0 for a, b in zip(row, matrix[twin], strict=True)]
        even, odd = named(_combination(same, vector, lanes)), named(_combination(opposite, vector, lanes))
        found[place] = Apply("add", (even, odd), FLOAT32)
        found[twin] = Apply("sub", (even, odd), FLOAT32)
    return [value for value in found if value is not None]


def _mirrored(row: Sequence[float], other: Sequence[float]) -> bool:
    pairs = [(a, b) for a, b in zip(row, other, strict=True) if a != 0 or b != 0]
    return all(abs(a) == abs(b) for a, b in pairs) and len({a == b for a, b in pairs}) == 2


def _combination(factors: Sequence[float], vector: Sequence[Expr], lanes: int) -> Expr:
    """Σ factor · value, those with the factor 1 first, so that no product stands alone where it need not."""
    terms = sorted(
        ((factor, value) for factor, value in zip(factors, vector, strict=True) if factor), key=lambda t: t[0] != 1
    )
    (first, total), *rest = terms
    if first != 1:
        total = Apply("mul", (_number(first, lanes), total), FLOAT32)
    for factor, value in rest:
        if abs(factor) == 1:
            total = Apply("add" if factor == 1 else "sub", (total, value), FLOAT32)
        else:
            total = Fma(_number(factor, lanes), value, total)
    return total


def _number(value: float, lanes: int) -> Expr:
    literal = Literal(value, FLOAT32)
    return literal if lanes == 1 else Broadcast(literal, lanes)
