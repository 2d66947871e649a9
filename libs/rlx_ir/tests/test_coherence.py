"""No value is read on another device than where it was written without a transfer or a sync between."""

from __future__ import annotations

import pytest

from rlx_base.errors import VerifyError
from rlx_ir.coherence import check_coherence, coherence_breaks
from rlx_ir.module import Module
from rlx_ir.text import parse

HBM = 'memory_affinity={{"location": "HBM", "coherence": "{}"}}'


def model(first: str, between: str = "", second: str = 'location="DDR"', reads: str = "a") -> Module:
    return parse(
        f"""
@rlx.module
def net():
    x = rlx.tensor(shape=[4], dtype="float32")
    a = rlx.relu(x, {first})
    {between}
    b = rlx.exp({reads}, {second})
    return b
"""
    )


def test_a_read_on_the_host_of_what_a_device_wrote_breaks_coherence() -> None:
    (found,) = coherence_breaks(model(HBM.format("none")))
    assert (found.value, found.writer.op.name, found.reader.op.name) == ("a", "relu", "exp")
    assert (found.here, found.there) == ("device", "host")


def test_the_error_names_both_ops_and_the_place_of_the_reader() -> None:
    with pytest.raises(VerifyError) as refused:
        check_coherence(model(HBM.format("none")))
    assert "exp reads 'a' on the host, which relu wrote on the device" in refused.value.message
    assert refused.value.at is not None
    assert refused.value.at.line == 7


@pytest.mark.parametrize("coherence", ["MESI", "MOESI", "host"])
def test_a_coherent_memory_needs_no_transfer(coherence: str) -> None:
    assert check_coherence(model(HBM.format(coherence))) == 2


def test_a_transfer_between_makes_it_right() -> None:
    module = model(HBM.format("none"), 'c = rlx.identity(a, location="DDR")', reads="c")
    assert not list(coherence_breaks(module))


def test_a_transfer_that_stays_on_the_device_does_not() -> None:
    module = model(HBM.format("none"), f"c = rlx.identity(a, {HBM.format('none')})", reads="c")
    (found,) = coherence_breaks(module)
    assert found.value == "c"


def test_an_op_without_a_declaration_runs_where_its_operands_are() -> None:
    module = model(HBM.format("none"), "c = rlx.neg(a)", reads="c")
    (found,) = coherence_breaks(module)
    assert (found.writer.op.name, found.here) == ("neg", "device")


def test_what_is_declared_nowhere_is_coherent() -> None:
    module = parse(
        """
@rlx.module
def net():
    x = rlx.tensor(shape=[4], dtype="float32")
    return rlx.exp(rlx.relu(x))
"""
    )
    assert check_coherence(module) == 2
