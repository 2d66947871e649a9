"""The loop IR as text: what `--explain` shows, golden tests hold, and a person reads to see what a schedule did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rlx_base.dtypes import DType
from rlx_compiler.loops.ir import (
    Accumulator,
    Allocate,
    Apply,
    Assign,
    Barrier,
    Bitcast,
    Body,
    Broadcast,
    Buffer,
    Cast,
    Element,
    Expr,
    Fma,
    Fold,
    For,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Prefetch,
    Ramp,
    Select,
    Size,
    Store,
    Var,
)

__all__ = ["show", "show_expr", "type_name"]

_OPERATORS: Final = {
    "mul": ("*", 5),
    "div": ("/", 5),
    "floor_div": ("//", 5),
    "mod": ("%", 5),
    "add": ("+", 4),
    "sub": ("-", 4),
    "lt": ("<", 2),
    "le": ("<=", 2),
    "gt": (">", 2),
    "ge": (">=", 2),
    "eq": ("==", 2),
    "ne": ("!=", 2),
    "and": ("and", 1),
    "or": ("or", 0),
}
_ATOM: Final = 9
_KINDS: Final = {"serial": "for", "parallel": "parallel for", "unrolled": "unroll", "vector": "vector for"}


def type_name(dtype: DType, lanes: int = 1) -> str:
    """f32, i64, u8, bool; f32x16 for a vector."""
    name = dtype.name if dtype.kind == "bool" else f"{dtype.kind[0]}{dtype.bits}"
    return name if lanes == 1 else f"{name}x{lanes}"


def show(kernel: Kernel) -> str:
    """The whole kernel, with a newline at its end."""
    params = ", ".join(
        f"{'' if p.access == 'read' else p.access + ' '}{p.name}: {type_name(p.dtype)}{_shape(p)}"
        for p in kernel.params
    )
    return "\n".join([f"kernel {kernel.name}({params}):", *_lines(kernel.body, 1)]) + "\n"


def _shape(buffer: Buffer) -> str:
    return f"[{', '.join(str(dim) for dim in buffer.shape)}]"


def _lines(body: Body, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for statement in body:
        match statement:
            case Let(name, value):
                yield f"{pad}{name} = {show_expr(value)}"
            case Store(buffer, indices, value, stride, active):
                yield f"{pad}{_place(buffer, indices, value.lanes, stride, active)} = {show_expr(value)}"
            case Accumulator(name, dtype, lanes, shape, initial):
                start = "" if initial is None else f" = {show_expr(initial)}"
                tile = f"[{', '.join(map(str, shape))}]" if shape else ""
                yield f"{pad}{name}: {type_name(dtype, lanes)}{tile}{start}"
            case Assign(name, places, value):
                yield f"{pad}{_element(name, places)} = {show_expr(value)}"
            case Allocate(buffer):
                yield f"{pad}{buffer.space} {buffer.name}: {type_name(buffer.dtype)}{_shape(buffer)}"
            case For(var, start, stop, inner, step, kind):
                by = f" by {step}" if step != 1 else ""
                word = _KINDS.get(kind, f"{kind} for")
                yield f"{pad}{word} {var} in {show_expr(start)}..{show_expr(stop)}{by}:"
                yield from _lines(inner, depth + 1)
            case If(condition, then, otherwise):
                yield f"{pad}if {show_expr(condition)}:"
                yield from _lines(then, depth + 1)
                if otherwise:
                    yield f"{pad}else:"
                    yield from _lines(otherwise, depth + 1)
            case Barrier():
                yield f"{pad}barrier"
            case Prefetch(buffer, indices):
                yield f"{pad}prefetch {_place(buffer, indices, 1, 1, None)}"


def _element(name: str, places: Sequence[int | Expr]) -> str:
    inside = ", ".join(str(p) if isinstance(p, int) else show_expr(p) for p in places)
    return f"{name}[{inside}]" if places else name


def _place(buffer: Buffer, indices: Sequence[Expr], lanes: int, stride: int, active: Expr | None) -> str:
    parts = [show_expr(i) for i in indices]
    if lanes > 1:
        parts[-1] += f" : {lanes}" + (f" by {stride}" if stride != 1 else "")
    only = "" if active is None else f" (first {show_expr(active)})"
    return f"{buffer.name}[{', '.join(parts)}]{only}"


def show_expr(expr: Expr) -> str:
    """One expression."""
    return _show(expr)[0]


def _inside(expr: Expr, strength: int) -> str:
    text, own = _show(expr)
    return text if own >= strength else f"({text})"


def _show(expr: Expr) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    match expr:
        case Literal(value, dtype):
            plain = dtype.kind == "bool" or dtype.name in ("float32", "int64")
            text = str(value) if plain else f"{type_name(dtype)}({value})"
            return text, _ATOM if not text.startswith("-") else 6
        case Var(name):
            return name, _ATOM
        case Size(name):
            return f"size({name})", _ATOM
        case Load(buffer, indices, lanes, stride, active):
            return _place(buffer, indices, lanes, stride, active), _ATOM
        case Broadcast(value, lanes):
            return f"broadcast({show_expr(value)})", _ATOM
        case Ramp(start, lanes):
            return f"ramp({show_expr(start)}, {lanes})", _ATOM
        case Cast(value, dtype):
            return f"{type_name(dtype)}({show_expr(value)})", _ATOM
        case Bitcast(value, dtype):
            return f"bits_as_{type_name(dtype)}({show_expr(value)})", _ATOM
        case Apply(function, arguments):
            if function in _OPERATORS:
                sign, strength = _OPERATORS[function]
                left, right = arguments
                return f"{_inside(left, strength)} {sign} {_inside(right, strength + 1)}", strength
            return f"{function}({', '.join(map(show_expr, arguments))})", _ATOM
        case Fma(a, b, c):
            return f"fma({show_expr(a)}, {show_expr(b)}, {show_expr(c)})", _ATOM
        case Select(condition, then, otherwise):
            return f"select({show_expr(condition)}, {show_expr(then)}, {show_expr(otherwise)})", _ATOM
        case Fold(kind, value):
            return f"fold_{kind}({show_expr(value)})", _ATOM
        case Element(name, places):
            return _element(name, places), _ATOM
    raise TypeError(f"not an expression: {expr!r}")
