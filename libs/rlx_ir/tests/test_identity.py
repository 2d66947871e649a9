"""The two digests: what changes a program's identity, and what does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlx_ir import (
    NO_SCHEDULE,
    MemoryAffinity,
    Module,
    Node,
    Output,
    Value,
    constant_of,
    meaning_digest,
    parse,
    print_module,
    program_digest,
)
from rlx_ir.constants.safetensors import write_safetensors
from rlx_ir.identity import array_digest
from rlx_ir.testing.modules import modules
from rlx_ir.types import TensorType

STEM = """
@rlx.module
def stem():
    input = rlx.tensor(shape=["N", 3, 32, 32], dtype="float32", layout="NHWC", location="DDR")
    weight = rlx.constant(value=np.random.randn(8, 3, 3, 3).astype(np.float32) * 0.1, layout="HWIO")
    conv = rlx.conv2d(input, weight, padding=[1, 1], tile_layout={"output": {"H": 8}}, memory_coalesce={"width": 64})
    act = rlx.relu(conv)
    return {"features": act}
"""

CANONICAL = """\
@rlx.module
def stem():
    input = rlx.tensor(
        shape=["N", 3, 32, 32],
        dtype="float32",
        layout="NHWC",
        memory_affinity={"location": "DDR"},
    )
    weight = rlx.constant(value=np.random.randn(8, 3, 3, 3).astype(np.float32) * 0.1, layout="HWIO")
    conv = rlx.conv2d(
        input,
        weight,
        padding=[1, 1],
        tile_layout={"output": {"H": 8}},
        memory_coalesce={"width": 64},
    )
    act = rlx.relu(conv)
    return {"features": act}
