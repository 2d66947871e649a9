"""3×3 convolutions by Winograd's algorithm: fewer multiplications, larger weights, a little more rounding.

Three steps: tiles of the image are transformed, each of their places is a matrix product of its own, and the products
are transformed back into results. Where tiles and products of the whole image do not fit the cache, the three steps run
over blocks of tiles inside of one kernel, and only a block's tiles and products exist at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from rlx_base.dtypes import FLOAT32
from rlx_compiler.convolution.alternative import Alternative, Offer
from rlx_compiler.convolution.cost import multiplied, spilled, streamed
from rlx_compiler.convolution.problem import Convolution
from rlx_compiler.convolution.tiles import KERNEL, Matrix, Tiles, transformed_weights
from rlx_compiler.convolution.transforms import Grid, gathered, scattered
from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Allocate, Body, Buffer, For, Kernel, Stmt, Var
from rlx_compiler.lowering.kernels import Lowered, elements, lower_stage
from rlx_compiler.lowering.storage import Stage, physical
from rlx_compiler.lowering.substitute import reads_outside
from rlx_compiler.schedule.asked import NOTHING_ASKED
from rlx_compiler.schedule.effort import FULL
from rlx_compiler.schedule.plan import Loop, Packing, Plan
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.expr import Axis, Tensor, define, total
from rlx_ir.layout import Layout

__all__ = ["winograd"]

_FEWEST_BLOCKS: Final = 8  # fewer leave members of a team idle
_ERROR: Final = {2: 0.8, 4: 2.3}  # times the rounding of the plain sum: measured on normal numbers, 64 and 256 channels
# What the transforms take for each place of a tile and vector of channels: loads, sums and stores, in cycles.
_GATHER: Final = 4.0
_SCATTER: Final = 3.0


def winograd(
    size: int, conv: Convolution, layouts: Mapping[str, Layout | None], params: Mapping[str, str], spec: TargetSpec
) -> Offer | None:
    """The convolution in tiles of size × size results; None where it is not 3×3 with stride 1 over whole vectors.

    `params` names the kernels' parameter for each value that the stage reads.
    """
    lanes = spec.lanes(FLOAT32)
    along = (conv.height, conv.width)
    if lanes == 1 or conv.inputs % lanes or conv.outputs % lanes or str(conv.layout) != "NHWC":
        return None
    if any((one.taps, one.stride, one.dilation) != (KERNEL, 1, 1) for one in along):
        return None
    return _Winograd(conv, Grid(conv, Tiles.of(size)), layouts, params, spec, lanes)


@dataclass(frozen=True)
class _Winograd:
    conv: Convolution
    grid: Grid
    layouts: Mapping[str, Layout | None]
    params: Mapping[str, str]
    spec: TargetSpec
    lanes: int

    @property
    def places(self) -> int:
        return self.grid.tiles.reach**2

    @property
    def products(self) -> int:
        """The multiplications that are left."""
        return self.places * self.grid.count * self.conv.inputs * self.conv.outputs

    @property
    def weight_bytes(self) -> int:
        return self.places * self.conv.inputs * self.conv.outputs * FLOAT32.itemsize

    def values_bytes(self, tiles: int) -> int:
        """Of so many tiles and their products."""
        return self.places * tiles * (self.conv.inputs + self.conv.outputs) * FLOAT32.itemsize

    @property
    def algorithm(self) -> str:
        return f"winograd{self.grid.tiles.size}"

    @property
    def cycles(self) -> float:
        blocked = self._blocked_cycles
        return self._staged_cycles if blocked is None else min(self._staged_cycles, blocked)

    @property
    def _staged_cycles(self) -> float:
        return self._cycles(1) + spilled(self.values_bytes(self.grid.count), self.spec)

    @property
    def _blocked_cycles(self) -> float | None:
        return None if self.block is None else self._cycles(self.grid.count // self.block)

    def _cycles(self, blocks: int) -> float:
        tiles = self.grid.count // blocks
        again = blocks if self.weight_bytes + self.values_bytes(tiles) > self.spec.l2_bytes else 1
        product = max(multiplied(self.products, self.lanes), again * streamed(self.weight_bytes, self.spec))
        vectors = self.grid.count * self.places / self.lanes
        return product + vectors * (_GATHER * self.conv.inputs + _SCATTER * self.conv.outputs)

    @property
    def block(self) -> int | None:
        """How many tiles make a block: a divisor of all that leaves enough blocks, and fills half of the cache."""
        count = self.grid.count
        room = min(self.spec.l2_bytes // 2, self.spec.local_bytes)
        fitting = [
            tiles
            for tiles in range(1, count // _FEWEST_BLOCKS + 1)
            if count % tiles == 0 and self.values_bytes(tiles) <= room
        ]
        return max(fitting, default=None)

    def built(self) -> Alternative:
        blocked = self._blocked_cycles
        if self.block is not None and blocked is not None and blocked < self._staged_cycles:
            return self._blocked(self.block)
        return self._staged()

    # --- the steps

    @property
    def _own_weight(self) -> str:
        return f"{self.conv.weight}.winograd{self.grid.tiles.size}"

    def _between(self, tiles: int) -> tuple[Tensor, Tensor]:
        """Tiles and products, in the order in which the products are taken."""
        name = self.conv.defined.name
        seen = Tensor(f"{name}.tiles", (self.places, tiles, self.conv.inputs), FLOAT32)
        weight = Tensor(self._own_weight, (self.places, self.conv.inputs, self.conv.outputs), FLOAT32)
        place, tile, out = Axis("place", self.places), Axis("tile", tiles), Axis("output_channel", self.conv.outputs)
        channel = Axis("input_channel", self.conv.inputs)
        body = total(seen[place, tile, channel] * weight[place, channel, out], over=(channel,))
        return seen, replace(define("products", (place, tile, out), body), name=f"{name}.products")

    def _multiplied(self, tiles: int) -> Lowered:
        seen, products = self._between(tiles)
        params = {seen.name: "tiles", self._own_weight: "weight", products.name: "products"}
        return lower_stage(products, "conv2d_products", {}, params, {self._own_weight}, self.spec, NOTHING_ASKED, FULL)

    @property
    def _input(self) -> Buffer:
        shape = self.conv.input.shape
        stored = (self.conv.images, shape[2], shape[3], shape[1])
        return Buffer(self.params[self.conv.input.name], FLOAT32, stored)

    def _stage(self) -> tuple[Stage, dict[Tensor, Buffer]]:
        """The stage as stored, and the parameters of its epilogue, the output last."""
        stage = physical(self.conv.defined, self.layouts)
        tensors = dict.fromkeys(read.tensor for read in reads_outside(stage.body))
        buffers = {tensor: Buffer(self.params[tensor.name], tensor.dtype, tensor.shape) for tensor in tensors}
        output = Buffer("output", stage.output.dtype, stage.output.shape, "global", "write")
        return stage, {**buffers, stage.output: output}

    def _staged(self) -> Alternative:
        """Three kernels, one after the other, each shared by all members of the team."""
        count, fresh = self.grid.count, _Fresh()
        seen, products = self._between(count)
        tiles = Buffer("tiles", FLOAT32, seen.shape, "global", "write")
        body = gathered(self.grid, self._input, tiles, Var("tile"), Var("tile"), self.lanes, fresh)
        first = self._lowered(
            "conv2d_tiles", [self._input, tiles], [self.conv.input.name, seen.name], body, self._gather_flops
        )
        second = self._multiplied(count)
        stage, buffers = self._stage()
        made = Buffer("products", FLOAT32, products.shape)
        body = scattered(self.grid, stage, buffers, made, Var("tile"), Var("tile"), self.lanes, fresh)
        names = [tensor.name for tensor in buffers]
        third = self._lowered(
            "conv2d_results", [made, *buffers.values()], [products.name, *names], body, self._scatter_flops
        )
        kernels = ((".tiles", first), (".products", second), ("", third))
        how = f"three kernels: tiles and products are {self.values_bytes(count) >> 10} KiB"
        return self._offered(kernels, how, (seen, products))

    def _blocked(self, block: int) -> Alternative:
        """One kernel: the three steps over each block of tiles, which never leave the cache."""
        count, fresh = self.grid.count, _Fresh()
        product = self._multiplied(block)
        seen, products = self._between(block)
        tiles = Buffer("tiles", FLOAT32, seen.shape, "local", "update")
        made = Buffer("products", FLOAT32, products.shape, "local", "update")
        stage, buffers = self._stage()
        tile, here = Var("tile"), build.add(Var("block"), Var("tile"))
        gather = gathered(self.grid, self._input, tiles, here, tile, self.lanes, fresh)
        scatter = scattered(self.grid, stage, buffers, made, here, tile, self.lanes, fresh)
        between = tuple(replace(s, kind="serial") if isinstance(s, For) else s for s in product.kernel.body)
        body: Body = (
            Allocate(tiles),
            Allocate(made),
            For("tile", build.index(0), build.index(block), tuple(gather)),
            *between,
            For("tile", build.index(0), build.index(block), tuple(scatter)),
        )
        loop = For("block", build.index(0), build.index(count), body, block, "parallel")
        weight = next(b for b, v in zip(product.kernel.params, product.values, strict=True) if v == self._own_weight)
        packing = next(p for p in product.packings if p is not None) if any(product.packings) else None
        params = (self._input, weight, *buffers.values())
        values = (self.conv.input.name, self._own_weight, *(tensor.name for tensor in buffers))
        flops = self._gather_flops + 2 * self.products + self._scatter_flops
        assert isinstance(product.plan, Plan)
        plan = replace(product.plan, loops=(Loop("tile", block, "parallel"), *product.plan.loops))
        lowered = Lowered(
            Kernel("conv2d_winograd", params, (loop,)),
            values,
            (None, packing, *(None for _ in buffers)),
            plan,
            product.reasons,
            flops,
            _bytes(params),
        )
        how = f"blocks of {block} tiles in one kernel: {self.values_bytes(block) >> 10} KiB instead of "
        how += f"{self.values_bytes(count) >> 10} KiB"
        return self._offered((("", lowered),), how, ())

    def _lowered(self, name: str, params: list[Buffer], values: list[str], body: list[Stmt], flops: int) -> Lowered:
        """A kernel over all tiles, without a sum to plan."""
        loop = For("tile", build.index(0), build.index(self.grid.count), tuple(body), 1, "parallel")
        plan = Plan((Loop("tile", 1, "parallel"),), (), "channel", self.lanes)
        packings: tuple[Packing | None, ...] = tuple(None for _ in params)
        return Lowered(Kernel(name, tuple(params), (loop,)), tuple(values), packings, plan, (), flops, _bytes(params))

    def _offered(self, kernels: tuple[tuple[str, Lowered], ...], how: str, values: tuple[Tensor, ...]) -> Alternative:
        size = self.grid.tiles.size
        reasons = (
            f"Winograd F({size}x{size}, 3x3): {self.products / 1e6:.1f} M products instead of "
            f"{self.conv.products / 1e6:.1f} M, weights of {self.weight_bytes >> 10} KiB instead of "
            f"{self.conv.weights.nbytes >> 10} KiB, rounding {_ERROR[size]} times that of the plain sum",
            how,
        )
        weights = transformed_weights(self.conv.weights, self.grid.tiles)
        return Alternative(kernels, values, {self._own_weight: weights}, reasons)

    @property
    def _gather_flops(self) -> int:
        return self.grid.count * self.conv.inputs * _transform_flops(self.grid.tiles.inputs)

    @property
    def _scatter_flops(self) -> int:
        return self.grid.count * self.conv.outputs * _transform_flops(self.grid.tiles.results)


class _Fresh:
    """Names that no other part of the kernel has."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def __call__(self, stem: str) -> str:
        self._count[stem] = self._count.get(stem, 0) + 1
        return f"{stem}_{self._count[stem]}"


def _transform_flops(matrix: Matrix) -> int:
    """Of matrix · tile · matrixᵀ, zeros left out."""
    terms = sum(1 for row in matrix for number in row if number)
    return 2 * terms * (len(matrix[0]) + len(matrix))


def _bytes(params: list[Buffer] | tuple[Buffer, ...]) -> int:
    return sum(elements(buffer.shape) * buffer.dtype.itemsize for buffer in params)
