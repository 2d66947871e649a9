"""What runs bundles here, one file for each kind of code: native code, an emulator, a WebAssembly engine, a GPU.

Adding a runner is adding a file here that defines `RUNNER`; loading, detection and the conformance matrix find it by
the targets that it names. A library that a runner needs is an extra of this package: imported when a bundle is loaded,
never before, and named in the error where it is missing.
"""

from __future__ import annotations

from rlx_runtime.runners.registry import Runner, find_runner, runners, served_targets

__all__ = ["Runner", "find_runner", "runners", "served_targets"]
