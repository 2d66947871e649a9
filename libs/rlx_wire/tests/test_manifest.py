"""The manifest: canonical, so that its digest names a bundle, and consistent, so that a runtime may believe it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rlx_base.errors import ArtifactError
from rlx_wire.manifest import (
    MAX_MANIFEST_BYTES,
    FileEntry,
    HostOpSegment,
    KernelSpec,
    Manifest,
    NativeSegment,
    TensorSpec,
    canonical_json,
)

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
sizes = st.integers(0, 2**63 - 1)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
file_names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True).filter(lambda n: n != "manifest.json")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    dims = draw(st.lists(names, unique=True, max_size=3))
    shape = st.lists(sizes | st.sampled_from(dims) if dims else sizes, max_size=4).map(tuple)
    dtypes = st.sampled_from(["float32", "int64", "bool"])

    def tensors(labels: list[str]) -> tuple[TensorSpec, ...]:
        return tuple(TensorSpec(name=label, dtype=draw(dtypes), shape=draw(shape)) for label in labels)

    inputs = (
        TensorSpec(name="all dims", dtype="int8", shape=tuple(dims)),
        *tensors(draw(st.lists(names, unique=True, max_size=2))),
    )
    kernels = draw(
        st.lists(
            st.builds(KernelSpec, name=names, ops=st.lists(names, max_size=3).map(tuple), flops=sizes, bytes=sizes),
            max_size=4,
        )
    )
    cut = draw(st.integers(0, len(kernels)))
    plan = (
        NativeSegment(kernels=(0, cut)),
        HostOpSegment(op="decode", index=0),
        NativeSegment(kernels=(cut, len(kernels))),
    )
    return Manifest(
        compiler_version=draw(names),
        target=draw(names),
        cpu=draw(names),
        cpu_features=tuple(sorted(set(draw(st.lists(names, max_size=4))))),
        opt_level=draw(st.integers(0, 3)),
        program_digest=draw(digests),
        meaning_digest=draw(digests),
        model=draw(names),
        inputs=inputs,
        outputs=tensors(draw(st.lists(names, unique=True, max_size=2))),
        dims=tuple(dims),
        workspace_bytes=draw(sizes),
        weights_bytes=draw(sizes),
        kernels=tuple(kernels),
        launch_plan=plan,
        files=draw(st.dictionaries(file_names, st.builds(FileEntry, sha256=digests, bytes=sizes), max_size=3)),
    )


@given(manifests())
def test_a_manifest_survives_its_bytes(manifest: Manifest) -> None:
    data = manifest.to_bytes()
    again = Manifest.from_bytes(data, "a test")
    assert again == manifest
    assert again.to_bytes() == data
    assert again.digest == manifest.digest


@given(json_values)
def test_canonical_json_depends_on_the_value_alone(value: Any) -> None:
    def backwards(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: backwards(node[key]) for key in reversed(node)}
        return [backwards(item) for item in node] if isinstance(node, list) else node

    data = canonical_json(value)
    assert canonical_json(backwards(value)) == data
    assert json.loads(data) == value
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1


def test_canonical_json_has_no_word_for_nan() -> None:
    with pytest.raises(ValueError):
        canonical_json(float("nan"))


def test_the_bytes_of_a_manifest_are_frozen(manifest: Manifest) -> None:
    assert manifest.to_bytes().startswith(
        b'{"abi_version":1,"compiler_version":"0.1.0","cpu":"x86-64-v3","cpu_features":["avx2","fma"]'
    )
    assert manifest.digest == "01cd6a482eb2856b03a933f45de702ce0e92f1ddaba4367a8fac56f5294c1a8b"


def refused(data: bytes) -> ArtifactError:
    with pytest.raises(ArtifactError, match="artifact rejected: ") as caught:
        Manifest.from_bytes(data, "a test")
    return caught.value


def changed(manifest: Manifest, **fields: Any) -> bytes:
    return canonical_json(manifest.model_dump(mode="json") | fields)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: b" " + data,
        lambda data: data.replace(b'"cpu":', b'"cpu": '),
        lambda data: data.replace(b'"abi_version":1', b'"abi_version":1,"abi_version":1'),
        lambda data: data[:40],
        lambda data: b"",
        lambda data: b"[]\n",
        lambda data: b"\xff\xfe",
        lambda data: b"[" * 100_000,
        lambda data: b" " * (MAX_MANIFEST_BYTES + 1),
    ],
)
def test_bytes_that_are_not_canonical_are_refused(manifest: Manifest, spoil: Any) -> None:
    assert refused(spoil(manifest.to_bytes())).code == "RLX-E301"


def test_another_format_or_abi_is_named_with_what_was_expected(manifest: Manifest) -> None:
    other_format = refused(changed(manifest, format_version=2, unknown="field"))
    assert (other_format.code, other_format.message) == (
        "RLX-E302",
        "artifact rejected: expected bundle format 1, found 2",
    )
    other_abi = refused(changed(manifest, abi_version=7))
    assert (other_abi.code, other_abi.message) == ("RLX-E305", "artifact rejected: expected ABI version 1, found 7")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"unknown": 1}, "unknown"),
        ({"opt_level": 4}, "opt_level"),
        ({"opt_level": True}, "opt_level"),
        ({"workspace_bytes": -1}, "workspace_bytes"),
        ({"workspace_bytes": 2**63}, "workspace_bytes"),
        ({"program_digest": "A" * 64}, "program_digest"),
        ({"cpu_features": ["fma", "avx2"]}, "sorted"),
        ({"dims": []}, "dims"),
        ({"dims": ["n", "n"]}, "repeat"),
        ({"inputs": [], "dims": []}, "no input gives"),
        ({"inputs": [{"name": "x", "dtype": "complex64", "shape": ["n"]}]}, "complex64"),
        ({"launch_plan": []}, "covers 0 of 1"),
        ({"launch_plan": [{"kind": "native", "symbol": "rlx_main", "kernels": [1, 1]}]}, "do not follow"),
        ({"launch_plan": [{"kind": "gpu"}]}, "launch_plan"),
        ({"files": {"../x": {"sha256": "0" * 64, "bytes": 1}}}, "files"),
        ({"files": {".hidden": {"sha256": "0" * 64, "bytes": 1}}}, "files"),
        ({"files": {"a/b": {"sha256": "0" * 64, "bytes": 1}}}, "files"),
        ({"files": {"x\n": {"sha256": "0" * 64, "bytes": 1}}}, "files"),
        ({"files": {"manifest.json": {"sha256": "0" * 64, "bytes": 1}}}, "itself"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(manifest: Manifest, fields: dict[str, Any], why: str) -> None:
    error = refused(changed(manifest, **fields))
    assert error.code == "RLX-E301"
    assert why in error.message


def test_a_manifest_cannot_be_changed(manifest: Manifest) -> None:
    with pytest.raises(ValidationError):
        manifest.model = "another"  # type: ignore[misc]
