"""Where a constant's elements come from: a restricted NumPy expression, or a tensor of a safetensors file."""

from rlx_ir.constants.expression import MAX_ELEMENTS, Expression, seed_of
from rlx_ir.constants.stored import Files, Resolver, Stored, check_file_name

__all__ = ["MAX_ELEMENTS", "Expression", "Files", "Resolver", "Stored", "check_file_name", "seed_of"]
