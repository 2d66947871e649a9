"""Text and modules are two forms of one thing."""

from __future__ import annotations

from hypothesis import given

from rlx_ir import Module, parse, print_module
from rlx_ir.testing.modules import modules


@given(modules())
def test_parsing_a_printed_module_gives_it_back(module: Module) -> None:
    text = print_module(module)
    again = parse(text)
    assert again == module
    assert print_module(again) == text
