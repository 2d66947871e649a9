"""The text form of the language: `parse` reads it, `print_module` writes it, and the two are inverses."""

from rlx_ir.text.comments import carry_comments
from rlx_ir.text.lexing import Limits
from rlx_ir.text.parser import File, parse, parse_file
from rlx_ir.text.printer import print_file, print_module

__all__ = ["File", "Limits", "carry_comments", "parse", "parse_file", "print_file", "print_module"]
