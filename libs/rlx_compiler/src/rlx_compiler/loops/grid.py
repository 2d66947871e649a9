"""From the parallel loop of a kernel to the grid of a GPU: a thread for each of its iterations."""

from __future__ import annotations

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Body, Expr, For, If, Kernel, Let, Literal, Stmt, Var

__all__ = ["as_grid", "on_grid"]

_BLOCK, _THREAD = "block", "thread"


def on_grid(kernel: Kernel, threads: int) -> Kernel:
    """The kernel with its parallel loop spread over blocks of `threads` threads, neighbours beside each other.

    One without a parallel loop is done by a single thread.
    """
    loop = kernel.parallel
    if loop is None:
        return Kernel(kernel.name, kernel.params, as_grid(kernel.body, 1, 1)) if kernel.body else kernel
    assert isinstance(loop.start, Literal), "a parallel loop of a grid starts at a number"
    assert isinstance(loop.stop, Literal), "a parallel loop of a grid ends at a number"
    first, count = int(loop.start.value), -(-(int(loop.stop.value) - int(loop.start.value)) // loop.step)
    threads = max(1, min(threads, count))
    blocks = -(-count // threads)
    task: Expr = build.add(build.mul(Var(_BLOCK), threads), Var(_THREAD) if threads > 1 else build.index(0))
    body: Body = (Let(loop.var, build.add(build.mul(task, loop.step), first)), *loop.body)
    if count % threads:
        body = (If(build.less(task, count), body),)
    before = tuple(statement for statement in kernel.body if statement is not loop)
    return Kernel(kernel.name, kernel.params, (*before, *as_grid(body, blocks, threads)))


def as_grid(body: Body, blocks: int, threads: int, shared: tuple[Stmt, ...] = ()) -> Body:
    """The body run by every thread of a grid; it knows itself by `block` and `thread`."""
    inner = For(_THREAD, build.index(0), build.index(threads), body, 1, "thread")
    return (For(_BLOCK, build.index(0), build.index(blocks), (*shared, inner), 1, "block"),)
