"""The loop IR: what stands between a tensor expression and a target's code. Read this before writing an emitter.

A `Kernel` is a function of flat buffers; its body is loops over statements over scalar and vector values. Every
decision about speed (tiles, vectors, registers, unrolling, what runs in parallel) is already taken in it, so an
emitter translates node by node and decides nothing.

**Values.** Every expression has a `dtype` and `lanes`: 1 is a scalar, n > 1 a vector of n elements (any n; a target
splits what its registers cannot hold). Nothing is broadcast silently: the parts of an `Apply`, `Fma`, `Select`
have equal lanes (the condition of a `Select` may be scalar), the parts of `Apply` equal dtypes.
Indices are scalars of dtype `INDEX` (64 bits, signed; arithmetic on them never overflows). A bool is one byte, 0 or
1, in memory. float16 is loaded, cast and stored only: arithmetic on it is done in float32. So are the types that
NumPy lacks: bfloat16, float8, float4 are computed in float32, int4 and int2 in int8; in memory each is one or two bytes
(`DType.bits_held`), and an emitter meets them in buffers and `Bitcast`s alone, as those integers.

**Names.** `Let`, `For`, `Accumulator` and `Allocate` bind a name for the rest of the body they stand in (and the
bodies inside it). No name is bound twice on one path, and none equals the name of a buffer.

**Functions.** `Apply.function` is a name of `rlx_ir.scalar` (all but `select`) with the meaning given there: `max`
and `min` propagate NaN; integer arithmetic wraps, ÷ 0 gives 0 and INT_MIN ÷ −1 gives INT_MIN; nothing traps. Added
here, for integers: `shl`, `shr` (arithmetic for signed dtypes), counts < the width. A float → integer `Cast` out of
range is any value, but no trap. `Fma(a, b, c)` is a·b + c with one rounding or two, as the target does it faster.

**Loops.** `For` runs its body for start, start + step, … while < stop (step > 0; possibly never).
- `serial`: in order. `parallel`: iterations are independent; members of the team take contiguous ranges of them.
  A kernel has at most one parallel loop, as a direct statement of `Kernel.body`, with only `Let`s before it and
  nothing after it. A kernel without one is run by thread 0 alone.
- `unrolled`, `vector`: how the text form shows what the schedule did; `loops.prepare` expands them, so an emitter
  never meets them. After it, accumulator places are plain ints and every `Load`/`Store` has one linear index.
- `block`, `thread`: the grid of a GPU. A kernel has at most one loop of each, from 0 in steps of 1 to a number: the
  `block` loop is the last statement of `Kernel.body`, the `thread` loop the last one of its body, after the `shared`
  buffers. Blocks are independent; the threads of one run together and meet at every `Barrier`, which therefore
  stands only where all of them come: in loops and conditions that depend on the block alone.

**Memory.** Buffers are contiguous, row-major over `Buffer.shape`, 64-byte aligned, and never overlap. `Load` with
as many indices as the buffer has dimensions, or with one: a linear element offset.
With lanes n it reads n elements at offset, offset + stride, …; where `active` is given only the first `active`
lanes are touched and the others read 0. `Store` writes likewise. Vector accesses may be unaligned.
Every access that is evaluated is in bounds; `Select` with a scalar condition and `If` evaluate only the chosen side,
so they may guard one. A `Select` with a vector condition is a blend: both sides are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeAlias

from rlx_base.dtypes import INDEX, DType
from rlx_ir.dims import Shape

__all__ = [
    "Accumulator",
    "Allocate",
    "Apply",
    "Assign",
    "Barrier",
    "Bitcast",
    "Body",
    "Broadcast",
    "Buffer",
    "Cast",
    "Element",
    "Expr",
    "Fma",
    "Fold",
    "For",
    "Grid",
    "If",
    "Kernel",
    "Let",
    "Literal",
    "Load",
    "LoopKind",
    "Prefetch",
    "Ramp",
    "Select",
    "Size",
    "Space",
    "Stmt",
    "Store",
    "Var",
]

Space = Choice["global", "shared", "local", "register"]
Access = Choice["read", "write", "update"]
LoopKind = Choice["serial", "parallel", "unrolled", "vector", "block", "thread"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a kernel reads or writes. `shape` is the stored shape, outermost first; dims may be symbolic.

    `access` tells how the kernel uses a parameter: `read`, `write` (every element it holds afterwards comes from this
    kernel or does not matter) or `update` (reads what it wrote, or adds to what is there).
    """

    name: str
    dtype: DType
    shape: Shape
    space: Space = "global"
    access: Access = "read"


