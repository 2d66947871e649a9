"""The key of a compilation: everything that its bundle depends on, and nothing else."""

from __future__ import annotations

import hashlib

from rlx_compiler.options import CompileOptions
from rlx_compiler.targets import Resolved
from rlx_compiler.version import VERSION
from rlx_wire.manifest import canonical_json

__all__ = ["cache_key"]


def cache_key(program_digest: str, resolved: Resolved, options: CompileOptions) -> str:
    """Equal keys mean equal bundles: the program, the named CPU with its features, the options and the tools."""
    spec = resolved.spec
    parts = {
        "program": program_digest,
        "target": spec.target,
        "cpu": spec.cpu,
        "features": sorted(spec.features),
        "opt_level": options.opt_level,
        "strict": options.strict,
        "fallback_to_ddr": options.fallback_to_ddr,
        "dims": dict(options.dims),
        "compiler": VERSION,
        "toolchain": list(resolved.target.toolchain()),
    }
    return hashlib.sha256(canonical_json(parts)).hexdigest()
