"""LLVM by llvmlite: from IR text to an object file. The text is scheduled already: few passes are worth their time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import binding

from rlx_base.errors import CompileError
from rlx_compiler.emit.llvm.machine import Machine
from rlx_compiler.targets.spec import TargetSpec

__all__ = ["Code", "compile_ir", "version"]


@dataclass(frozen=True, slots=True)
class Code:
    """What LLVM made of a module."""

    object: bytes
    bitcode: bytes


@cache
def _initialize() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()


def compile_ir(text: str, machine: Machine, spec: TargetSpec, opt_level: int) -> Code:
    """Parses, verifies and compiles a module of LLVM IR."""
    _initialize()
    try:
        # A context of its own: in a shared one, what earlier modules named would show in this one's bitcode.
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompileError("E205", tool="LLVM", caused_by=str(error).strip()) from None
    generator = binding.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu(spec),
        features=machine.features(spec),
        opt=opt_level,
        reloc=machine.relocation,
        codemodel="default",
        abiname=machine.abi,
    )
    # The bitcode is what the text says; the promotion of registers below is part of making code.
    bitcode = module.as_bitcode()
    _promote(module, generator, opt_level)
    return Code(generator.emit_object(module), bitcode)


def _promote(module: Any, generator: Any, opt_level: int) -> None:
    """Turns accumulators, which the text keeps in memory, into registers."""
    options = binding.create_pipeline_tuning_options(speed_level=opt_level)
    builder = binding.create_pass_builder(generator, options)
    passes = binding.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


@cache
def version() -> str:
    """`LLVM 22.1.0`."""
    return f"LLVM {'.'.join(map(str, binding.llvm_version_info))}"
