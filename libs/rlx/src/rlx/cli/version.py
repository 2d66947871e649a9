"""`rlx --version`, and with `-v` what this installation has and lacks."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["root"]


def _commit() -> str | None:
    """The commit of a development checkout; None for an installed wheel."""
    here = Path(__file__).resolve().parent
    git = shutil.which("git")
    if git is None:
        return None
    answer = subprocess.run(
        [git, "-C", str(here), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or None


def _toolchain(*command: str) -> str | None:
    path = shutil.which(command[0])
    if path is None:
        return None
    answer = subprocess.run([path, *command[1:]], capture_output=True, text=True, check=False)
    return answer.stdout.splitlines()[0] if answer.returncode == 0 and answer.stdout else None


def describe(verbose: bool) -> dict[str, Any]:
    """What `--version` says, as data."""
    answer: dict[str, Any] = {"version": importlib.metadata.version("rlx"), "commit": _commit()}
    if verbose:
        import llvmlite.binding

        from rlx_runtime.devices import detect

        answer["python"] = platform.python_version()
        answer["llvm"] = ".".join(map(str, llvmlite.binding.llvm_version_info))
        answer["devices"] = [device.model_dump(mode="json") for device in detect()]
        answer["toolchains"] = {"gcc": _toolchain("gcc", "--version")}
    return answer


def _text(answer: dict[str, Any]) -> str:
    commit = f" (commit {answer['commit']})" if answer["commit"] else ""
    lines = [f"rlx {answer['version']}{commit}"]
    if "python" in answer:
        lines += [f"  Python    {answer['python']}", f"  LLVM      {answer['llvm']}"]
        for device in answer["devices"]:
            state = "" if device.get("available", True) else f"  (not usable: {device.get('reason')})"
            lines.append(f"  device    {device['type']}:{device['index']}  {device['name']}{state}")
        for name, found in answer["toolchains"].items():
            lines.append(f"  {name:<9} {found or 'not found: needed to compile for target c'}")
    return "\n".join(lines)


def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --version: LLVM, Python, devices, toolchains.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --version: as JSON.", hidden=True)] = False,
) -> None:
    """One program for every device: compile, check and run .rlx models.

    Example: rlx compile --model models/resnet18.rlx --target llvm --output build/resnet18
    """
    if version:
        answer = describe(verbose)
        print(json.dumps(answer, indent=2) if as_json else _text(answer))
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)
