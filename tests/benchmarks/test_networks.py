"""The networks are the published ones; errors are told against the same network in float64."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from benchmarks.exact import doubled, exact_outputs
from benchmarks.models import NETWORKS, lite0
from benchmarks.models.graph import Graph
from benchmarks.paired import largest_difference
from examples.efficientnet_lite0 import convert, preprocess
from examples.efficientnet_lite0.photos import PHOTOS

# Multiply-adds as published, in millions.
PUBLISHED = {
    "resnet18": 1814,
    "resnet50": 4089,
    "mobilenetv2": 301,
    "efficientnet_lite0": 385,
    "vit_tiny": 1258,
    "minilm": 1434,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_takes_as_many_operations_as_published(name: str) -> None:
    assert NETWORKS[name].flops() == pytest.approx(2e6 * PUBLISHED[name], rel=0.05)


def test_every_network_has_a_goal_that_is_faster_than_its_peers() -> None:
    assert all(0.5 < network.goal < 1.0 for network in NETWORKS.values())


@pytest.fixture(scope="module")
def photos_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    tensors = lite0.read_safetensors(convert.convert(folder=folder).with_suffix(".safetensors"))
    onnx.save(lite0.EfficientNetLite0(tensors).model(), folder / "graph.onnx")
    return folder / "graph.onnx"


def test_the_onnx_graph_knows_the_photos(photos_graph: Path) -> None:
    session = onnxruntime.InferenceSession(photos_graph)
    for photo in PHOTOS:
        [probabilities] = session.run(["probabilities"], {"image": preprocess.read_image(photo.path)})
        [(label, probability)] = preprocess.top(probabilities)
        assert label == photo.label
        assert probability == pytest.approx(photo.probability, abs=0.01)


def block() -> onnx.ModelProto:
    """One transformer layer, small: 2 heads of 4, 3 tokens."""
    graph = Graph("block", 1)
    q, k, v = (graph.reshape(graph.dense("x", 8, 8), 1, 3, 2, 4) for _ in range(3))
    q, v = (graph.make("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
    k = graph.make("Transpose", k, perm=[0, 2, 3, 1])
    value = graph.layer_norm(graph.attention((q, k, v), 4, 3, 8, None), 8, 1e-6)
    graph.make("Identity", graph.gelu(value), name="y")
    return graph.model({"x": (onnx.TensorProto.FLOAT, [1, 3, 8])}, {"y": [1, 3, 8]})


def test_the_float64_run_is_the_same_network_and_nearer_to_it() -> None:
    model = block()
    given = {"x": np.random.default_rng(0).standard_normal((1, 3, 8)).astype(np.float32)}
    exact = exact_outputs(model, given)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    [single] = session.run(["y"], given)
    assert exact["y"].dtype == np.float64
    assert 0 < largest_difference({"y": single}, exact) < 1e-5
    assert 0.1 < exact["y"].std() < 10


def test_nothing_of_a_doubled_model_is_float32() -> None:
    assert onnx.TensorProto.FLOAT not in {tensor.data_type for tensor in doubled(block()).graph.initializer}
