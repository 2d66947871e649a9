"""A formatter keeps comments."""

from __future__ import annotations

from rlx_ir.text import carry_comments, parse_file, print_file

SOURCE = """\
# A small network.
# Written by hand.
@rlx.module
def net():  # the entry
    x = rlx.tensor(shape=[2, 2], dtype="float32")
    # halve, then keep what is positive
    y = rlx.relu(  # in place
        x / 2.0  # exact
    )

    return y  # done


# the end
"""

CANONICAL = """\
# A small network.
# Written by hand.
# the entry
@rlx.module
def net():
    x = rlx.tensor(shape=[2, 2], dtype="float32")
"""


def canonical(source: str) -> str:
    return carry_comments(source, print_file(parse_file(source).modules))


def test_comments_stand_above_their_statement_and_none_is_lost() -> None:
    text = canonical(SOURCE)
    assert text.startswith(CANONICAL)
    lines = [line.strip() for line in text.splitlines()]
    y = next(i for i, line in enumerate(lines) if line.startswith("y = "))
    assert lines[y - 3 : y] == ["# halve, then keep what is positive", "# in place", "# exact"]
    assert lines[-3:] == ["# done", "return y", "# the end"]


def test_canonical_text_with_comments_is_a_fixed_point() -> None:
    text = canonical(SOURCE)
    assert canonical(text) == text


def test_a_text_without_comments_is_the_printed_text() -> None:
    printed = print_file(parse_file(SOURCE).modules)
    assert carry_comments(printed, printed) == printed
