"""A whole module as a program: groups become kernels, values get memory, constants are packed, equal kernels shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlx_base.dtypes import STRING
from rlx_compiler.convolution.alternative import Alternative
from rlx_compiler.convolution.choose import alternative
from rlx_compiler.fusion import Group
from rlx_compiler.loops.interpret import run_kernel
from rlx_compiler.loops.ir import Kernel
from rlx_compiler.loops.prepare import prepare
from rlx_compiler.loops.program import Argument, HostCall, Launch, PackedArray, Placed, Port, Program
from rlx_compiler.lowering.blocks import Blocks, NotShared, lower_blocks
from rlx_compiler.lowering.host import HostStep, plain_attributes
from rlx_compiler.lowering.kernels import Lowered, lower_stage
from rlx_compiler.lowering.packing import pack_array
from rlx_compiler.lowering.substitute import map_reads, reads
from rlx_compiler.lowering.views import viewed
from rlx_compiler.memory_plan import Life, aligned, place_values
from rlx_compiler.schedule.asked import NOTHING_ASKED, Asked, asked_of
from rlx_compiler.schedule.effort import FULL, Effort
from rlx_compiler.schedule.plan import Packing
from rlx_compiler.targets.spec import TargetSpec
from rlx_ir.elements import numpy_of
from rlx_ir.expr import Axis, Read, Tensor
from rlx_ir.layout import Layout
from rlx_ir.module import Module, Node
from rlx_ir.op import operand_names
from rlx_ir.schedule import NO_SCHEDULE
from rlx_ir.types import TensorType

__all__ = ["LoweredModule", "Step", "lower_module"]

_LARGEST_FOLDED = 1 << 14  # elements · terms of a stage that is computed at compile time, by the interpreter


@dataclass(frozen=True, slots=True)
class Step:
    """One launch to be: its lowered kernel, what it computes, what was asked of its schedule."""

    name: str
    lowered: Lowered
    ops: tuple[str, ...]
    asked: Asked


@dataclass(frozen=True, slots=True)
class LoweredModule:
    """The program, its steps in order, and each kernel as scheduled (before `prepare`), for people."""

    program: Program
    steps: tuple[Step, ...]
    nests: Mapping[str, Kernel]
    views: Mapping[str, str] = field(default_factory=dict)


def lower_module(module: Module, groups: Sequence[Group], spec: TargetSpec, effort: Effort = FULL) -> LoweredModule:
    """The program of a module whose shapes are all numbers."""
    return _Lowering(module, groups, spec, effort).program()


class _Lowering:
    def __init__(self, module: Module, groups: Sequence[Group], spec: TargetSpec, effort: Effort) -> None:
        self.module, self.groups, self.spec, self.effort = module, groups, spec, effort
        self.order: list[Step | HostStep] = []
        self.types: dict[str, Tensor] = {}
        self.layouts: dict[str, Layout | None] = {}
        self.views: dict[str, str] = {}
        self.stored: dict[str, str] = {}  # an input and its copy in another order
        self.constants: dict[str, NDArray[Any]] = {}
        self.ports: dict[str, Argument] = {}
        self.kernels: dict[tuple[object, ...], Kernel] = {}
        self.nests: dict[str, Kernel] = {}

    def program(self) -> LoweredModule:
        for place, value in enumerate(self.module.inputs):
            self._know(value.name, None)
            self.ports[value.name] = Argument("input", place)
        for constant in self.module.constants:
            self._know(constant.name, None)
            self.constants[constant.name] = constant.array()
        for node in self.module.nodes:
            for result in node.results:
                self._know(result.name, _own_order(result.tensor))
        self._store_inputs()
        for group in self.groups:
            self._lower_group(group)
        self._give_outputs()
        return self._placed()

    def _know(self, name: str, layout: Layout | None) -> None:
        type = self.module.tensor(name)
        self.types[name] = Tensor(name, type.shape, type.dtype)
        self.layouts[name] = layout

    # --- inputs and outputs: logical order outside, any order inside

    def _store_inputs(self) -> None:
        """Inputs arrive in logical order. One that is declared in another is copied, unless few channels are only
        read one at a time, as by an image's first convolution."""
        for value in self.module.inputs:
            layout = _own_order(value.tensor)
            if layout is None or self._read_in_place(value.name):
                continue
            stored = f"{value.name}.stored"
            self.types[stored] = replace(self.types[value.name], name=stored)
            self.layouts[stored] = layout
            self.stored[value.name] = stored
            self._copy(value.name, stored)
            self.groups = [self._reading(group, value.name, stored) for group in self.groups]

    def _read_in_place(self, name: str) -> bool:
        readers = [node for node in self.module.nodes if name in node.operands]
        return (
            bool(readers)
            and all(
                node.op.name == "conv2d" and node.operands[0] == name and getattr(node.op, "groups", 1) == 1
                for node in readers
            )
            and self.types[name].shape[1] in range(16)
        )

    def _reading(self, group: Group, old: str, new: str) -> Group:
        def moved(read: Read) -> Read:
            return Read(replace(read.tensor, name=new), read.indices) if read.tensor.name == old else read

        stages: list[Tensor] = []
        for stage in group.stages:
            assert stage.body is not None
            stages.append(replace(stage, body=map_reads(stage.body, moved)))
        return replace(group, stages=stages)

    def _copy(self, source: str, target: str) -> None:
        """A kernel that only changes the order in memory."""
        read = self.types[source]
        axes = tuple(Axis(f"dim{place}", size) for place, size in enumerate(read.shape))
        stage = Tensor(target, read.shape, read.dtype, axes, Read(read, axes))
        self._lower(stage, "copy", target, ("copy",), {source: "input"}, NOTHING_ASKED)

    def _give_outputs(self) -> None:
        """Each output is written by what computes it, where that is possible; otherwise it is copied there."""
        for place, output in enumerate(self.module.outputs):
            where = Argument("output", place)
            root = self._root(output.value)
            computed = root in self._computed()
            plain = self.layouts[output.value] is None and self.layouts[root] is None
            if computed and plain and root not in self.ports:
                self.ports[root] = where
                continue
            port = f"output.{output.name}"
            self.types[port] = replace(self.types[output.value], name=port)
            self.layouts[port] = None
            self.ports[port] = where
            self._copy(output.value, port)

    def _computed(self) -> set[str]:
        found = {step.lowered.values[-1] for step in self.order if isinstance(step, Step)}
        return found | {r.name for step in self.order if isinstance(step, HostStep) for r in step.node.results}

    def _root(self, name: str) -> str:
        while name in self.views:
            name = self.views[name]
        return name

    # --- kernels

    def _add_host_step(self, node: Node) -> None:
        """Its operands in logical order: one that is stored in another is copied."""
        operands: list[str | None] = []
        for name in node.operands:
            if name is not None and self.layouts[name] is not None:
                plain = f"{name}.for.{node.name}"
                self.types[plain] = replace(self.types[name], name=plain)
                self.layouts[plain] = None
                self._copy(name, plain)
                operands.append(plain)
            else:
                operands.append(name)
        for result in node.results:
            self.layouts[result.name] = None
        self.order.append(HostStep(node, tuple(operands)))

    def _lower_group(self, group: Group) -> None:
        if not group.stages:
            self._add_host_step(group.nodes[0])
            return
        names = self._param_names(group)
        scheduled = next((node for node in group.nodes if node.schedule != NO_SCHEDULE), None)
        asked = NOTHING_ASKED
        if scheduled is not None:
            operands = self.module.operand_types(scheduled)
            asked = asked_of(scheduled.op, operands, [r.tensor for r in scheduled.results], scheduled.schedule)
        values = {result.name for node in group.nodes for result in node.results}
        if group.blocks is not None:
            try:
                self._lower_blocks(group, group.blocks, {**names})
            except NotShared:
                pass
            else:
                return
        for place, stage in enumerate(group.stages):
            last = stage.name in values
            if not last:
                self.types[stage.name] = Tensor(stage.name, stage.shape, stage.dtype)
                self.layouts[stage.name] = None
                names[stage.name] = _unique(stage.name.rpartition(".")[2], names)
            source = viewed(stage, self.layouts)
            if source is not None and last:
                self.views[stage.name] = source
                continue
            own = "" if len(group.stages) == 1 else f"_{place + 1}"
            ops = tuple(node.op.name for node in group.nodes)
            self._lower(stage, f"{group.name}{own}", stage.name, ops, names, asked)
            names.setdefault(stage.name, _unique(stage.name, names))

    def _lower_blocks(self, group: Group, blocks: Blocks, names: dict[str, str]) -> None:
        """All stages as one kernel; values between them have no memory but the kernel's own."""
        given = {result.name: node.op.name for node in group.nodes for result in node.results}
        for stage in group.stages[:-1]:
            names[stage.name] = _unique(given.get(stage.name, stage.name.rpartition(".")[2]), names)
        names[group.stages[-1].name] = _unique("output", names)
        read = {one.tensor.name for stage in group.stages if stage.body is not None for one in reads(stage.body)}
        params = {value: name for value, name in names.items() if value in read or value == group.stages[-1].name}
        lowered = lower_blocks(group.stages, blocks, group.name, self.layouts, params, self.spec, self.effort)
        ops = tuple(node.op.name for node in group.nodes)
        self.order.append(Step(group.stages[-1].name, lowered, ops, NOTHING_ASKED))

    def _param_names(self, group: Group) -> dict[str, str]:
        """Parameters are called what the first op that reads them calls them."""
        names: dict[str, str] = {}
        for node in group.nodes:
            for operand, name in zip(node.operands, operand_names(node.op, len(node.operands)), strict=True):
                if operand is not None and operand not in names:
                    names[operand] = _unique(name, names)
        for value, stored in self.stored.items():
            if value in names:
                names[stored] = names[value]
        inside = {stage.name for stage in group.stages}
        for stage in group.stages:
            for read in [] if stage.body is None else reads(stage.body):
                # What is read through a move is no operand. It has a name that every such kernel gives it, since
                # equal kernels are one function.
                if read.tensor.name not in inside:
                    names.setdefault(read.tensor.name, _unique("source", names))
        return names

    def _lower(
        self,
        stage: Tensor,
        name: str,
        launch: str,
        ops: tuple[str, ...],
        names: Mapping[str, str],
        asked: Asked,
    ) -> None:
        params = {**names}
        params[stage.name] = _unique("output", {k: v for k, v in names.items() if k != stage.name})
        free = {value for value in names if value in self.constants}
        weighed: tuple[str, ...] = ()
        if self.effort.algorithms and asked == NOTHING_ASKED and self.spec.threads_per_block is None:
            found, weighed = alternative(stage, self.layouts, params, self.constants, self.spec)
            if found is not None:
                self._take(found, launch, ops, weighed)
                return
        lowered = lower_stage(stage, name, self.layouts, params, free, self.spec, asked, self.effort)
        lowered = replace(lowered, reasons=(*weighed, *lowered.reasons))
        if len(lowered.values) == 1 and self._fold(lowered):
            return
        if lowered.kernel.body:
            self.order.append(Step(launch, lowered, ops, asked))

    def _take(self, found: Alternative, launch: str, ops: tuple[str, ...], weighed: tuple[str, ...]) -> None:
        """The kernels of an algorithm in place of the generic one."""
        for value in found.values:
            self.types[value.name], self.layouts[value.name] = value, None
        for own, elements in found.constants.items():
            self.constants[own] = elements
            self.types[own], self.layouts[own] = Tensor(own, elements.shape, self.types[launch].dtype), None
        for place, (end, lowered) in enumerate(found.kernels):
            reasons = (*weighed, *found.reasons, *lowered.reasons) if place == 0 else lowered.reasons
            part = ops if not end else (f"{ops[0]}{end}",)
            self.order.append(Step(f"{launch}{end}", replace(lowered, reasons=reasons), part, NOTHING_ASKED))

    def _fold(self, lowered: Lowered) -> bool:
        """Compute now what depends on no input. False where that would take long."""
        (name,) = lowered.values
        tensor = self.types[name]
        if lowered.flops > _LARGEST_FOLDED or self.layouts[name] is not None or name in self.ports:
            return False
        count = int(np.prod([size for size in tensor.shape if isinstance(size, int)]))
        if count > _LARGEST_FOLDED:
            return False
        elements = np.zeros(count, numpy_of(tensor.dtype))
        run_kernel(lowered.kernel, {lowered.kernel.params[0].name: elements})
        self.constants[name] = elements.reshape([size for size in tensor.shape if isinstance(size, int)])
        return True

    # --- memory

    def _placed(self) -> LoweredModule:
        lives = self._lives()
        offsets, workspace = place_values(lives)
        weights: dict[tuple[str, Packing | None], PackedArray] = {}
        weights_bytes = 0
        launches: list[Launch] = []
        calls: list[HostCall] = []
        slots: dict[str, int] = {}

        def argument(value: str, packing: Packing | None) -> Argument:
            nonlocal weights_bytes
            root = self._root(value)
            if root in self.ports:
                return self.ports[root]
            if root not in self.constants:
                return Argument("workspace", offsets[root])
            key = (root, packing)
            if key not in weights:
                packed = pack_array(self.constants[root], packing)
                weights[key] = PackedArray(root, weights_bytes, packed)
                weights_bytes += aligned(packed.nbytes)
            return Argument("weights", weights[key].offset)

        def placed(value: str) -> Placed:
            tensor, root = self.types[value], self._root(value)
            if tensor.dtype == STRING and root not in self.ports:
                return Placed("texts", slots.setdefault(root, len(slots)), tensor.dtype, tensor.shape)
            where = argument(value, None)
            return Placed(where.region, where.position, tensor.dtype, tensor.shape)

        for step in self.order:
            if isinstance(step, HostStep):
                operands = tuple(None if name is None else placed(name) for name in step.operands)
                results = tuple(placed(result.name) for result in step.node.results)
                op = step.node.op
                calls.append(HostCall(len(launches), op.name, plain_attributes(op), operands, results))
                continue
            arguments = [
                argument(value, packing)
                for value, packing in zip(step.lowered.values, step.lowered.packings, strict=True)
            ]
            kernel = self._shared(step.lowered.kernel)
            lowered = step.lowered
            launches.append(Launch(step.name, kernel.name, tuple(arguments), step.ops, lowered.flops, lowered.bytes))
        program = Program(
            self.module.name,
            tuple(self.kernels.values()),
            tuple(launches),
            tuple(Port(v.name, v.tensor.dtype, v.tensor.shape) for v in self.module.inputs),
            tuple(self._port(output.name, output.value) for output in self.module.outputs),
            tuple(weights.values()),
            weights_bytes,
            workspace,
            host=tuple(calls),
        )
        steps = tuple(step for step in self.order if isinstance(step, Step))
        return LoweredModule(program, steps, self.nests, self.views)

    def _port(self, name: str, value: str) -> Port:
        type = self.module.tensor(value)
        return Port(name, type.dtype, type.shape)

    def _shared(self, kernel: Kernel) -> Kernel:
        """The kernel that the program has for this nest, prepared; equal nests are one function."""
        key = (kernel.params, kernel.body)
        if key not in self.kernels:
            named = replace(kernel, name=_unique(kernel.name, {k: k for k in self.nests}))
            self.nests[named.name] = named
            self.kernels[key] = prepare(named)
        return self.kernels[key]

    def _lives(self) -> list[Life]:
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for place, step in enumerate(self.order):
            for value in step.lowered.values if isinstance(step, Step) else step.values:
                root = self._root(value)
                texts = self.types[root].dtype == STRING
                if root not in self.ports and root not in self.constants and not texts:
                    first.setdefault(root, place)
                    last[root] = place
        return [Life(name, self._bytes(name), start, last[name]) for name, start in first.items()]

    def _bytes(self, name: str) -> int:
        tensor, layout = self.types[name], self.layouts[name]
        shape = tensor.shape if layout is None else layout.stored_shape(tensor.shape)
        return int(np.prod([size for size in shape if isinstance(size, int)])) * tensor.dtype.itemsize


def _own_order(type: TensorType) -> Layout | None:
    """The layout, where it is another order of the elements: with one row and one column, NHWC is NCHW."""
    if type.layout is None or type.layout.blocks:
        return type.layout
    axes = [dim.axis for dim in type.layout.physical if type.shape[dim.axis] != 1]
    return None if axes == sorted(axes) else type.layout


def _unique(name: str, taken: Mapping[str, str]) -> str:
    used, fresh, count = set(taken.values()), name, 1
    while fresh in used:
        count += 1
        fresh = f"{name}_{count}"
    return fresh
