"""A model as the Open Inference Protocol and Triton's clients describe it, from its manifest."""

from __future__ import annotations

from typing import Any

from rlx_wire.manifest import Manifest, TensorSpec
from rlx_wire.open_inference import ModelMetadata, TensorMetadata
from rlx_wire.tensors import datatype_of

__all__ = ["config_of", "metadata_of"]


def metadata_of(model: str, manifest: Manifest) -> ModelMetadata:
    """Names, datatypes and shapes. The versions are the caller's to know."""
    return ModelMetadata(
        name=model,
        versions=[],
        inputs=[_tensor(spec) for spec in manifest.inputs],
        outputs=[_tensor(spec) for spec in manifest.outputs],
    )


def config_of(model: str, manifest: Manifest) -> dict[str, Any]:
    """Triton's ModelConfig. `max_batch_size` 0: a model takes its whole input shape, and nothing is batched."""
    return {
        "name": model,
        "platform": "rlx",
        "backend": "rlx",
        "max_batch_size": 0,
        "input": [_config(spec) for spec in manifest.inputs],
        "output": [_config(spec) for spec in manifest.outputs],
        "model_transaction_policy": {"decoupled": False},
    }


def _tensor(spec: TensorSpec) -> TensorMetadata:
    return TensorMetadata(name=spec.name, datatype=datatype_of(spec.dtype), shape=_dims(spec))


def _config(spec: TensorSpec) -> dict[str, Any]:
    datatype = datatype_of(spec.dtype)
    kind = "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}"
    return {"name": spec.name, "data_type": kind, "dims": _dims(spec)}


def _dims(spec: TensorSpec) -> list[int]:
    return [size if isinstance(size, int) else -1 for size in spec.shape]
