"""The error table and the tree that is built on it."""

from __future__ import annotations

import re
import string

import pytest

from rlx_base import errors
from rlx_base.error_table import TABLE
from rlx_base.errors import InternalError, RlxError, TextError, VerifyError, restored
from rlx_base.span import Span

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, RlxError) and c is not RlxError]


@pytest.mark.parametrize("code", TABLE)
def test_every_code_is_well_formed_and_has_one_class(code: str) -> None:
    kind = TABLE[code]
    assert re.fullmatch(r"E\d{3}", code)
    assert 400 <= kind.status < 600
    assert kind.text
    assert kind.help
    assert sum(code.startswith(c.series) for c in CLASSES) == 1


@pytest.mark.parametrize("code", TABLE)
def test_every_template_is_filled_by_its_own_fields(code: str) -> None:
    kind = TABLE[code]
    parts = [part for text in (kind.text, kind.help) for part in string.Formatter().parse(text)]
    fields: dict[str, object] = {name: 1.5 if spec else "X" for _, name, spec, _ in parts if name}
    (owner,) = [c for c in CLASSES if code.startswith(c.series)]
    error = owner(code, **fields)
    assert error.code == f"RLX-{code}"
    assert "{" not in error.message.replace('{"', "").replace("{X}", "")


def test_an_error_is_raised_as_the_class_of_its_series_only() -> None:
    with pytest.raises(ValueError, match="E101 is not raised as TextError"):
        TextError("E101", name="x", hint="")


def test_a_rendered_error_shows_place_caret_cause_and_help() -> None:
    error = VerifyError(
        "E101", at=Span("m.rlx", 2, 9, 17), name="rlx.rleu", hint="; did you mean 'relu'?", caused_by="a driver"
    )
    assert error.render("@rlx.module\n    y = rlx.rleu(x)\n").splitlines() == [
        "m.rlx:2:9: error[RLX-E101]: unknown op 'rlx.rleu'; did you mean 'relu'?",
        "    2 |     y = rlx.rleu(x)",
        "      |         ^^^^^^^^",
        "   caused by: a driver",
        "   help: `rlx` ops are listed in the language reference",
    ]


def test_an_error_without_a_place_is_two_lines() -> None:
    assert str(InternalError("E900", what="no plan")).splitlines() == [
        "error[RLX-E900]: internal error: no plan",
        "   help: this is a fault of RLX; please report it with this text",
    ]


def test_the_place_of_an_error_may_say_what_to_do_better_than_the_table() -> None:
    assert VerifyError("E101", help="ask Ada", name="x", hint="").render().endswith("help: ask Ada")


def test_an_error_of_another_process_renders_as_it_did_there() -> None:
    source = "    y = rlx.rleu(x)"
    error = VerifyError(
        "E101", at=Span("m.rlx", 1, 9, 17), name="rlx.rleu", hint="", caused_by="it", label="at most 64"
    )
    again = restored(
        error.code,
        error.message,
        error.help,
        status=error.status,
        at=error.at,
        caused_by=error.caused_by,
        label=error.label,
    )
    assert type(again) is VerifyError
    assert again.render(source) == error.render(source)
