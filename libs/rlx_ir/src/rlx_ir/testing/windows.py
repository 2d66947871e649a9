"""Cases of convolution, pooling and the matrix products."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rlx_ir.op import OPS, make
from rlx_ir.testing.case import Case, Dtypes, Strategy, strategy_for
from rlx_ir.testing.tensors import array, broadcastable, choose, shapes, sizes

__all__ = ["conv2d"]

_KINDS = ("float", "int", "uint")


def _two(draw: DrawFn, most: int) -> list[int]:
    return [draw(st.integers(1, most)), draw(st.integers(1, most))]


def _padding(draw: DrawFn, most: int) -> list[int] | str:
    one = st.integers(0, most)
    return draw(
        st.one_of(
            st.lists(one, min_size=2, max_size=2),
            st.lists(one, min_size=4, max_size=4),
            st.sampled_from(["same_upper", "same_lower", "valid"]),
        )
    )


def _fits(size: int, kernel: int, dilation: int, before: int, after: int) -> bool:
    return size == 0 or size + before + after >= (kernel - 1) * dilation + 1


def _sides(padding: list[int] | str) -> list[int]:
    """The padding that is sure to be there: [top, left, bottom, right]."""
    if isinstance(padding, str):
        return [0] * 4
    return padding if len(padding) == 4 else padding * 2


@strategy_for("conv2d")
def conv2d(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes)
        groups = draw(st.sampled_from([1, 1, 2, 3]))
        channels, out = groups * draw(sizes(5)), groups * draw(sizes(5))
        kernel, dilations, padding = _two(draw, 3), _two(draw, 2), _padding(draw, 2)
        image = [draw(sizes(9)), draw(sizes(17))]
        pads = _sides(padding)
        for i in (0, 1):
            if not _fits(image[i], kernel[i], dilations[i], pads[i], pads[i + 2]):
                image[i] += (kernel[i] - 1) * dilations[i]
        attributes: dict[str, Any] = {"strides": _two(draw, 3), "padding": padding, "dilations": dilations}
        op = make(OPS[name], attributes | {"groups": groups})
        input = array(draw, (draw(sizes(3)), channels, *image), dtype)
        weight = array(draw, (out, channels // groups, *kernel), dtype)
        bias = array(draw, (out,), dtype) if draw(st.booleans()) else None
        return Case(op, (input, weight, bias))

    return strategy


def _spatial(draw: DrawFn, most: int, rank: int) -> list[int]:
    return [draw(st.integers(1, most)) for _ in range(rank)]


@strategy_for("conv", "conv_transpose")
def conv(name: str) -> Strategy:
    """Over one or three dimensions; a transposed one over any."""

    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype, transposed = choose(draw, dtypes), name == "conv_transpose"
        rank = draw(st.sampled_from([1, 2, 3] if transposed else [1, 3]))
        groups = draw(st.sampled_from([1, 1, 2]))
        per_group, out = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        # A transposed one makes an image larger: in three dimensions soon a million places for loops in Python.
        deep = transposed and rank == 3
        kernel, dilations = _spatial(draw, 2 if deep else 3, rank), _spatial(draw, 2, rank)
        pads = [draw(st.integers(0, 1)) for _ in range(2 * rank)]
        image = [draw(st.integers(3, 3 if deep else 6)) for _ in range(rank)]
        if not transposed:
            image = [size + (kernel[i] - 1) * dilations[i] for i, size in enumerate(image)]
        attributes: dict[str, Any] = {"strides": _spatial(draw, 3, rank), "padding": pads, "dilations": dilations}
        if transposed:
            attributes["output_padding"] = [draw(st.integers(0, stride - 1)) for stride in attributes["strides"]]
        input = array(draw, (draw(sizes(2)), groups * per_group, *image), dtype)
        channels = (groups * per_group, out) if transposed else (groups * out, per_group)
        weight = array(draw, (*channels, *kernel), dtype)
        bias = array(draw, (groups * out,), dtype) if draw(st.booleans()) else None
        return Case(make(OPS[name], attributes | {"groups": groups}), (input, weight, bias))

    return strategy


@strategy_for("lp_pool", "max_pool_indices")
def pool_in_any_rank(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        rank = draw(st.sampled_from([1, 2, 3]))
        kernel = _spatial(draw, 3, rank)
        image = [draw(st.integers(0, 3)) + size for size in kernel]
        attributes: dict[str, Any] = {
            "kernel": kernel,
            "strides": _spatial(draw, 3, rank),
            "padding": [draw(st.integers(0, size - 1)) for size in kernel],
            "ceil_mode": draw(st.booleans()),
        }
        if name == "lp_pool":
            attributes["p"] = draw(st.integers(1, 3))
        else:
            attributes["column_major"] = draw(st.booleans())
        shape = (draw(sizes(2)), draw(sizes(3)), *image)
        dtype = choose(draw, dtypes, ("float",) if name == "lp_pool" else _KINDS)
        return Case(make(OPS[name], attributes), (array(draw, shape, dtype),))

    return strategy


@strategy_for("max_pool", "average_pool")
def pool(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes, _KINDS if name == "max_pool" else ("float",))
        kernel, dilations = (
            _two(draw, 4),
            draw(st.one_of(st.none(), st.lists(st.integers(1, 2), min_size=2, max_size=2))),
        )
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or (1, 1), strict=True)]
        padding = _padding(draw, min(reach) - 1)
        image = [draw(sizes(9)), draw(sizes(17))]
        pads = _sides(padding)
        for i in (0, 1):
            if not _fits(image[i], kernel[i], (dilations or (1, 1))[i], pads[i], pads[i + 2]):
                image[i] += reach[i]
        attributes = {"kernel": kernel, "padding": padding, "dilations": dilations, "ceil_mode": draw(st.booleans())}
        if draw(st.booleans()):
            attributes["strides"] = _two(draw, 3)
        if name == "average_pool":
            attributes["count_include_pad"] = draw(st.booleans())
        shape = (draw(sizes(2)), draw(sizes(5)), *image)
        assume(not isinstance(padding, str) or all(size > 0 for size in image) or padding == "valid")
        return Case(make(OPS[name], attributes), (array(draw, shape, dtype, special=name == "max_pool"),))

    return strategy


@strategy_for("global_average_pool", "global_max_pool")
def global_pool(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes, _KINDS if name == "global_max_pool" else ("float",))
        return Case(make(OPS[name], {}), (array(draw, draw(shapes(3, 5, most=8)), dtype, special=True),))

    return strategy


@strategy_for("matmul")
def matmul(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes, _KINDS)
        lead = draw(shapes(0, 2, most=4))
        m, k, n = draw(sizes()), draw(sizes()), draw(sizes())
        a = (k,) if draw(st.integers(0, 5)) == 5 else (*broadcastable(draw, lead), m, k)
        b = (k,) if draw(st.integers(0, 5)) == 5 else (*broadcastable(draw, lead), k, n)
        return Case(make(OPS[name], {}), (array(draw, a, dtype), array(draw, b, dtype)))

    return strategy


@strategy_for("gemm")
def gemm(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        dtype = choose(draw, dtypes)
        m, k, n = draw(sizes()), draw(sizes()), draw(sizes())
        trans_a, trans_b = draw(st.booleans()), draw(st.booleans())
        scale = st.sampled_from([1.0, 0.5, 2.0, 0.0])
        op = make(OPS[name], {"alpha": draw(scale), "beta": draw(scale), "trans_a": trans_a, "trans_b": trans_b})
        c = array(draw, broadcastable(draw, (m, n)), dtype) if draw(st.booleans()) else None
        a, b = (k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n)
        return Case(op, (array(draw, a, dtype), array(draw, b, dtype), c))

    return strategy


@strategy_for("resize")
def resize(name: str) -> Strategy:
    @st.composite
    def strategy(draw: DrawFn, dtypes: Dtypes) -> Case:
        mode = draw(st.sampled_from(["nearest", "linear", "nearest", "cubic"]))
        dtype = choose(draw, dtypes, _KINDS if mode == "nearest" else ("float",))
        lead = (draw(sizes(2)), draw(sizes(3)))
        image = (draw(sizes(8, least=1)), draw(sizes(8, least=1)))
        attributes: dict[str, Any] = {
            "mode": mode,
            "coordinate_mode": draw(
                st.sampled_from(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
            ),
            "nearest_mode": draw(st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])),
        }
        if draw(st.booleans()):
            # Twice and half the size make the ties that `nearest` has to break.
            attributes["size"] = [
                draw(st.one_of(st.sampled_from([2 * size, -(-size // 2)]), st.integers(1, 17))) for size in image
            ]
        else:
            scale = st.sampled_from([2.0, 0.5, 1.5, 1.0, 0.6, 3.0, 0.75])
            attributes["scales"] = [draw(scale), draw(scale)]
        return Case(make(OPS[name], attributes), (array(draw, (*lead, *image), dtype),))

    return strategy
