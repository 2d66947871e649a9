"""`rlx infer`: one inference, here or through an endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlx.cli.compile import Dims, sizes_of
from rlx.cli.terminal import Json, Target, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlx.dynamic import Program
    from rlx_compiler import CompileOptions

__all__ = ["infer", "register"]


def register(app: typer.Typer) -> None:
    app.command()(infer)


def infer(
    model: Annotated[
        str, typer.Option("--model", "-m", help="A .rlx or .onnx file, a bundle's folder, or a deployed name.")
    ],
    input: Annotated[
        list[str] | None, typer.Option("--input", "-i", help="NAME=FILE.npy, an image, or a number.")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", envvar="RLX_ENDPOINT", help="Ask this server instead of running here.")
    ] = None,
    api_key: Annotated[str | None, typer.Option("--api-key", envvar="RLX_API_KEY", help="The server's key.")] = None,
    target: Target = "llvm",
    dim: Dims = None,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="Team size; default: the CPU quota.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the results here, one .npy each.")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option("--profile", help="Write per-kernel timings as a Chrome trace, e.g. profile.json.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a model once and show its results.

    Example: rlx infer --model models/resnet18.rlx --input input=photo.jpg
    """
    given = input or []
    if Path(model).exists():
        from rlx_compiler import CompileOptions

        results = _here(Path(model), given, CompileOptions(target=target, dims=sizes_of(dim)), threads, profile)
    else:
        results = _there(model, given, endpoint or "http://127.0.0.1:8000", api_key, target)
    from rlx_base.dtypes import of_numpy
    from rlx_ir.elements import widened

    if output is not None:
        import numpy as np

        output.mkdir(parents=True, exist_ok=True)
        for name, array in results.items():
            # Texts as NumPy's own text array: one of objects would be a pickle.
            np.save(output / f"{name}.npy", array.astype(str) if array.dtype == object else array)
    answer = {
        name: {
            "dtype": of_numpy(array.dtype).name,
            "shape": list(array.shape),
            "data": widened(array).ravel().tolist(),
        }
        for name, array in results.items()
    }
    show({"outputs": answer}, as_json, "\n".join(_line(name, array) for name, array in results.items()))


def _here(
    path: Path, given: list[str], options: CompileOptions, threads: int | None, profile: Path | None
) -> dict[str, NDArray[Any]]:
    from rlx.cli.inputs import read_inputs
    from rlx.compiling import compile_file
    from rlx.loading import program_of
    from rlx_runtime import load

    if not path.is_dir() and not options.dims and profile is None and (program := program_of(path)) is not None:
        return _any_shape(program, given, options.target, threads)
    bundle = path if path.is_dir() else compile_file(path, options).directory
    with load(bundle, threads=threads) as loaded:
        arrays = read_inputs(given, loaded.manifest.inputs)
        if profile is None:
            return loaded.run(arrays)
        run = loaded.trace(arrays)
        profile.write_text(run.profile.to_json(), encoding="utf-8")
        return run.outputs


def _any_shape(program: Program, given: list[str], target: str, threads: int | None) -> dict[str, NDArray[Any]]:
    """One run of a program with open sizes, compiled for the shapes of these inputs."""
    from rlx.cli.inputs import read_inputs
    from rlx.dynamic import DynamicModel
    from rlx_wire.manifest import TensorSpec

    wanted = [
        TensorSpec(
            name=name,
            dtype=type.dtype.name,
            shape=tuple(dim if isinstance(dim, int) else str(dim) for dim in type.shape),
        )
        for name, type in program.inputs.items()
    ]
    with DynamicModel(program, target=target, threads=threads) as model:
        return model.run(read_inputs(given, wanted))


def _there(model: str, given: list[str], endpoint: str, api_key: str | None, target: str) -> dict[str, NDArray[Any]]:
    from rlx.cli.inputs import read_inputs
    from rlx_client import RLXClient

    with RLXClient(endpoints=[endpoint], api_key=api_key) as client:
        wanted = client.metadata(model).inputs
        return client.infer(model, read_inputs(given, wanted), target=target).outputs


def _line(name: str, array: NDArray[Any]) -> str:
    import numpy as np

    from rlx_base.dtypes import of_numpy
    from rlx_ir.elements import widened

    flat = widened(array).ravel()
    shown = np.array2string(flat[:8], precision=4, separator=", ", suppress_small=True)
    more = f" … {flat.size - 8} more" if flat.size > 8 else ""
    return f"{name}: {of_numpy(array.dtype)}{list(array.shape)} {shown}{more}"
