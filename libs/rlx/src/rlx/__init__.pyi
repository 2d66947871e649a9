"""What editors and type checkers know of `rlx`. Written by `make generated` from the ops; not to be edited."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlx.caching import CompileCache as CompileCache
from rlx.compiling import compile as compile
from rlx.dynamic import DynamicModel as DynamicModel
from rlx.loading import load as load
from rlx.modules import ModuleFunction as ModuleFunction
from rlx.modules import module as module
from rlx.serving import serve as serve
from rlx.tracing import JitFunction as JitFunction
from rlx.tracing import jit as jit
from rlx_base.errors import RlxError as RlxError
from rlx_compiler import CompileOptions as CompileOptions
from rlx_compiler import CompileResult as CompileResult
from rlx_ir import Module as Module
from rlx_runtime import InProcessModel as InProcessModel

# A value of the language: it has operators and a few methods, and is used inside a module only.
Value = Any
_Tile = Mapping[str, Mapping[str, int] | Sequence[int]]
_Schedule = Mapping[str, Any]
_Affinity = Mapping[str, str]

def tensor(
    *,
    shape: Sequence[int | str],
    dtype: str = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Declares an input: `x = rlx.tensor(shape=[1, 3, "H", "W"], dtype="float32")`."""

def scalar(*, dtype: str = ..., memory_affinity: _Affinity = ..., location: str = ...) -> Value:
    """Declares an input of rank 0."""

