"""`rlx.jit`: traces a function once for each kind of arguments, and runs what was compiled."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from rlx.compiling import compile, module_of
from rlx.tracing import trees
from rlx.tracing.places import locate
from rlx.tracing.trace import Trace
from rlx.tracing.tracer import Tracer
from rlx_base.errors import CompileError, RlxError
from rlx_compiler import CompileResult
from rlx_compiler.explain import explanation
from rlx_ir.module import Module
from rlx_runtime import InProcessModel
from rlx_runtime import load as load_bundle

__all__ = ["JitFunction", "jit"]


@dataclass(frozen=True, slots=True)
class _Traced:
    """The module of one kind of arguments. `shape` rebuilds what the function returned from the outputs."""

    module: Module
    inputs: tuple[str, ...]
    outputs: trees.Tree


@dataclass(frozen=True, slots=True)
class _Ready:
    traced: _Traced
    result: CompileResult
    model: InProcessModel


class JitFunction:
    """A function over NumPy arrays, compiled for a target. Calls give what the function gives, within rounding.

    Arrays (also inside lists, tuples and dicts) are traced: the function runs once for each combination of shapes and
    dtypes. Everything else is taken as it is, and a new value traces anew. `ir` and `explain()` tell of the latest
    call; a jitted function inside another one becomes part of it.
    """

    def __init__(self, function: Callable[..., Any], target: str, opt_level: int, threads: int | None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._target, self._opt_level, self._threads = target, opt_level, threads
        self._traced: dict[Any, _Traced] = {}
        self._ready: dict[Any, _Ready] = {}
        self._latest: Any = None
        self._lock = threading.RLock()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """One call. Raises E221 and E222 for what cannot be traced, at its line in the function's file."""
        given = self._arguments(arguments, named)
        leaves = trees.leaves(given)
        if any(isinstance(leaf, Tracer) for _, leaf in leaves):
            return self._function(*arguments, **named)
        ready = self._compiled(given)
        arrays = [leaf for _, leaf in leaves if trees.is_array(leaf)]
        outputs = ready.model.run(dict(zip(ready.traced.inputs, arrays, strict=True)))
        return trees.filled(ready.traced.outputs, {name: array[()] for name, array in outputs.items()})

    def trace(self, *arguments: Any, **named: Any) -> Module:
        """The module of a call with these arguments; nothing is compiled."""
        given = self._arguments(arguments, named)
        with self._lock:
            return self._trace(given).module

    @property
    def ir(self) -> Module:
        """The module of the latest call. Raises E223 before the first."""
        return self._known().module

    def explain(self) -> str:
        """What the compiler decided for the latest call, and why. Raises E223 before the first."""
        self._known()
        with self._lock:
            ready = self._ready.get(self._latest) or self._build(self._latest)
        return explanation(ready.result.report)

    def __repr__(self) -> str:
        return f"<rlx.jit {self.__name__}{self._signature} for {self._target}>"  # type: ignore[attr-defined]

    def _known(self) -> _Traced:
        if self._latest is None:
            raise CompileError("E223", name=getattr(self._function, "__name__", "the function"))
        return self._traced[self._latest]

    def _arguments(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*arguments, **named)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _compiled(self, given: dict[str, Any]) -> _Ready:
        key = trees.kind_of(given)
        with self._lock:
            if key not in self._ready:
                self._trace(given)
            self._latest = key
            return self._ready.get(key) or self._build(key)

    def _build(self, key: Any) -> _Ready:
        traced = self._traced[key]
        result = compile(traced.module, target=self._target, opt_level=self._opt_level)
        ready = self._ready[key] = _Ready(traced, result, load_bundle(result.directory, self._threads))
        return ready

    def _trace(self, given: dict[str, Any]) -> _Traced:
        key = trees.kind_of(given)
        if key not in self._traced:
            self._traced[key] = self._traced_anew(given)
        self._latest = key
        return self._traced[key]

    def _traced_anew(self, given: dict[str, Any]) -> _Traced:
        name = getattr(self._function, "__name__", "")
        trace = Trace(name if name.isidentifier() and name not in ("rlx", "np") else "traced")
        inputs: list[str] = []

        def declare(path: str, leaf: Any) -> Any:
            if not trees.is_array(leaf):
                return leaf
            tracer = trace.input(path, leaf)
            inputs.append(tracer.name)
            return tracer

        bound = inspect.BoundArguments(self._signature, trees.mapped(given, declare))
        try:
            returned = self._function(*bound.args, **bound.kwargs)
        except RlxError as error:
            raise locate(error) from None
        outputs = _returned(trace, returned, set(inputs))
        return _Traced(trace.builder.build(), tuple(inputs), outputs)


def _returned(trace: Trace, returned: Any, inputs: set[str]) -> trees.Tree:
    """What the function returned, each traced array replaced by the name of an output."""
    found = [leaf for _, leaf in trees.leaves(returned, "output") if isinstance(leaf, Tracer)]
    if not found:
        raise locate(CompileError("E222", name="a function that returns no traced array", why=""))
    seen: set[str] = set(inputs) | {constant.name for constant in trace.builder.build().constants}
    names: set[str] = set()

    def output(path: str, leaf: Any) -> Any:
        if not isinstance(leaf, Tracer):
            return leaf
        if leaf.name in seen:  # an output is a value of its own
            leaf = trace.apply("identity", leaf)
        seen.add(leaf.name)
        name = path
        while name in names:
            name += "_"
        names.add(name)
        trace.builder.output(name, leaf.name)
        return trees.Hole(name)

    return trees.mapped(returned, output, "output")


@overload
def jit(function: Callable[..., Any], /) -> JitFunction: ...


@overload
def jit(
    *, target: str = "llvm", opt_level: int = 3, threads: int | None = None
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    target: str = "llvm",
    opt_level: int = 3,
    threads: int | None = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Compile a function over NumPy arrays: `@rlx.jit`, or `@rlx.jit(target="c", threads=1)`."""
    if function is not None:
        return JitFunction(function, target, opt_level, threads)
    return lambda function: JitFunction(function, target, opt_level, threads)


module_of.register(JitFunction)(lambda model: model.ir)
