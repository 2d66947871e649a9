"""The example's own parts: the checkpoint reader trusts no file, and the committed text is the table's."""

import io
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from examples.efficientnet_lite0 import architecture, convert, generate, legacy_torch, preprocess
from examples.efficientnet_lite0.photos import PHOTOS
from rlx_ir.text import parse


class Storage:
    """Stands for a storage while a test writes a checkpoint."""

    def __init__(self, key: str, values: np.ndarray) -> None:
        self.key, self.values = key, values


class Tensor:
    def __init__(self, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.arguments = (storage, offset, shape, strides, False, OrderedDict())


class Global:
    """Pickles as the name of a function in any module, as a real or a hostile checkpoint does."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class CheckpointPickler(pickle._Pickler):
    """Writes what torch writes; Python's own pickler, since only it lets a test name what it has not imported."""

    def persistent_id(self, value: object) -> object:
        if isinstance(value, Storage):
            kind = Global("torch", "FloatStorage")
            return ("storage", kind, value.key, "cpu", value.values.size, None)
        return None

    def save(self, value: object, save_persistent_id: bool = True) -> None:
        if isinstance(value, Global):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Tensor):
            self.save(Global("torch._utils", "_rebuild_tensor_v2"))
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


def checkpoint(path: Path, state: object, storages: list[Storage], magic: int = legacy_torch.MAGIC) -> Path:
    file = io.BytesIO()
    system = {"protocol_version": legacy_torch.PROTOCOL, "little_endian": True}
    for value in (magic, legacy_torch.PROTOCOL, system, state, [storage.key for storage in storages]):
        CheckpointPickler(file, protocol=2).dump(value)
    for storage in storages:
        file.write(storage.values.size.to_bytes(8, "little") + storage.values.tobytes())
    path.write_bytes(file.getvalue())
    return path


def test_a_transposed_tensor_is_read_by_its_strides(tmp_path: Path) -> None:
    values = np.arange(8, dtype="<f4")
    storage = Storage("0", values)
    state = OrderedDict(w=Tensor(storage, 2, (2, 3), (1, 2)), s=Tensor(storage, 7, (), ()))
    tensors = legacy_torch.read_state_dict(checkpoint(tmp_path / "c.pth", state, [storage]))
    np.testing.assert_array_equal(tensors["w"], values[2:].reshape(3, 2).T)
    assert tensors["s"].shape == ()
    assert tensors["s"] == 7


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval"), ("torch", "load")])
def test_a_checkpoint_that_names_a_function_is_refused(tmp_path: Path, module: str, name: str) -> None:
    path = checkpoint(tmp_path / "c.pth", OrderedDict(w=Global(module, name)), [])
    with pytest.raises(pickle.UnpicklingError, match=f"{module}.{name}"):
        legacy_torch.read_state_dict(path)


@pytest.mark.parametrize(
    ("offset", "shape", "strides"), [(0, (3, 3), (3, 1)), (8, (1,), (1,)), (0, (2,), (-1,)), (-1, (1,), (1,))]
)
def test_a_tensor_outside_its_storage_is_refused(
    tmp_path: Path, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    storage = Storage("0", np.zeros(8, "<f4"))
    path = checkpoint(tmp_path / "c.pth", OrderedDict(w=Tensor(storage, offset, shape, strides)), [storage])
    with pytest.raises(ValueError, match="reaches outside"):
        legacy_torch.read_state_dict(path)


def test_a_checkpoint_cut_short_or_of_another_format_is_refused(tmp_path: Path) -> None:
    storage = Storage("0", np.zeros(8, "<f4"))
    state = OrderedDict(w=Tensor(storage, 0, (8,), (1,)))
    path = checkpoint(tmp_path / "c.pth", state, [storage])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="ends early"):
        legacy_torch.read_state_dict(path)
    with pytest.raises(ValueError, match="not a checkpoint"):
        legacy_torch.read_state_dict(checkpoint(tmp_path / "d.pth", state, [storage], magic=1))


def test_the_committed_text_is_what_the_table_says() -> None:
    assert generate.OUTPUT.read_text(encoding="utf-8") == generate.source()


def test_the_table_is_the_published_network() -> None:
    parameters = sum(
        int(np.prod(shape))
        for name, shape in architecture.parameter_shapes().items()
        if not name.endswith(("running_mean", "running_var", "num_batches_tracked"))
    )
    assert parameters == 4_652_008
    assert len(architecture.parameter_shapes()) == 296
    assert architecture.STEM.padding == [0, 0, 1, 1]
    assert [block.depthwise.padding for block in architecture.BLOCKS[1:4]] == [[0, 0, 1, 1], [1] * 4, [1, 1, 2, 2]]
    assert [block.index for block in architecture.BLOCKS if block.residual] == [2, 4, 6, 7, 9, 10, 12, 13, 14]
    assert architecture.HEAD.output_size == 7


@pytest.mark.parametrize("photo", PHOTOS, ids=lambda photo: photo.name)
def test_a_photo_is_there_and_becomes_what_the_network_sees(photo) -> None:
    image = preprocess.read_image(photo.path)
    assert image.shape == (1, 3, 224, 224)
    assert image.dtype == np.float32
    assert -127 / 128 <= image.min() < image.max() <= 1
    assert photo.label in preprocess.labels()


def test_labels_are_the_thousand_of_imagenet() -> None:
    names = preprocess.labels()
    assert len(names) == 1000
    assert (names[0], names[967], names[999]) == ("tench", "espresso", "toilet tissue")
    assert preprocess.top(np.eye(1000)[967], 1) == [("espresso", 1.0)]


def test_the_converted_model_parses_and_its_weights_are_the_checkpoints(tmp_path: Path) -> None:
    text = convert.convert(folder=tmp_path)
    module = parse(text.read_bytes(), resolver=lambda name: (tmp_path / name).read_bytes())
    assert [value.name for value in module.inputs] == ["image"]
    tensors = legacy_torch.read_state_dict(convert.ROOT / convert.CHECKPOINT)
    stem = next(constant for constant in module.constants if constant.name == "stem_weight")
    np.testing.assert_array_equal(stem.data.array(), tensors["_conv_stem.weight"])


def test_a_checkpoint_of_another_network_is_refused() -> None:
    tensors = {name: np.zeros(shape) for name, shape in architecture.parameter_shapes().items()}
    convert.check(tensors)
    with pytest.raises(ValueError, match="_fc"):
        convert.check({name: tensor for name, tensor in tensors.items() if name != "_fc.bias"})
    with pytest.raises(ValueError, match="wants"):
        convert.check(tensors | {"_fc.bias": np.zeros(10)})
    with pytest.raises(ValueError, match="not finite"):
        convert.check(tensors | {"_fc.bias": np.full(1000, np.nan)})