"""


def test_the_digests_of_a_program_never_change() -> None:
    module = parse(STEM)
    assert print_module(module) == CANONICAL
    assert meaning_digest(module) == "40747da9869d32f6790563a7b2224aaf121431fd3044c626b2106af576caa3d5"
    assert program_digest(module) == "29b085026ba422c101d2d1fd4ecc270ce38c9d811f1ffe68d24c08ba261e1e46"


@pytest.mark.parametrize(
    ("change", "program"),
    [
        (('layout="NHWC"', 'layout="NCHW"'), True),
        ((', location="DDR"', ""), True),
        (('"H": 8', '"H": 4'), True),
        ((', memory_coalesce={"width": 64}', ""), True),
        (("conv", "convolution"), True),
        (("def stem", "# a comment\ndef stem"), False),
        ((", padding=[1, 1]", ", strides=[1, 1], padding=[1, 1]"), False),
    ],
)
def test_what_changes_no_result_changes_no_meaning(change: tuple[str, str], program: bool) -> None:
    module, other = (
        parse(STEM),
        parse(STEM.replace("rlx.conv2d", "rlx.CONV").replace(*change).replace("rlx.CONV", "rlx.conv2d")),
    )
    assert meaning_digest(other) == meaning_digest(module)
    assert (program_digest(other) != program_digest(module)) == program


@pytest.mark.parametrize(
    "change",
    [
        ("padding=[1, 1]", "padding=[1, 2]"),
        ("rlx.relu", "rlx.abs"),
        ("* 0.1", "* 0.2"),
        ("(8, 3", "(9, 3"),
        ('"N"', '"M"'),
        ('"features"', '"feature"'),
        ("input", "image"),
        ("np.float32) *", "np.float32) * 1 +"),
        ('"float32"', '"float64"'),
    ],
)
def test_what_changes_a_result_changes_the_meaning(change: tuple[str, str]) -> None:
    text = STEM.replace(*change)
    if change[0] == '"float32"':
        text = text.replace("np.float32", "np.float64")
    module, other = parse(STEM), parse(text)
    assert meaning_digest(other) != meaning_digest(module)
    assert program_digest(other) != program_digest(module)


def test_the_same_elements_have_one_meaning_wherever_they_come_from() -> None:
    array = np.array([[1, 2], [3, 4]], np.float32)
    texts = [
        'value=[[1, 2], [3, 4]], dtype="float32"',
        "value=np.arange(1, 5).reshape(2, 2).astype(np.float32)",
        'value=[[1, 2], [3, 4]], dtype="float32", layout="CR"',
        'file="w.safetensors", key="w"',
    ]
    content = write_safetensors({"w": array})
    digests = {
        meaning_digest(
            parse(f"@rlx.module\ndef m():\n    c = rlx.constant({text})\n    return c\n", resolver=lambda _: content)
        )
        for text in texts
    }
    assert len(digests) == 1
    assert array_digest(np.asfortranarray(array)) == array_digest(array) == array_digest(array.astype(">f4"))
    assert array_digest(array.reshape(4)) != array_digest(array)
    assert array_digest(array.view(np.int32)) != array_digest(array)


def test_files_of_one_name_in_two_folders_are_two_programs() -> None:
    text = '@rlx.module\ndef m():\n    c = rlx.constant(file="w.safetensors", key="w")\n    return c\n'
    first, second = (
        parse(text, resolver=lambda _, value=value: write_safetensors({"w": np.full(2, value)})) for value in (1.0, 2.0)
    )
    assert program_digest(first) != program_digest(second)


def _bare(type: object) -> object:
    return replace(type, layout=None, affinity=MemoryAffinity("L2")) if isinstance(type, TensorType) else type


def _undressed(module: Module) -> Module:
    """The same computation, stored and scheduled otherwise, with every name in between changed."""
    inputs = {value.name for value in module.inputs}
    new = {name: name if name in inputs else f"renamed_{name}" for name in module.types}

    def node(node: Node) -> Node:
        return Node(
            node.op,
            tuple(None if name is None else new[name] for name in node.operands),
            tuple(Value(new[r.name], _bare(r.type)) for r in node.results),  # type: ignore[arg-type]
            NO_SCHEDULE,
            tuple(replace(_undressed(region), name=f"other_{region.name}") for region in node.regions),
        )

    return Module(
        "other",
        tuple(replace(value, type=_bare(value.type)) for value in module.inputs),  # type: ignore[arg-type]
        tuple(replace(c, name=new[c.name], type=_bare(c.type)) for c in reversed(module.constants)),  # type: ignore[arg-type]
        tuple(map(node, module.nodes)),
        tuple(Output(output.name, new[output.value]) for output in module.outputs),
    )


@given(modules())
def test_meaning_ignores_storage_schedules_and_names_in_between(module: Module) -> None:
    other = _undressed(module)
    assert meaning_digest(other) == meaning_digest(module)
    assert program_digest(other) != program_digest(module)
    assert program_digest(parse(print_module(module))) == program_digest(module)


@given(modules(calls=False), st.data())
def test_meaning_sees_every_output_input_and_constant(module: Module, data: st.DataObject) -> None:
    changed = [replace(module, outputs=(*module.outputs[:-1], replace(module.outputs[-1], name="other name")))]
    changed += [
        replace(
            module, inputs=(*module.inputs[:i], replace(value, name=f"{value.name}_2"), *module.inputs[i + 1 :])
        ).renamed({value.name: f"{value.name}_2"})
        for i, value in enumerate(module.inputs)
    ]
    for i, constant in enumerate(module.constants):
        array = constant.array()
        if array.size and module.uses[constant.name]:
            flipped = array.copy()
            flipped.flat[0] = not flipped.flat[0] if array.dtype.kind == "b" else 77 if flipped.flat[0] != 77 else 76
            other = replace(constant_of(constant.name, flipped), type=constant.type)
            changed.append(replace(module, constants=(*module.constants[:i], other, *module.constants[i + 1 :])))
    assume(changed)
    meanings = [meaning_digest(other) for other in changed]
    assert meaning_digest(module) not in meanings
    assert len(set(meanings)) == len(meanings)
