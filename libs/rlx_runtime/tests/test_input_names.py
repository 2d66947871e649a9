"""A misspelt input is named with the input that was meant."""

import numpy as np
import pytest

from rlx_base.errors import RequestError
from rlx_runtime import load
from rlx_wire.manifest import TensorSpec


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["inptu"], "there is no input 'inptu'; did you mean 'input'? input mask is missing"),
        (["inptu", "mask"], "there is no input 'inptu'; did you mean 'input'?"),
        (["input", "mask", "masks"], "there is no input 'masks'"),
    ],
)
def test_a_misspelt_input_is_named_with_the_nearest(make_bundle, given: list[str], what: str) -> None:
    tensors = tuple(TensorSpec(name=name, dtype="float32", shape=(8,)) for name in ("input", "mask"))
    bundle = make_bundle(8, inputs=tensors)
    with load(bundle.directory, threads=1) as model, pytest.raises(RequestError) as caught:
        model.run({name: np.zeros(8, np.float32) for name in given})
    assert caught.value.message.endswith(f": {what}")
