"""A sum that several threads of a block take together: each some of its terms, then a tree in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rlx_compiler.loops import build
from rlx_compiler.loops.ir import Barrier, Buffer, Expr, For, If, Let, Load, Stmt, Store, Var
from rlx_compiler.lowering.leaf import Group
from rlx_compiler.lowering.sums import Sums, combine
from rlx_compiler.lowering.values import computed
from rlx_ir.expr import Reduce

__all__ = ["SharedSums"]

_THREAD = Var("thread")


@dataclass(frozen=True)
class SharedSums:
    """`threads` of the block's `all_threads` (numbers `stride` apart) share the terms along `axis`; this one is number
    `own` of them. `share` declares shared memory."""

    sums: Sums
    axis: str
    own: Expr
    threads: int
    stride: int
    all_threads: int
    share: Callable[[Buffer], None]

    def fill(self, reduce: Reduce, name: str) -> tuple[list[Stmt], Callable[[Group], Expr]]:
        """The statements that compute the reduction, and what stands for it after them, in every thread."""
        (group,) = self.sums.tile.groups
        (axis,) = [axis for axis in reduce.axes if axis.name == self.axis]
        size = axis.extent
        assert isinstance(size, int)
        partial, var = self.sums.fresh(name), self.sums.fresh(self.axis)
        statements: list[Stmt] = [self.sums.declare(partial, reduce, group)]
        scope = self.sums.scope.variable(var, 0, size - 1)
        body = replace(self.sums, scope=scope).along(reduce, {group: partial}, (axis, Var(var)))
        statements.append(For(var, self.own, build.index(size), tuple(body), self.threads))
        memory = Buffer(
            self.sums.fresh(f"{name}_shared"), computed(reduce.dtype), (self.all_threads,), "shared", "update"
        )
        self.share(memory)
        statements += [Store(memory, (_THREAD,), self.sums.element(partial, group, reduce)), Barrier()]
        step = self.threads // 2
        while step:
            other = Load(memory, (build.add(_THREAD, step * self.stride),))
            more = Store(memory, (_THREAD,), combine(reduce.kind, Load(memory, (_THREAD,)), other))
            statements += [If(build.less(self.own, step), (more,)), Barrier()]
            step //= 2
        result = self.sums.fresh(name)
        first = build.sub(_THREAD, build.mul(self.own, self.stride))
        statements.append(Let(result, Load(memory, (first,))))
        return statements, lambda _: Var(result, computed(reduce.dtype))
