"""The Open Inference Protocol v2 in its JSON form: the bodies of `/v2`.

Names and members are the protocol's, not RLX's. Unknown members are ignored, as the protocol's extensions
ask.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rlx_wire.tensors import Array, Shape, array_of, datatype_of, dtype_of

__all__ = [
    "InferInput",
    "InferOutput",
    "InferRequestV2",
    "InferResponseV2",
    "ModelMetadata",
    "ModelReady",
    "RepositoryModel",
    "RequestedOutput",
    "ServerMetadata",
    "TensorMetadata",
]

Parameter = bool | int | float | str


class InferInput(BaseModel):
    name: str
    shape: Shape
    datatype: str
    parameters: dict[str, Parameter] = {}
    data: list[Any]

    def array(self) -> Array:
        """The input as NumPy holds it. Raises E410 for its datatype and E411 for its elements."""
        return array_of(self.name, dtype_of(self.datatype), self.shape, self.data)


class RequestedOutput(BaseModel):
    name: str
    parameters: dict[str, Parameter] = {}


class InferRequestV2(BaseModel):
    """`POST /v2/models/{m}[/versions/{v}]/infer`. Request parameters: `target`, `priority`, `timeout`
    (microseconds).
    """

    id: str | None = None
    parameters: dict[str, Parameter] = {}
    inputs: list[InferInput]
    outputs: list[RequestedOutput] | None = None


class InferOutput(BaseModel):
    name: str
    shape: Shape
    datatype: str
    data: list[Any]

    @classmethod
    def of(cls, name: str, array: Array, dtype: str) -> InferOutput:
        return cls(name=name, shape=array.shape, datatype=datatype_of(dtype), data=array.ravel().tolist())


class InferResponseV2(BaseModel):
    model_name: str
    model_version: str
    id: str | None = None
    parameters: dict[str, Parameter] = {}
    outputs: list[InferOutput]


class TensorMetadata(BaseModel):
    """A symbolic dim is −1."""

    name: str
    datatype: str
    shape: list[Annotated[int, Field(ge=-1)]]


class ModelMetadata(BaseModel):
    name: str
    versions: list[str]
    platform: str = "rlx"
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class ModelReady(BaseModel):
    name: str
    ready: bool


class ServerMetadata(BaseModel):
    name: str = "rlx"
    version: str
    extensions: list[str]


class RepositoryModel(BaseModel):
    """One row of `POST /v2/repository/index`."""

    name: str
    version: str
    state: Literal["READY", "UNAVAILABLE"]
    reason: str = ""