class Expr:
    """A scalar or vector value. It has no effect, so it may be computed once, again, or never."""

    __slots__ = ()
    dtype: DType
    lanes: int


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant; a vector one is a `Broadcast` of it. Floats may be infinite or NaN."""

    value: bool | int | float
    dtype: DType
    lanes: Choice[1] = 1


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """What a `For` or a `Let` has bound."""

    name: str
    dtype: DType = INDEX
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Size(Expr):
    """The run-time value of a symbolic dimension: `rlx_call.dims`, at its place in `Program.dims`."""

    name: str
    dtype: DType = INDEX
    lanes: Choice[1] = 1


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """`lanes` elements of a buffer, `stride` apart; see *Memory* above."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    lanes: int = 1
    stride: int = 1
    active: Expr | None = None

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.buffer.dtype


@dataclass(frozen=True, slots=True)
class Broadcast(Expr):
    """A scalar in every lane."""

    value: Expr
    lanes: int

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.value.dtype


@dataclass(frozen=True, slots=True)
class Ramp(Expr):
    """start, start + 1, …: an axis as a value where the loop over it has become a vector."""

    start: Expr
    lanes: int

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.start.dtype


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A conversion as NumPy's `astype`."""

    value: Expr
    dtype: DType

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.value.lanes


@dataclass(frozen=True, slots=True)
class Bitcast(Expr):
    """The same bits as another dtype of the same width."""

    value: Expr
    dtype: DType

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.value.lanes


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """A function of `rlx_ir.scalar` in every lane; see *Functions* above."""

    function: str
    arguments: tuple[Expr, ...]
    dtype: DType

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.arguments[0].lanes


@dataclass(frozen=True, slots=True)
class Fma(Expr):
    """a · b + c, of floats."""

    a: Expr
    b: Expr
    c: Expr

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.c.dtype

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.c.lanes


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """`then` where the condition (a bool) holds, else `otherwise`; lazy where the condition is scalar."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.then.dtype

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.then.lanes


@dataclass(frozen=True, slots=True)
class Fold(Expr):
    """One scalar from all lanes: their sum, product, maximum or minimum (NaN where any is). The order is free."""

    kind: Choice["sum", "prod", "max", "min"]
    value: Expr
    lanes: Choice[1] = 1

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.value.dtype


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """What one place of an accumulator holds now. Unlike other expressions it depends on when it is evaluated."""

    accumulator: str
    places: tuple[int | Expr, ...]
    dtype: DType
    lanes: int


@dataclass(frozen=True, slots=True)
class Let:
    """Compute a value once and name it."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """Write `value` to memory; see *Memory* above."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    stride: int = 1
    active: Expr | None = None


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A tile of registers: `shape` values (vectors of `lanes`) of `dtype`, all starting as `initial` (None: undefined).

    Places are constants after `prepare`, so a target can keep each in a register of its own. `()` is one value.
    """

    name: str
    dtype: DType
    lanes: int
    shape: tuple[int, ...]
    initial: Expr | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    """Set one place of an accumulator."""

    accumulator: str
    places: tuple[int | Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Allocate:
    """A buffer of this body's own: `local` ones per thread (small: on the stack), `shared` ones per block."""

    buffer: Buffer


@dataclass(frozen=True, slots=True)
class For:
    """A loop; see *Loops* above."""

    var: str
    start: Expr
    stop: Expr
    body: Body
    step: int = 1
    kind: LoopKind = "serial"


@dataclass(frozen=True, slots=True)
class If:
    """Run `then` where the (scalar) condition holds, else `otherwise`."""

    condition: Expr
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of a block meet here (GPU kernels only; kernels of a CPU plan are separated by their caller)."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Ask for the cache line of an element that is read soon. A hint: an index may lie behind the buffer's end."""

    buffer: Buffer
    indices: tuple[Expr, ...]


Stmt: TypeAlias = Let | Store | Accumulator | Assign | Allocate | For | If | Barrier | Prefetch
Body: TypeAlias = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """What a launch on a GPU needs: how many blocks of how many threads, and the shared memory of each block."""

    blocks: int
    threads: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function: its buffer parameters in order, and its body. Equal kernels are emitted once and launched often."""

    name: str
    params: tuple[Buffer, ...]
    body: Body

    @property
    def parallel(self) -> For | None:
        """The loop whose iterations the team shares."""
        return next((s for s in self.body if isinstance(s, For) and s.kind == "parallel"), None)

    @property
    def grid(self) -> Grid | None:
        """The grid of a GPU kernel; None for a kernel that is one function of a team."""
        block = next((s for s in self.body if isinstance(s, For) and s.kind == "block"), None)
        if block is None:
            return None
        thread = next(s for s in block.body if isinstance(s, For) and s.kind == "thread")
        shared = [s.buffer for s in block.body if isinstance(s, Allocate)]
        return Grid(_count(block), _count(thread), sum(_bytes(buffer) for buffer in shared))


def _count(loop: For) -> int:
    assert isinstance(loop.stop, Literal), "a grid has a fixed size"
    return int(loop.stop.value)


def _bytes(buffer: Buffer) -> int:
    size = buffer.dtype.itemsize
    for dim in buffer.shape:
        assert isinstance(dim, int), "a shared buffer has a fixed size"
        size *= dim
    return size
