"""EfficientNet-Lite0 with its trained weights, read from the example's safetensors without RLX, on a photo."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from examples.efficientnet_lite0 import architecture as lite0
from examples.efficientnet_lite0 import convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS

DTYPES = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors by name, on one mapping of the file."""
    data = np.memmap(path, np.uint8, mode="r")
    size = int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8 : 8 + size].tobytes())
    body = data[8 + size :]
    return {
        name: body[slice(*entry["data_offsets"])].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


class EfficientNetLite0:
    """Collects the nodes of the graph, layer by layer of the table."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        used = {name for name in tensors if not name.endswith("num_batches_tracked")}
        self.initializers = [numpy_helper.from_array(np.array(tensors[name]), name) for name in sorted(used)]
        for name, value in {
            "lowest": np.float32(0),
            "highest": np.float32(6),
            "row_shape": np.array([1, lite0.HEAD_CHANNELS], np.int64),
        }.items():
            self.initializers.append(numpy_helper.from_array(np.asarray(value), name))

    def node(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolution(self, layer: lite0.Convolution, source: str) -> str:
        at = layer.weight.removesuffix(".weight")
        sides = {"strides": [layer.stride] * 2, "pads": layer.padding, "group": layer.groups}
        output = self.node("Conv", [source, layer.weight], f"{at}.conv", **sides)
        statistics = [f"{layer.norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        output = self.node("BatchNormalization", [output, *statistics], f"{at}.norm", epsilon=lite0.EPSILON)
        return self.node("Clip", [output, "lowest", "highest"], f"{at}.relu6") if layer.active else output

    def model(self) -> onnx.ModelProto:
        value = self.convolution(lite0.STEM, "image")
        for block in lite0.BLOCKS:
            source = value
            for layer in block.convolutions:
                value = self.convolution(layer, value)
            if block.residual:
                value = self.node("Add", [value, source], f"_blocks.{block.index}.sum")
        value = self.node("GlobalAveragePool", [self.convolution(lite0.HEAD, value)], "features")
        value = self.node("Reshape", [value, "row_shape"], "row")
        value = self.node("Gemm", [value, "_fc.weight", "_fc.bias"], "logits", transB=1)
        self.node("Softmax", [value], "probabilities", axis=1)
        image = [1, 3, lite0.RESOLUTION, lite0.RESOLUTION]
        shapes = {"image": image, "logits": [1, lite0.CLASSES], "probabilities": [1, lite0.CLASSES]}
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(self.nodes, "efficientnet_lite0", values[:1], values[1:], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


def model() -> onnx.ModelProto:
    """image → logits, probabilities."""
    return EfficientNetLite0(read_safetensors(convert.convert().with_suffix(".safetensors"))).model()


def inputs() -> dict[str, np.ndarray]:
    return {"image": preprocess.read_image(PHOTOS[0].path)}


def flops() -> int:
    """Of one inference: two for each multiply-add of the convolutions and of the classifier."""
    convolutions = sum(2 * int(np.prod(layer.shape)) * layer.output_size**2 for layer in lite0.CONVOLUTIONS)
    return convolutions + 2 * lite0.CLASSES * lite0.HEAD_CHANNELS
