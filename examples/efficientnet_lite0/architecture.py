"""The layers of EfficientNet-Lite0 as a table: `generate.py` prints it, `convert.py` checks weights by it.

It is EfficientNet-B0 (Tan & Le, 2019) made easy for small devices: no squeeze-and-excitation, and relu6.
"""

from collections.abc import Iterator
from dataclasses import dataclass

RESOLUTION = 224
CLASSES = 1000
HEAD_CHANNELS = 1280
EPSILON = 1e-3

# (blocks, kernel, stride of the first block, expansion, output channels)
STAGES = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]


@dataclass(frozen=True)
class Convolution:
    """A convolution with its batch normalisation, and relu6 where `active`; names as in the checkpoint."""

    weight: str
    norm: str
    inputs: int
    outputs: int
    kernel: int
    stride: int
    groups: int
    size: int  # height and width of the input
    active: bool = True

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.outputs, self.inputs // self.groups, self.kernel, self.kernel

    @property
    def output_size(self) -> int:
        return -(-self.size // self.stride)

    @property
    def padding(self) -> list[int]:
        """TensorFlow's SAME as [top, left, bottom, right]: ⌈size / stride⌉ outputs, an odd row goes below."""
        total = max((self.output_size - 1) * self.stride + self.kernel - self.size, 0)
        return [total // 2, total // 2, total - total // 2, total - total // 2]


@dataclass(frozen=True)
class Block:
    """An inverted residual: expand the channels, filter each alone, project, add the input if it fits."""

    index: int
    expand: Convolution | None
    depthwise: Convolution
    project: Convolution
    residual: bool

    @property
    def convolutions(self) -> list[Convolution]:
        return [layer for layer in (self.expand, self.depthwise, self.project) if layer is not None]


STEM = Convolution("_conv_stem.weight", "_bn0", 3, 32, kernel=3, stride=2, groups=1, size=RESOLUTION)


def blocks() -> Iterator[Block]:
    size, channels, index = STEM.output_size, STEM.outputs, 0
    for repeats, kernel, first_stride, expansion, outputs in STAGES:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            wide = channels * expansion
            at = f"_blocks.{index}"
            expand = None
            if expansion != 1:
                expand = Convolution(
                    f"{at}._expand_conv.weight", f"{at}._bn0", channels, wide, 1, 1, groups=1, size=size
                )
            depthwise = Convolution(
                f"{at}._depthwise_conv.weight",
                f"{at}._bn1",
                wide,
                wide,
                kernel,
                stride,
                groups=wide,
                size=size,
            )
            size = depthwise.output_size
            project = Convolution(
                f"{at}._project_conv.weight", f"{at}._bn2", wide, outputs, 1, 1, 1, size, active=False
            )
            yield Block(index, expand, depthwise, project, residual=stride == 1 and channels == outputs)
            channels, index = outputs, index + 1


BLOCKS = tuple(blocks())
HEAD = Convolution(
    "_conv_head.weight",
    "_bn1",
    BLOCKS[-1].project.outputs,
    HEAD_CHANNELS,
    1,
    1,
    1,
    BLOCKS[-1].project.output_size,
)
CONVOLUTIONS = (STEM, *(layer for block in BLOCKS for layer in block.convolutions), HEAD)


def parameter_shapes() -> dict[str, tuple[int, ...]]:
    """Every entry of the checkpoint and the shape it must have."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in CONVOLUTIONS:
        shapes[layer.weight] = layer.shape
        for statistic in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{layer.norm}.{statistic}"] = (layer.outputs,)
        shapes[f"{layer.norm}.num_batches_tracked"] = ()
    shapes["_fc.weight"] = (CLASSES, HEAD_CHANNELS)
    shapes["_fc.bias"] = (CLASSES,)
    return shapes
