"""`python -m rlx_compile_api.inspect_child WHAT PATH SECONDS BYTES`: about the program at PATH, as one line of JSON.

WHAT is `summary` (digests, inputs and outputs) or `program` (the text and its graph).

Runs as a child with limits on processor time and memory, since PATH comes from a stranger. All files that the program
may name lie beside it, put there by the service.
"""

from __future__ import annotations

import json
import mmap
import resource
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Ends with status 0 where it has an answer, also a refusal."""
    what, path, seconds, memory_bytes = sys.argv[1:]
    for limit, value in (
        (resource.RLIMIT_CPU, int(seconds)),
        (resource.RLIMIT_AS, int(memory_bytes)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    print(json.dumps(_answer(what, Path(path))))


def _answer(what: str, path: Path) -> dict[str, Any]:
    # Imported under the limits, which hold for all that follows.
    from rlx_base.errors import RlxError, TextError
    from rlx_ir.archive import read_rlxz
    from rlx_ir.constants import Resolver
    from rlx_ir.text import parse
    from rlx_ir.verify import verify
    from rlx_wire.problem import Problem

    text: bytes | str = b""
    resolver: Resolver

    def beside(name: str, /) -> memoryview:
        """A file that was uploaded with the text."""
        if name not in {file.name for file in path.parent.iterdir()}:
            raise TextError("E042", name=name)
        return _mapped(path.parent / name)

    try:
        if path.suffix == ".rlxz":
            package = read_rlxz(_mapped(path))
            text, resolver = package.text, package.resolver
        else:
            text, resolver = bytes(_mapped(path)), beside
        module = parse(text, file=path.name, resolver=resolver)
        verify(module)
        return _program(module, path.name, text) if what == "program" else _summary(module)
    except RlxError as error:
        problem = Problem.of(error, source=_readable(text))
        # Whatever the code says elsewhere: here it is the upload that does not hold together.
        return {"problem": problem.model_copy(update={"status": 422}).model_dump(mode="json")}


def _summary(module: Any) -> dict[str, Any]:
    from rlx_ir.identity import meaning_digest, program_digest

    return {
        "module": module.name,
        "program_digest": program_digest(module),
        "meaning_digest": meaning_digest(module),
        "inputs": [_tensor(value.name, value.type) for value in module.inputs],
        "outputs": [_tensor(output.name, module.types[output.value]) for output in module.outputs],
    }


def _program(module: Any, file: str, text: bytes | str) -> dict[str, Any]:
    return {
        "file": file,
        "text": _readable(text),
        "inputs": [_tensor(value.name, value.type) for value in module.inputs],
        "constants": [_tensor(constant.name, constant.type) for constant in module.constants],
        "nodes": [_node(node) for node in module.nodes],
        "outputs": [{"name": output.name, "value": output.value} for output in module.outputs],
    }


def _node(node: Any) -> dict[str, Any]:
    from rlx_ir.schedule import NO_SCHEDULE

    attributes = {
        field.name: str(value)
        for field in fields(node.op)
        if (value := getattr(node.op, field.name)) is not None and value != field.default
    }
    return {
        "op": node.op.name,
        "operands": node.operands,
        "results": [_tensor(result.name, result.type) for result in node.results],
        "attributes": attributes,
        "scheduled": node.schedule != NO_SCHEDULE,
        "regions": [region.name for region in node.regions],
        "line": node.span.line if node.span else None,
    }


def _tensor(name: str, kind: Any) -> dict[str, Any]:
    """A type that is no tensor (a sequence, an optional) stands as its text, without a shape."""
    if not hasattr(kind, "shape"):
        return {"name": name, "dtype": str(kind), "shape": []}
    shape = [dim if isinstance(dim, int) else str(dim) for dim in kind.shape]
    return {"name": name, "dtype": kind.dtype.name, "shape": shape}


def _readable(text: bytes | str) -> str:
    return text if isinstance(text, str) else text.decode(errors="replace")


def _mapped(path: Path) -> memoryview:
    """A file's bytes, mapped read-only; an empty one cannot be mapped."""
    with path.open("rb") as stream:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ))


if __name__ == "__main__":
    main()
