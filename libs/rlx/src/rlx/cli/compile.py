"""`rlx compile`: one bundle per target, compiled here or by a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlx.cli.remote import ApiKey, connect
from rlx.cli.terminal import Json, Opt, fail, say, show
from rlx.cli.together import compile_all, raise_first

if TYPE_CHECKING:
    from rlx_compiler import CompileOptions, CompileResult

__all__ = ["Dims", "compile_command", "register", "sizes_of"]

Dims = Annotated[list[str] | None, typer.Option("--dim", help="Size of a symbolic dimension: N=4.")]


def register(app: typer.Typer) -> None:
    app.command("compile")(compile_command)


def compile_command(
    model: Annotated[
        Path, typer.Option("--model", "-m", help="The .rlx, .rlxz or .onnx file.", exists=True, dir_okay=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the bundles, one a target; default build/MODEL.")
    ] = None,
    target: Annotated[str, typer.Option("--target", "-t", help="llvm, c, several with commas, or all.")] = "llvm",
    opt_level: Opt = 3,
    cpu: Annotated[str, typer.Option("--cpu", help="host, or a level such as x86-64-v3.")] = "host",
    dim: Dims = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A declared memory that the target lacks is an error.")
    ] = False,
    fallback_to_ddr: Annotated[
        bool, typer.Option("--fallback-to-ddr", help="… is a warning, and DDR is used.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show each decision with its reason.")] = False,
    dump_phases: Annotated[
        Path | None, typer.Option("--dump-phases", help="Write the program after every phase into this folder.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Stop after a phase (read, a pass, loops, code) and show it.")
    ] = None,
    remote: Annotated[str | None, typer.Option("--remote", help="Compile on the server at this URL.")] = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Compile a model for one or more targets; what was compiled before comes from the cache.

    Example: rlx compile --model models/resnet18.rlx --target llvm,c --output build/resnet18
    """
    from rlx_compiler import CompileOptions

    names = _names(target, remote)
    folder = output or Path("build") / model.stem
    sizes = sizes_of(dim)
    common = {"opt_level": opt_level, "strict": strict, "fallback_to_ddr": fallback_to_ddr, "dims": sizes}
    if remote is not None:
        _remotely(remote, api_key, model, names, folder, common, as_json)
        return
    every = [CompileOptions(target=name, cpu=cpu, **common) for name in names]  # type: ignore[arg-type]
    if dump_phases is not None or until is not None:
        _phases(model, every, dump_phases, until, as_json)
        if until is not None:
            return
    done = compile_all(model, every, folder)
    texts: list[str] = []
    for options, result in done.bundles:
        for warning in result.report.get("warnings", []):
            say(f"warning: {options.target}: {warning}")
        texts += _lines(options, result, explain)
    if as_json or texts:
        show({"bundles": [_answer(*one, explain) for one in done.bundles]}, as_json, "\n".join(texts))
    if done.failures:
        raise_first(done.failures)


def _names(asked: str, remote: str | None) -> list[str]:
    """The targets that are asked for, once each; `all` is every target whose tools are here, or that a server takes."""
    from rlx_compiler.targets import target_names, usable_targets
    from rlx_wire.targets import COMPILE_TARGETS

    if asked != "all":
        return list(dict.fromkeys(name.strip() for name in asked.split(",")))
    if remote is not None:
        return list(COMPILE_TARGETS)
    usable = usable_targets()
    for name in target_names():
        if name not in usable:
            say(f"{name} is left out: its tools are not installed here")
    return list(usable)


def _answer(options: CompileOptions, result: CompileResult, explain: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "target": options.target,
        "digest": result.digest,
        "directory": str(result.directory),
        "seconds": dict(result.seconds_by_phase),
        "cached": not result.seconds_by_phase,
    }
    return answer | ({"report": result.report} if explain else {})


def _lines(options: CompileOptions, result: CompileResult, explain: bool) -> list[str]:
    from rlx_compiler.explain import explanation

    seconds = sum(result.seconds_by_phase.values())
    took = f"{seconds:.2f} s" if result.seconds_by_phase else "from the cache"
    line = f"{options.target}: {result.directory}  {result.digest[:12]}  {took}"
    return [line, explanation(result.report)] if explain else [line]


def _phases(model: Path, every: list[CompileOptions], folder: Path | None, until: str | None, as_json: bool) -> None:
    from rlx.phases import dump, find
    from rlx_compiler.source import load_module

    module = load_module(model, every[0].dims)
    for options in every:
        if folder is not None:
            place = folder if len(every) == 1 else folder / options.target.replace(":", "-")
            written = dump(module, options, place)
            say(f"{len(written)} phases of {options.target} are in {place}")
    if until is not None:
        phase = find(module, every[0], until)
        show({"phase": phase.name, "files": phase.files}, as_json, phase.text.rstrip())


def _remotely(
    url: str, api_key: str | None, model: Path, names: list[str], folder: Path, options: dict[str, Any], as_json: bool
) -> None:
    from rlx.cli.upload import compile_remotely

    with connect(url, api_key) as client:
        answers = compile_remotely(client, model, names, folder, **options)
    text = "\n".join(f"{one['target']}: {one['directory']}  {one['digest'][:12]}  job {one['job']}" for one in answers)
    show({"bundles": answers}, as_json, text)


def sizes_of(given: list[str] | None) -> dict[str, int]:
    """`["N=4"]` → `{"N": 4}`."""
    sizes: dict[str, int] = {}
    for text in given or []:
        name, _, size = text.partition("=")
        if not name or not size.isdigit():
            fail(f"--dim {text!r} is not NAME=SIZE", "write it like --dim N=4")
        sizes[name] = int(size)
    return sizes
