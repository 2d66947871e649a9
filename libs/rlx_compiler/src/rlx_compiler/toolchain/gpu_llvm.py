"""LLVM's GPU backends: from the text of a module to PTX, or to an object file for an AMD GPU."""

from __future__ import annotations

from typing import Any

from llvmlite import binding

from rlx_base.errors import CompileError

__all__ = ["assembly", "object_file"]


def assembly(text: str, triple: str, cpu: str, features: str, opt_level: int) -> str:
    """The target's assembly, which for NVPTX is PTX."""
    module, machine = _compiled(text, triple, cpu, features, opt_level)
    result: str = machine.emit_assembly(module)
    return result


def object_file(text: str, triple: str, cpu: str, features: str, opt_level: int) -> bytes:
    """An object file."""
    module, machine = _compiled(text, triple, cpu, features, opt_level)
    result: bytes = machine.emit_object(module)
    return result


def _compiled(text: str, triple: str, cpu: str, features: str, opt_level: int) -> tuple[Any, Any]:
    """Accumulators are promoted to registers, and what a loop computes again is taken out of it: unlike a CPU's, this
    code comes without addresses that were shared by hand."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompileError("E205", tool="LLVM", caused_by=str(error).strip()) from None
    target = binding.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="default")
    module.data_layout = str(machine.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=opt_level)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module, machine