def constant(
    *,
    value: Any = ...,
    file: str = ...,
    key: str = ...,
    dtype: str = ...,
    shape: Sequence[int] = ...,
    seed: int = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Weights and numbers: literals, NumPy expressions, or a tensor of a safetensors file."""

def cond(pred: Value, then_module: ModuleFunction, else_module: ModuleFunction, *, args: Sequence[Value] = ...) -> Any:
    """One of two modules, as `pred` says."""

def abs(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = |x|; the least integer stays itself. Source: ONNX Abs-13."""

def acos(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the angle in 0 … π whose cosine is x. Source: ONNX Acos-22."""

def acosh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = ln(x + √(x² − 1)), x ≥ 1. Source: ONNX Acosh-22."""

def add(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a + b. Source: ONNX Add-14."""

def arg_max(
    x: Value,
    *,
    axis: int = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the index of the greatest x along an axis, as int64; the first of equal ones, and of NaNs.

    Errors: E110 for an axis that is not there or has no elements. Source: ONNX ArgMax-13.
    """

def arg_min(
    x: Value,
    *,
    axis: int = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the index of the least x along an axis, as int64; the first of equal ones, and of NaNs.

    Errors: E110 for an axis that is not there or has no elements. Source: ONNX ArgMin-13.
    """

def asin(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the angle in −π/2 … π/2 whose sine is x. Source: ONNX Asin-22."""

def asinh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = ln(x + √(x² + 1)). Source: ONNX Asinh-22."""

def atan(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the angle in −π/2 … π/2 whose tangent is x. Source: ONNX Atan-22."""

def atanh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = ½ ln((1 + x) ÷ (1 − x)), |x| ≤ 1. Source: ONNX Atanh-22."""

def average_pool(
    input: Value,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] | None = ...,
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] | None = ...,
    ceil_mode: bool = ...,
    count_include_pad: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, h, w] = the mean of what the window at (h, w) sees: of the image alone, or of its padding too
    (`count_include_pad`); what `ceil_mode` adds beyond the padding is never counted.

    Shapes and errors as in `max_pool`. Source: ONNX AveragePool-22.
    """

def batch_norm(
    x: Value,
    scale: Value | None = ...,
    bias: Value | None = ...,
    mean: Value | None = ...,
    var: Value | None = ...,
    *,
    eps: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = (x − mean[c]) · scale[c] ÷ √(var[c] + eps) + bias[c], c the channel.

    Shapes: x (N, C, …), each statistic (C) → the shape of x; absent ones are scale 1, bias 0, mean 0, var 1.
    Errors: E110 where a statistic has another shape or dtype. Source: ONNX BatchNormalization-15, in inference.
    """

def bit_cast(
    x: Value,
    *,
    to: str,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The bits of x as elements of another dtype that takes as many.

    Errors: E110 where it takes more or fewer. A byte above 1 as bool is True. Source: ONNX BitCast-26.
    """

def bitwise_and(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a and b, bit by bit, for integers. Source: ONNX BitwiseAnd-18."""

def bitwise_not(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x with every bit flipped, for integers. Source: ONNX BitwiseNot-18."""

def bitwise_or(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a or b, bit by bit, for integers. Source: ONNX BitwiseOr-18."""

def bitwise_xor(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a xor b, bit by bit, for integers. Source: ONNX BitwiseXor-18."""

def cast(
    x: Value,
    *,
    to: str,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x in another dtype: floats to integers truncate, anything but 0 is True.

    A float out of the integer's range, or NaN, gives some value and never traps. Source: ONNX Cast-21, NumPy `astype`.
    """

def ceil(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the least whole number ≥ x. Source: ONNX Ceil-13."""

def clip(
    x: Value,
    *,
    min: float | None = ...,
    max: float | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = min(max(x, min), max); a bound that is None does not bound. Source: ONNX Clip-13, bounds as attributes.

    Errors: E110 where a bound of an integer tensor is not a whole number of its dtype.
    """

def compress(
    x: Value,
    condition: Value,
    *,
    count: int,
    axis: int | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The slices of x along `axis` (of its elements as one row, by default) at whose place the condition is true.

    Places beyond the last true one hold 0. Shapes: x (…, d, …), condition (c) with c ≤ d → (…, count, …).
    Errors: E110 where they do not fit. Source: ONNX Compress-11, with the count as attribute.
    """

def concat(
    *inputs: Value,
    axis: int,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The operands one after the other along `axis`.

    Shapes: equal but for that axis, whose sizes add up. Errors: E110 where they are not, or dtypes differ.
    Source: ONNX Concat-13.
    """

def conv(
    input: Value,
    weight: Value,
    bias: Value | None = ...,
    *,
    strides: Sequence[int],
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] = ...,
    groups: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """`conv2d` over any number of spatial dimensions; the attributes have one number for each of them.

    Shapes: input (N, C, D…), weight (O, C ÷ groups, K…), bias (O) → (N, O, D′…). Errors: as `conv2d`.
    Source: ONNX Conv-22.
    """

def conv2d(
    input: Value,
    weight: Value,
    bias: Value | None = ...,
    *,
    strides: Sequence[int] = ...,
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] = ...,
    groups: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, o, h, w] = bias[o] + Σ_{i,p,q} x[n, g·I + i, h·s + p·d − t, w·s + q·d − l] · weight[o, i, p, q].

    g = ⌊o · groups ÷ O⌋ is the group of output channel o; s are the strides, d the dilations, t and l the padding above
    and at the left. A padded place adds nothing, whatever its weight: the sum runs over places of the image alone, so
    an infinite weight beside the image makes no NaN.
    Shapes: input (N, C, H, W), weight (O, C ÷ groups, P, Q), bias (O) → (N, O, H′, W′) with
    H′ = ⌊(H + padding − (P − 1)·d − 1) ÷ s⌋ + 1.
    Errors: E110 where channels, groups, bias, dtypes or ranks do not fit, or the window outgrows the padded image.
    Source: ONNX Conv-22 with two spatial dimensions.
    """

def conv_transpose(
    input: Value,
    weight: Value,
    bias: Value | None = ...,
    *,
    strides: Sequence[int],
    padding: Sequence[int] = ...,
    dilations: Sequence[int] = ...,
    output_padding: Sequence[int] = ...,
    groups: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, o, h…] = bias[o] + Σ x[n, i, q…] · weight[i, o, k…] over all i of o's group and q, k with q·s + k·d − p = h.

    s are the strides, d the dilations, p the padding that is taken away before; `output_padding` places are put on
    after. Shapes: input (N, C, D…), weight (C, O ÷ groups, K…), bias (O) → (N, O, D′…) with
    D′ = (D − 1)·s + (K − 1)·d + 1 − both paddings + output_padding. `padding` has all befores, then all afters.
    Errors: E110 where they do not fit. Source: ONNX ConvTranspose-22.
    """

def cos(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = cos x, x in radians. Source: ONNX Cos-7."""

def cosh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = (eˣ + e⁻ˣ) ÷ 2. Source: ONNX Cosh-22."""

def cum_prod(
    x: Value,
    *,
    axis: int = ...,
    exclusive: bool = ...,
    reverse: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, i, …] = Π_{j ≤ i} x[…, j, …] along `axis`; j < i where `exclusive`; from the end where `reverse`.

    Errors: E110 for an axis that is not there. Source: ONNX CumProd-26, with the axis as attribute.
    """

def cum_sum(
    x: Value,
    *,
    axis: int = ...,
    exclusive: bool = ...,
    reverse: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, i, …] = Σ_{j ≤ i} x[…, j, …] along `axis`; j < i where `exclusive`; from the end where `reverse`.

    Errors: E110 for an axis that is not there. Source: ONNX CumSum-14, with the axis as attribute.
    """

def decode_image(
    encoded: Value,
    *,
    height: int,
    width: int,
    pixel_format: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The pixels of a JPEG, PNG, WebP, BMP, TIFF, PNM or JPEG 2000 file as (height, width, 3), or 1 for "grayscale".

    Shapes: the file's bytes (n) → (height, width, channels), uint8. Errors: E110 for other operands; E427 for a file of
    another size, or that is no image; E204 where Pillow is not installed. Source: ONNX ImageDecoder-20.
    """

def deform_conv(
    input: Value,
    weight: Value,
    offset: Value,
    bias: Value | None = ...,
    mask: Value | None = ...,
    *,
    strides: Sequence[int] = ...,
    pads: Sequence[int] = ...,
    dilations: Sequence[int] = ...,
    groups: int = ...,
    offset_groups: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, o, i, j] = bias[o] + Σ weight[o, c, k, l] · mask · input[n, c, i·s + k·d − p + Δ, …], over c, k and l, read
    between the pixels (those outside are 0); Δ and the mask are given for each place, kernel element and offset group.

    Shapes: input (N, C, H, W), weight (O, C/groups, K, L), offset (N, offset_groups·K·L·2, H′, W′), of each element the
    vertical one first, bias (O), mask (N, offset_groups·K·L, H′, W′) → (N, O, H′, W′).
    Errors: E110 where they do not fit, or sizes are not known. Source: ONNX DeformConv-22, of images.
    """

def det(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = det x: Gaussian elimination, each step with the largest element of its column as the pivot.

    Shapes: x (…, n, n) → (…). Errors: E110 for matrices that are not square, of an unknown size, or above 128 rows.
    Source: ONNX Det-22.
    """

def dft(
    x: Value,
    *,
    axis: int = ...,
    length: int | None = ...,
    inverse: bool = ...,
    onesided: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, k, …] = Σₙ x[…, n, …] · e^(∓2πi·k·n/N) along `axis`; the inverse has + and divides by N.

    The last dimension of x holds real parts (1) or real and imaginary parts (2), that of y both. N is `length`, or the
    axis's size: x is cut or filled with zeros. `onesided` keeps k = 0 … N/2; an inverse of a onesided spectrum takes
    the other half as its conjugate and gives real numbers.
    Errors: E110 for another last dimension, its own axis, or an unknown size. Source: ONNX DFT-20.
    """

def div(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a ÷ b; integers truncate towards zero, and ÷ 0 is 0. Source: ONNX Div-14."""

def einsum(
    *inputs: Value,
    equation: str,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The product of all operands, summed over the letters that the result does not have, as in NumPy's `einsum`.

    In `equation`, each operand has a letter per dimension; `…` (three dots) stands for any number of leading
    dimensions, which broadcast. Without `->` the result has the letters that occur once, in alphabetical order.
    Errors: E110 where letters and dimensions do not fit. Source: ONNX Einsum-12.
    """

def elu(
    x: Value,
    *,
    alpha: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x where x ≥ 0, else alpha · (eˣ − 1). Source: ONNX Elu-22."""

def equal(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a = b), a bool. Source: ONNX Equal-13."""

def erf(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = 2/√π · ∫₀ˣ e^(−t²) dt. Source: ONNX Erf-13."""

def exp(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = eˣ. Source: ONNX Exp-13."""

def expand(
    x: Value,
    *,
    shape: Sequence[int | str],
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x repeated along its dimensions of 1 until its shape is `shape`, both broadcast as in NumPy.

    Errors: E110 where they do not broadcast. Source: ONNX Expand-13.
    """

def flatten(
    x: Value,
    *,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """A matrix: the dimensions before `axis` become its rows, the others its columns.

    Shapes: (d₀, …) → (d₀ · … , d_axis · …). Errors: E110 for an axis outside of −rank … rank. Source: ONNX Flatten-21.
    """

def floor(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the greatest whole number ≤ x. Source: ONNX Floor-13."""

def gather(
    x: Value,
    indices: Value,
    *,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, i…, …] = x[…, indices[i…], …]: whole slices of x along `axis`, which `indices` chooses.

    Shapes: x (…, d, …), indices (i…) → (…, i…, …). Errors: E110 for indices that are no integers, or an empty d.
    Source: ONNX Gather-13.
    """

def gather_elements(
    x: Value,
    indices: Value,
    *,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, i, …] = x[…, indices[…, i, …], …]: one element of x for each of `indices`, along `axis`.

    Shapes: indices of x's rank, in the other dimensions no larger than x → the shape of indices.
    Errors: E110 where they do not fit. Source: ONNX GatherElements-13.
    """

def gather_nd(
    x: Value,
    indices: Value,
    *,
    batch_dims: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[b…, i…, r…] = x[b…, indices[b…, i…, 0], …, indices[b…, i…, m − 1], r…], b… the first `batch_dims` dimensions.

    Shapes: x (b…, d₁ … d_m, r…), indices (b…, i…, m) → (b…, i…, r…).
    Errors: E110 where they do not fit, or m is not known. Source: ONNX GatherND-13.
    """

def gelu(
    x: Value,
    *,
    approximate: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x/2 · (1 + erf(x/√2)); with `approximate="tanh"`, x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))).

    −∞ gives NaN. Source: ONNX Gelu-20.
    """

def gemm(
    a: Value,
    b: Value,
    c: Value | None = ...,
    *,
    alpha: float = ...,
    beta: float = ...,
    trans_a: bool = ...,
    trans_b: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = alpha · A · B + beta · c, where A is a or its transpose (`trans_a`), B is b or its transpose (`trans_b`).

    Shapes: A (m, k), B (k, n), c broadcast to (m, n) → (m, n). Errors: E110 where they do not fit.
    Source: ONNX Gemm-13, for floats.
    """

def global_average_pool(
    input: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, 1, …] = the mean of x[n, c, :, …]; NaN of an empty image.

    Shapes: (N, C, H, …) → (N, C, 1, …). Errors: E110 of a rank < 3. Source: ONNX GlobalAveragePool-22.
    """

def global_max_pool(
    input: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, 1, …] = the greatest of x[n, c, :, …]; the lowest value of the dtype of an empty image.

    Shapes: (N, C, H, …) → (N, C, 1, …). Errors: E110 of a rank < 3. Source: ONNX GlobalMaxPool-22.
    """

def greater(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a > b), a bool. Source: ONNX Greater-13."""

def greater_or_equal(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a ≥ b), a bool. Source: ONNX GreaterOrEqual-16."""

def grid_sample(
    input: Value,
    grid: Value,
    *,
    mode: str = ...,
    padding_mode: str = ...,
    align_corners: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, o…] = input[n, c, …] at the place grid[n, o…], whose coordinates (the last dimension first) run from −1
    to 1 over the image: from centre to centre of its outermost pixels with `align_corners`, else from edge to edge.

    mode "nearest" takes the nearest pixel (halves to the even one), "linear" weighs two along each dimension, "cubic"
    four. Outside of the image stands 0, the border, or its reflection.
    Shapes: input (N, C, D…), grid (N, O…, rank of D) → (N, C, O…). Errors: E110 where they do not fit, or the image is
    empty. Source: ONNX GridSample-22.
    """

def hard_sigmoid(
    x: Value,
    *,
    alpha: float = ...,
    beta: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = max(0, min(1, alpha · x + beta)). Source: ONNX HardSigmoid-22."""

def hard_swish(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x · max(0, min(1, x/6 + 1/2)). Source: ONNX HardSwish-22."""

def identity(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x. Source: ONNX Identity-21."""

def is_nan(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = whether x is not a number, a bool. Source: ONNX IsNaN-20."""

def layer_norm(
    x: Value,
    scale: Value | None = ...,
    bias: Value | None = ...,
    *,
    axis: int = ...,
    eps: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = (x − μ) ÷ √(σ² + eps) · scale + bias, mean μ and variance σ² over the dimensions from `axis` on.

    Shapes: scale and bias broadcast to x; absent ones are 1 and 0. The variance is the mean of (x − μ)².
    Errors: E110 where they do not fit. Source: ONNX LayerNormalization-17.
    """

def leaky_relu(
    x: Value,
    *,
    alpha: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x where x ≥ 0, else alpha · x. Source: ONNX LeakyRelu-16."""

def less(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a < b), a bool. Source: ONNX Less-13."""

def less_or_equal(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a ≤ b), a bool. Source: ONNX LessOrEqual-16."""

def log(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the natural logarithm of x. Source: ONNX Log-13."""

def log_softmax(
    x: Value,
    *,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x − ln Σ e^x along an axis. Shapes and errors as `softmax`. Source: ONNX LogSoftmax-13."""

def logical_and(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a and b, for bools. Source: ONNX And-7."""

def logical_not(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = not x, for bools. Source: ONNX Not-1."""

def logical_or(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a or b, for bools. Source: ONNX Or-7."""

def logical_xor(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = one of a and b, not both, for bools. Source: ONNX Xor-7."""

def lp_pool(
    input: Value,
    *,
    kernel: Sequence[int],
    p: int = ...,
    strides: Sequence[int] | None = ...,
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] | None = ...,
    ceil_mode: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, h, w] = (Σ |x|ᵖ)^(1/p) over what the window at (h, w) sees.

    Shapes and errors as in `max_pool`, p ≥ 1. Source: ONNX LpPool-22.
    """

def matmul(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c[…, m, n] = Σₖ a[…, m, k] · b[…, k, n]; leading dimensions broadcast as in NumPy.

    Shapes: a (…, m, k), b (…, k, n) → (…, m, n); an operand of rank 1 is a row at the left, a column at the right, and
    its dimension is left out of the result. Errors: E110 where the two k differ. Source: ONNX MatMul-13.
    """

def max(
    *inputs: Value,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The greatest of all operands, element by element; NaN where any is. Source: ONNX Max-13."""

def max_pool(
    input: Value,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] | None = ...,
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] | None = ...,
    ceil_mode: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, h, w] = the greatest x that the window at (h, w) sees; padding is never chosen, NaN always is.

    Shapes: (N, C, H, W) → (N, C, H′, W′), sizes as in `conv2d`; `ceil_mode` rounds them up. Strides are 1 by default.
    Errors: E110 where the window outgrows the padded image or the padding the window. Source: ONNX MaxPool-22.
    """

def max_pool_indices(
    input: Value,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] | None = ...,
    padding: Sequence[int] | str = ...,
    dilations: Sequence[int] | None = ...,
    ceil_mode: bool = ...,
    column_major: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[n, c, h, w] = where in the flattened input the greatest x stands that the window at (h, w) sees; of equal ones
    the first. With `column_major`, places of an image count down its columns first.

    Shapes and errors as in `max_pool`; indices are int64. Source: ONNX MaxPool-22, its second result.
    """

def min(
    *inputs: Value,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The least of all operands, element by element; NaN where any is. Source: ONNX Min-13."""

def mod(
    a: Value,
    b: Value,
    *,
    fmod: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The remainder of a ÷ b, with the sign of b as in Python; with `fmod`, of a as in C. An integer mod 0 is 0.

    Source: ONNX Mod-13 (which leaves floats without `fmod` open: here as NumPy's `mod`).
    """

def mul(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a · b. Source: ONNX Mul-14."""

def multinomial(
    x: Value,
    *,
    samples: int = ...,
    dtype: str = ...,
    seed: int | None = ...,
    stream: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Classes drawn for each row of x, which holds the logarithms of their (unscaled) probabilities.

    Shapes: (b, classes) → (b, samples), int32 or int64. `seed` and `stream` as in `random`.
    Errors: E110 for another rank, no classes, or no integer dtype. Source: ONNX Multinomial-22.
    """

def neg(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = −x; the least integer stays itself. Source: ONNX Neg-13."""

def non_max_suppression(
    boxes: Value,
    scores: Value,
    max_output: Value | None = ...,
    iou_threshold: Value | None = ...,
    score_threshold: Value | None = ...,
    *,
    rows: int,
    most: int,
    center_point_box: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """For each batch and class, the boxes by falling score (of equal ones the first), without those whose intersection
    over union with a box chosen before is above `iou_threshold`, and without those not above `score_threshold`.

    A row of the result is (batch, class, box); rows beyond the last choice hold −1. At most `max_output` boxes are
    chosen of a class, and `most` (an attribute, so that the work is known). A box is two opposite corners (y, x, y, x),
    or (x centre, y centre, width, height) with `center_point_box`.
    Shapes: boxes (b, n, 4), scores (b, c, n), the others (1) or () → (rows, 3), int64. Errors: E110 where they do not
    fit. Source: ONNX NonMaxSuppression-11, with the number of rows as attribute.
    """

def non_zero(
    x: Value,
    *,
    count: int,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The indices of the elements that are not 0, one column each, in row-major order; zeros beyond the last.

    Shapes: x (d₁ … d_r) → (r, count), int64. Errors: E110 for a rank of 0 or a count above the number of elements.
    Source: ONNX NonZero-13, with the count as attribute.
    """

def normalize(
    x: Value,
    *,
    mean: Sequence[float],
    std: Sequence[float] | None = ...,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = (x − mean[c]) ÷ std[c], c the channel: how the pixels of an image become the input of a network.

    `mean` and `std` are one number each, or one per channel; without `std` nothing divides. Integers (pixels) become
    float32. Shapes: as x, channels at `axis`. Errors: E110 for another number of channels, a std of 0, or more than 16
    numbers, for which `batch_norm` is made. Source: torchvision `Normalize`.
    """

def not_equal(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = (a ≠ b), a bool. Source: NumPy `not_equal`."""

def one_hot(
    indices: Value,
    *,
    depth: int,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, k, …] = whether indices[…] is k: a new dimension of `depth` places at `axis`, one of them true.

    An index outside of −depth … depth − 1 gives no true place. Shapes: (i…) → (i…) with depth put in at `axis`.
    Errors: E110 for indices that are no integers, or a depth below 0. Source: ONNX OneHot-11.
    """

def pad(
    x: Value,
    *,
    pads: Sequence[int],
    mode: str = ...,
    value: float = ...,
    axes: Sequence[int] | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x with `pads` places added along `axes` (by default all): all befores, then all afters, as in ONNX.

    mode "constant" fills with `value`, "edge" repeats the border, "reflect" mirrors at the border without repeating it.
    Shapes: each dimension grows by before + after. Errors: E110 for negative pads, pads of the wrong number, an edge of
    nothing, or a mirror that is wider than the dimension − 1. Source: ONNX Pad-21, with pads as attributes.
    """

def postprocess(
    x: Value,
    *,
    kind: str = ...,
    k: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Any:
    """kind "softmax_topk": the k greatest of softmax(x) along the last dimension, falling, and their indices.

    Shapes: (…, classes) → (…, k) twice; indices are int64. Errors: E110 for a rank of 0 or k larger than the classes.
    Source: the composition of `softmax` and `top_k`.
    """

def pow(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a to the power b, for floats. Source: ONNX Pow-15, with equal dtypes."""

def random(
    *,
    shape: Sequence[int],
    distribution: str = ...,
    low: float = ...,
    high: float = ...,
    mean: float = ...,
    deviation: float = ...,
    dtype: str = ...,
    seed: int | None = ...,
    stream: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Numbers between low and high ("uniform"), or around a mean with a deviation ("normal").

    With a seed the same ones in every run; without, others each time. `stream` tells apart nodes that are alike in all
    else, which would be one otherwise. Errors: E110 for sizes below 0, or a dtype that is no float.
    Source: ONNX RandomUniform-22, RandomNormal-22.
    """

def reciprocal(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = 1 ÷ x, for floats. Source: ONNX Reciprocal-13."""

def reduce_l1(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = Σ |x|. Source: ONNX ReduceL1-18."""

def reduce_l2(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = √(Σ x²), for floats. Source: ONNX ReduceL2-18."""

def reduce_log_sum_exp(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = ln Σ eˣ, formed as m + ln Σ e^(x − m) with the greatest x as m, which cannot overflow; for floats.

    Source: ONNX ReduceLogSumExp-18.
    """

def reduce_max(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the greatest x; NaN where any is. Source: ONNX ReduceMax-20."""

def reduce_mean(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = Σ x ÷ n, for floats. Source: ONNX ReduceMean-18."""

def reduce_min(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the least x; NaN where any is. Source: ONNX ReduceMin-20."""

def reduce_prod(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = Π x. Source: ONNX ReduceProd-18."""

def reduce_sum(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = Σ x. Source: ONNX ReduceSum-13."""

def reduce_sum_square(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    keepdims: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = Σ x². Source: ONNX ReduceSumSquare-18."""

def regex_full_match(
    x: Value,
    *,
    pattern: str,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = whether a text as a whole matches the pattern. Shapes: as x; bool.

    Errors: E110 for a pattern that is none. Source: ONNX RegexFullMatch-20, whose syntax is that of RE2.
    """

def relu(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = max(x, 0). Source: ONNX Relu-14."""

def reshape(
    x: Value,
    *,
    shape: Sequence[int | str],
    allow_zero: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """The elements of x, in row-major order, in another shape.

    In `shape`, 0 keeps x's dimension at that place (with `allow_zero` it is a size of 0), −1 (at most one) is what
    remains, a name is a symbolic dimension.
    Errors: E110 where the numbers of elements differ, or cannot be compared. Source: ONNX Reshape-21.
    """

def resize(
    x: Value,
    *,
    size: Sequence[int] | None = ...,
    scales: Sequence[float] | None = ...,
    mode: str = ...,
    coordinate_mode: str = ...,
    nearest_mode: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[…, i, …] = x at the place that i comes from, along each resized dimension in turn.

    With s = new size ÷ old size (or the given scale) that place is, by `coordinate_mode`: half_pixel
    (i + ½) ÷ s − ½; pytorch_half_pixel the same, but 0 where the new size is 1; asymmetric i ÷ s; align_corners
    i · (old − 1) ÷ (new − 1). mode "nearest" takes the element that `nearest_mode` rounds to, "linear" weighs two
    neighbours, "cubic" four (a = −0.75); beyond the border the border repeats.
    Shapes: `size` or `scales` are for the last dimensions (height, width), or for all; ⌊old · scale⌋ of a scale.
    Errors: E110 where neither or both are given, or an empty dimension grows.
    Source: ONNX Resize-19, without antialias.
    """

def reverse_sequence(
    x: Value,
    lengths: Value,
    *,
    batch_axis: int = ...,
    time_axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x with the first lengths[b] places of each sequence b in reverse order, the others as they are.

    Shapes: x with a batch and a time dimension among its dimensions, lengths (batch) → the shape of x.
    Errors: E110 where they do not fit. Source: ONNX ReverseSequence-10.
    """

def roi_align(
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    output_height: int = ...,
    output_width: int = ...,
    sampling_ratio: int = ...,
    spatial_scale: float = ...,
    half_pixel: bool = ...,
    mode: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[r, c, i, j] = the mean (or the greatest, with mode "max") over points of bin (i, j) of region r, read between
    the pixels of x[batch_indices[r], c].

    A region is (x₁, y₁, x₂, y₂), times `spatial_scale`, less half a pixel where `half_pixel`; without it a region is at
    least one pixel wide. Each bin has `sampling_ratio`² points, or, for 0, as many as its sides have pixels, rounded
    up. A point more than a pixel outside is 0. The greatest is of the weighted pixels, not of what they sum to.
    Shapes: x (N, C, H, W), rois (R, 4), batch_indices (R) → (R, C, output_height, output_width).
    Errors: E110 where they do not fit. Source: ONNX RoiAlign-22.
    """

def round(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the nearest whole number, halves to the even one. Source: ONNX Round-22."""

def scatter_elements(
    x: Value,
    indices: Value,
    updates: Value,
    *,
    axis: int = ...,
    reduction: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x with y[…, indices[…, i, …], …] = updates[…, i, …] along `axis`, or joined with it by `reduction`.

    Of several updates of one place, the last one stays. Shapes: indices and updates alike, in the other dimensions no
    larger than x → the shape of x. Errors: E110 where they do not fit. Source: ONNX ScatterElements-18.
    """

def scatter_nd(
    x: Value,
    indices: Value,
    updates: Value,
    *,
    reduction: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x with y[indices[i…, 0], …, indices[i…, m − 1], r…] = updates[i…, r…], or joined with it by `reduction`.

    Of several updates of one place, the last one stays.
    Shapes: x (d₁ … d_m, r…), indices (i…, m), updates (i…, r…) → the shape of x. Errors: E110 where they do not fit.
    Source: ONNX ScatterND-18.
    """

def selu(
    x: Value,
    *,
    alpha: float = ...,
    gamma: float = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = gamma · (x where x > 0, else alpha · (eˣ − 1)). Source: ONNX Selu-22."""

def shift_left(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a · 2ᵇ, for integers; what leaves at the top is lost, and a shift by all bits gives 0.

    Source: ONNX BitShift-11, direction LEFT.
    """

def shift_right(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = ⌊a ÷ 2ᵇ⌋, for integers; a shift by all bits gives 0, or −1 of a negative number.

    Source: ONNX BitShift-11, direction RIGHT.
    """

def sigmoid(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = 1 ÷ (1 + e⁻ˣ). Source: ONNX Sigmoid-13."""

def sign(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = 1, 0 or −1, as x is positive, zero or negative; NaN stays. Source: ONNX Sign-13."""

def silu(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x ÷ (1 + e⁻ˣ), also called swish; −∞ gives NaN. Source: ONNX Swish-24."""

def sin(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = sin x, x in radians. Source: ONNX Sin-7."""

def sinh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = (eˣ − e⁻ˣ) ÷ 2. Source: ONNX Sinh-22."""

def slice(
    x: Value,
    *,
    starts: Sequence[int | None],
    ends: Sequence[int | None],
    axes: Sequence[int] | None = ...,
    steps: Sequence[int] | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x[start : end : step] along each of `axes` (by default the first ones); steps may be negative.

    Ends count from the back where negative, are cut to the dimension, and are as far as it goes where None, all as in
    NumPy. Errors: E110 for a step of 0, lists of unequal lengths, or an unknown dimension that is cut.
    Source: ONNX Slice-13.
    """

def softmax(
    x: Value,
    *,
    axis: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = e^x ÷ Σ e^x along an axis.

    Shapes: as x. Errors: E110 for an axis that is not there, or integers. NaN or +∞ anywhere along the axis makes all
    of it NaN. Source: ONNX Softmax-13.
    """

def softplus(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = ln(1 + eˣ), formed as max(x, 0) + ln(1 + e^−|x|), which cannot overflow. Source: ONNX Softplus-22."""

def split(
    x: Value,
    *,
    axis: int = ...,
    split: Sequence[int] | None = ...,
    num_outputs: int | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Any:
    """Consecutive pieces of x along `axis`: of the sizes `split`, or `num_outputs` of equal size, the last one smaller.

    Errors: E110 where the sizes do not add up, or the dimension is not known. Source: ONNX Split-18.
    """

def sqrt(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = √x. Source: ONNX Sqrt-13."""

def squeeze(
    x: Value,
    *,
    axes: Sequence[int] | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x without dimensions of 1: those in `axes`, or all that are known to be 1.

    Errors: E110 where a named dimension is not 1. Source: ONNX Squeeze-21.
    """

def string_concat(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = a followed by b. Shapes: as broadcast. Source: ONNX StringConcat-20."""

def string_equal(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = whether two texts are equal. Shapes: as broadcast; bool. Source: ONNX Equal-19."""

def string_normalize(
    x: Value,
    *,
    count: int,
    case: str = ...,
    case_sensitive: bool = ...,
    stopwords: Sequence[str] = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """Texts without accents, without the stop words, and in one case.

    Texts that are left empty are taken out of a list, or of a matrix of one row; where all are, one "" stays. So the
    number of places is an attribute, `count`. Shapes: (n) → (count), (1, n) → (1, count).
    Errors: E110 for other shapes; E427 where another number is left. Source: ONNX StringNormalizer-10.
    """

def string_split(
    x: Value,
    *,
    width: int,
    delimiter: str | None = ...,
    maxsplit: int = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Any:
    """The parts of each text between delimiters (runs of white space, by default), and how many there are.

    At most `maxsplit` cuts are made, from the left. Parts fill a new last dimension of `width` places, "" after the
    last. Shapes: (d…) → (d…, width) and (d…), int64. Errors: E110 for a width below 0; E427 where a text has more
    parts. Source: ONNX StringSplit-20, with the width as attribute.
    """

def sub(
    a: Value,
    b: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """c = a − b. Source: ONNX Sub-14."""

def tan(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = tan x, x in radians. Source: ONNX Tan-22."""

def tanh(
    x: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = tanh x. Source: ONNX Tanh-13."""

def text(
    *,
    texts: Sequence[str],
    shape: Sequence[int],
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """A tensor of the given texts. Errors: E110 where they do not fill the shape. Source: ONNX Constant-25."""

def text_at(
    x: Value,
    *,
    texts: Sequence[str],
    default: str = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the text at a place of a list, `default` where there is none. Shapes: as x. Source: ONNX LabelEncoder-4."""

def text_index(
    x: Value,
    *,
    texts: Sequence[str],
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = the place of each text in a list, or −1. Shapes: as x; int64. Source: ONNX LabelEncoder-4 of strings."""

def tile(
    x: Value,
    *,
    repeats: Sequence[int],
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[i] = x[i mod size]: each dimension repeated `repeats` times.

    Errors: E110 where there is not one number ≥ 0 per dimension. Source: ONNX Tile-13, with repeats as attribute.
    """

def top_k(
    x: Value,
    *,
    k: int,
    axis: int = ...,
    largest: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Any:
    """The k greatest elements along an axis, falling (the least, rising, where not `largest`), and their indices.

    Shapes: x with k instead of the axis's size, twice; indices are int64. Errors: E110 where k is larger than the axis.
    Source: ONNX TopK-11, always sorted.
    """

def transpose(
    x: Value,
    *,
    perm: Sequence[int] | None = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y[i_perm] = x[i]: dimension k of the result is dimension perm[k] of x; reversed where `perm` is left out.

    Errors: E110 where `perm` does not name each dimension once. Source: ONNX Transpose-21.
    """

def unique(
    x: Value,
    *,
    count: int,
    axis: int | None = ...,
    sorted: bool = ...,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Any:
    """The elements of x (or its slices along `axis`), each once: rising, or in the order of their first appearance.

    Gives them, the index of the first of each, for every element its place among them, and how often each is there.
    NaN equals NaN and comes last. With fewer than `count`, index 0 fills the rest, counted 0 times.
    Shapes: x → (count) or (…, count, …), (count), (n), (count), with n elements or slices; all but the first int64.
    Errors: E110 for a count above n. Source: ONNX Unique-11, with the count as attribute.
    """

def unsqueeze(
    x: Value,
    *,
    axes: Sequence[int],
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """x with dimensions of 1 put in, so that they stand at `axes` of the result.

    Errors: E110 for an axis that the result does not have, or one named twice. Source: ONNX Unsqueeze-21.
    """

def where(
    condition: Value,
    x: Value,
    y: Value,
    *,
    tile_layout: _Tile = ...,
    compute_schedule: _Schedule = ...,
    memory_coalesce: _Schedule = ...,
    layout: str = ...,
    memory_affinity: _Affinity = ...,
    location: str = ...,
) -> Value:
    """y = x where the condition holds, else the other. Source: ONNX Where-16.

    Shapes: all three broadcast. Errors: E110 where `condition` is not bool, or the other two differ in dtype.
    """
