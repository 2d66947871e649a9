"""What is written from the code is as the code is."""

from tools.stubs import STUB, stub


def test_the_names_that_editors_know_are_those_of_the_language() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "make generated"
