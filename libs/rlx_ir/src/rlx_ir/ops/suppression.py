"""non_max_suppression: of boxes that overlap, the one with the highest score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlx_base.dtypes import BOOL, INDEX, INT64
from rlx_ir.expr import (
    Axis,
    Expr,
    Tensor,
    apply,
    cast,
    clamp,
    define,
    greatest,
    identity,
    least,
    literal,
    maximum,
    minimum,
    select,
)
from rlx_ir.op import Array, Op, register
from rlx_ir.ops.axes import result_axes
from rlx_ir.ops.counted import kept_places, unravelled
from rlx_ir.ops.rules import check_dtype, check_equal_dtypes, refuse
from rlx_ir.types import TensorType

__all__ = ["NonMaxSuppression"]

_MOST: Final = 512  # choices of a class; each is a pass over its boxes, a kernel of its own


@register
@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Op):
    """For each batch and class, the boxes by falling score (of equal ones the first), without those whose intersection
    over union with a box chosen before is above `iou_threshold`, and without those not above `score_threshold`.

    A row of the result is (batch, class, box); rows beyond the last choice hold −1. At most `max_output` boxes are
    chosen of a class, and `most` (an attribute, so that the work is known). A box is two opposite corners (y, x, y, x),
    or (x centre, y centre, width, height) with `center_point_box`.
    Shapes: boxes (b, n, 4), scores (b, c, n), the others (1) or () → (rows, 3), int64. Errors: E110 where they do not
    fit. Source: ONNX NonMaxSuppression-11, with the number of rows as attribute.
    """

    name = "non_max_suppression"
    operands = ("boxes", "scores", "max_output?", "iou_threshold?", "score_threshold?")

    rows: int
    most: int
    center_point_box: bool = False

    def infer(
        self,
        boxes: TensorType,
        scores: TensorType,
        max_output: TensorType | None = None,
        iou_threshold: TensorType | None = None,
        score_threshold: TensorType | None = None,
    ) -> tuple[TensorType, ...]:
        check_dtype(self.name, "boxes", boxes.dtype, "float")
        check_equal_dtypes(self.name, ("boxes", "scores"), (boxes, scores))
        sizes = [size for size in (*boxes.shape, *scores.shape) if isinstance(size, int)]
        fits = len(sizes) == 6 and sizes[2] == 4 and sizes[0] == sizes[3] and sizes[1] == sizes[5]
        if not fits:
            raise refuse(self.name, f"boxes are {boxes}, scores {scores}", "(b, n, 4) and (b, c, n), sizes as numbers")
        if not 0 <= self.most <= min(sizes[1], _MOST) or not 0 <= self.rows <= sizes[0] * sizes[4] * self.most:
            limit = f"most up to the number of boxes and {_MOST}, rows up to batches · classes · most"
            raise refuse(self.name, f"most is {self.most}, rows {self.rows}", limit)
        if max_output is not None:
            check_dtype(self.name, "max_output", max_output.dtype, "integer")
        for name, limit_type in (
            ("max_output", max_output),
            ("iou_threshold", iou_threshold),
            ("score_threshold", score_threshold),
        ):
            if limit_type is not None and limit_type.shape not in ((), (1,)):
                raise refuse(self.name, f"{name} is {limit_type}", "give it one element")
        return (TensorType((self.rows, 3), INT64),)

    def expression(
        self,
        boxes: Tensor,
        scores: Tensor,
        max_output: Tensor | None = None,
        iou_threshold: Tensor | None = None,
        score_threshold: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        axes = result_axes((self.rows, 3))
        if self.rows == 0 or max_output is None:
            return (define("output", axes, literal(-1, INT64)),)
        batch, group, box = (Axis(n, size) for n, size in zip(("batch", "row", "column"), scores.shape, strict=True))
        every = Axis("reduce", scores.shape[2])
        count = scores.shape[2]
        assert isinstance(count, int)
        corners = self._corners(boxes)
        score = scores[batch, group, box]
        usable = literal(True, BOOL) if score_threshold is None else score > _one(score_threshold)
        alive = define("alive0", (batch, group, box), usable)
        limit = 0.0 if iou_threshold is None else _one(iou_threshold)
        chosen: list[Tensor] = []
        for step in range(self.most):
            own = scores[batch, group, every]
            left = alive[batch, group, every]
            lowest = identity("max", scores.dtype)
            best = define(f"best{step}", (batch, group), greatest(select(left, own, lowest), over=(every,)))
            hit = apply("and", left, apply("eq", own, best[batch, group]))
            found = least(select(hit, every, count), over=(every,))
            chosen.append(define(f"chosen{step}", (batch, group), found))
            other = clamp(chosen[-1][batch, group], 0, count - 1)
            apart = apply("not", _overlap(corners, batch, box, other, limit))
            kept = apply("and", apply("ne", box, other), apply("and", alive[batch, group, box], apart))
            alive = define(f"alive{step + 1}", (batch, group, box), kept)
        return (self._rows(axes, chosen, scores, cast(_one(max_output), INDEX)),)

    def _rows(self, axes: Sequence[Axis], chosen: Sequence[Tensor], scores: Tensor, most: Expr) -> Tensor:
        """The choices of all classes one after the other."""
        batches, groups, count = scores.shape
        shape = (batches, groups, self.most)
        assert isinstance(batches, int)
        assert isinstance(groups, int)
        assert isinstance(count, int)
        all_axes = tuple(Axis(name, size) for name, size in zip(("batch", "row", "column"), shape, strict=True))

        def pick(low: int, high: int) -> Expr:
            if high - low == 1:
                return chosen[low][all_axes[0], all_axes[1]]
            middle = (low + high) // 2
            return select(all_axes[2] < middle, pick(low, middle), pick(middle, high))

        choice = define("choice", all_axes, pick(0, self.most))
        flat = Axis("column", batches * groups * self.most)
        place = unravelled(flat, shape)
        valid = apply("and", choice[place] < count, place[2] < most)
        places, found = kept_places(
            define("valid", (flat,), select(valid, literal(1, INDEX), literal(0, INDEX))), self.rows
        )
        row = unravelled(places[axes[0]], shape)
        part = select(apply("eq", axes[1], 0), row[0], select(apply("eq", axes[1], 1), row[1], choice[row]))
        return define("output", axes, cast(select(axes[0] < found[()], part, literal(-1, INDEX)), INT64))

    def _corners(self, boxes: Tensor) -> Tensor:
        """Low and high ends along both dimensions: (b, n, 4)."""
        axes = tuple(Axis(n, size) for n, size in zip(("batch", "column", "side"), boxes.shape, strict=True))

        def at(k: int) -> Expr:
            return boxes[axes[0], axes[1], k]

        if self.center_point_box:
            sides = [at(0) - at(2) / 2, at(1) - at(3) / 2, at(0) + at(2) / 2, at(1) + at(3) / 2]
        else:
            sides = [minimum(at(0), at(2)), minimum(at(1), at(3)), maximum(at(0), at(2)), maximum(at(1), at(3))]
        body = sides[3]
        for k in (2, 1, 0):
            body = select(apply("eq", axes[2], k), sides[k], body)
        return define("corners", axes, body)

    def reference(
        self,
        boxes: Array,
        scores: Array,
        max_output: Array | None = None,
        iou_threshold: Array | None = None,
        score_threshold: Array | None = None,
    ) -> tuple[Array, ...]:
        most = 0 if max_output is None else min(int(max_output.item()), self.most)
        limit = boxes.dtype.type(0 if iou_threshold is None else iou_threshold.item())
        found: list[tuple[int, int, int]] = []
        for batch, group in np.ndindex(scores.shape[:2]):
            row = scores[batch, group]
            order = sorted(range(row.size), key=lambda i: -row[i])
            if score_threshold is not None:
                order = [i for i in order if row[i] > score_threshold.item()]
            kept: list[int] = []
            for i in order:
                if len(kept) < most and not any(self._overlaps(boxes[batch, i], boxes[batch, j], limit) for j in kept):
                    kept.append(i)
            found += [(batch, group, i) for i in kept]
        y = np.full((self.rows, 3), -1, np.int64)
        chosen = np.array(found[: self.rows], np.int64).reshape(-1, 3)
        y[: len(chosen)] = chosen
        return (y,)

    def _overlaps(self, a: Array, b: Array, limit: float) -> bool:
        def ends(box: Array) -> tuple[Array, Array]:
            if self.center_point_box:
                return box[:2] - box[2:] / 2, box[:2] + box[2:] / 2
            return np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])

        (low_a, high_a), (low_b, high_b) = ends(a), ends(b)
        sides = np.minimum(high_a, high_b) - np.maximum(low_a, low_b)
        if not (sides > 0).all():
            return False
        shared = math.prod(sides)
        areas = math.prod(high_a - low_a), math.prod(high_b - low_b)
        union = sum(areas) - shared
        return bool(min(areas) > 0 and union > 0 and shared / union > limit)


def _one(tensor: Tensor) -> Expr:
    """The element of a tensor that has one."""
    return tensor[(literal(0, INDEX),) * tensor.rank]


def _overlap(corners: Tensor, batch: Axis, a: Expr, b: Expr, limit: Expr | float) -> Expr:
    """Whether the intersection of two boxes is more than that part of their union."""

    def side(box: Expr, k: int) -> Expr:
        return corners[batch, box, k]

    shared: Expr | None = None
    area: list[Expr] = []
    inside: Expr | None = None
    for d in (0, 1):
        both = minimum(side(a, 2 + d), side(b, 2 + d)) - maximum(side(a, d), side(b, d))
        shared = both if shared is None else shared * both
        inside = both > 0 if inside is None else apply("and", inside, both > 0)
    for box in (a, b):
        area.append((side(box, 2) - side(box, 0)) * (side(box, 3) - side(box, 1)))
    assert shared is not None
    assert inside is not None
    union = area[0] + area[1] - shared
    for part in (*area, union):
        inside = apply("and", inside, part > 0)
    return apply("and", inside, shared / union > limit)
