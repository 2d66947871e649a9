"""From meaning to code: passes, loop IR, schedules, emitters, targets and bundles."""

from rlx_compiler.driver import compile_module
from rlx_compiler.isolated import compile_source
from rlx_compiler.options import CompileOptions, CompileResult, Limits
from rlx_compiler.version import VERSION

__all__ = ["VERSION", "CompileOptions", "CompileResult", "Limits", "compile_module", "compile_source"]
