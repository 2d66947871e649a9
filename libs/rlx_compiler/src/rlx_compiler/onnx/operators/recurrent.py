"""RNN, GRU and LSTM: unrolled over their time steps, as the equations of the standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.operators.movement import whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.ops import activation, functions
from rlx_ir.ops.arithmetic import Add, Mul, Sub
from rlx_ir.ops.comparison import Less
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather, ReverseSequence
from rlx_ir.ops.matmul import MatMul
from rlx_ir.ops.permutation import Concat, Slice, Split, Transpose
from rlx_ir.ops.reshape import Expand, Unsqueeze

__all__: list[str] = []

# Longer sequences would make modules that no one can read or compile.
MAX_STEPS: Final = 1024

Function = Callable[[Value], Value]


@dataclass(frozen=True)
class _Cell:
    """One direction of one layer: what a step needs, and how a step goes.

    `gates` is how many gates the weights hold; `step` gives the new state (h, or h and c) from x·W, and the old one.
    """

    call: Call
    hidden: int
    functions: Sequence[Function]
    weight: Value
    recurrence: Value
    bias_input: Value | None
    bias_recurrence: Value | None
    peepholes: Sequence[Value]

    def op(self, kind: type[Add] | type[Mul] | type[Sub], a: Value, b: Value) -> Value:
        return self.call.apply(kind(), a, b)

    def product(self, x: Value, matrix: Value, bias: Value | None) -> Value:
        y = self.call.apply(MatMul(), x, matrix)
        return y if bias is None else self.op(Add, y, bias)

    def gates(self, y: Value, count: int) -> tuple[Value, ...]:
        return self.call.apply_all(Split(1, (self.hidden,) * count), y)


def _activations(call: Call, directions: int, default: Sequence[str]) -> list[list[Function]]:
    """The functions of each direction; alphas and betas go to those that take some, in order."""
    names = call.attribute("activations") or [*default] * directions
    names = [name.decode() if isinstance(name, bytes) else name for name in names]
    alphas, betas = list(call.attribute("activation_alpha") or []), list(call.attribute("activation_beta") or [])
    limit = call.attribute("clip")
    made: list[Function] = []
    for name in names:
        made.append(_clipped(call, _activation(call, name.lower(), alphas, betas), limit))
    each = len(default)
    return [made[i * each : (i + 1) * each] for i in range(directions)]


def _activation(call: Call, name: str, alphas: list[float], betas: list[float]) -> Function:
    plain = {
        "tanh": functions.Tanh,
        "sigmoid": activation.Sigmoid,
        "relu": activation.Relu,
        "softplus": activation.Softplus,
    }
    if name in plain:
        return lambda x: call.apply(plain[name](), x)
    if name == "leakyrelu":
        slope = alphas.pop(0) if alphas else 0.01
        return lambda x: call.apply(activation.LeakyRelu(slope), x)
    if name == "hardsigmoid":
        a, b = alphas.pop(0) if alphas else 0.2, betas.pop(0) if betas else 0.5
        return lambda x: call.apply(activation.HardSigmoid(a, b), x)
    if name == "elu":
        slope = alphas.pop(0) if alphas else 1.0
        return lambda x: call.apply(activation.Elu(slope), x)
    if name == "affine":
        a, b = alphas.pop(0) if alphas else 1.0, betas.pop(0) if betas else 0.0
        return lambda x: call.apply(Add(), call.apply(Mul(), x, call.like(a, x)), call.like(b, x))
    raise Unsupported(f"activation {name}")


def _clipped(call: Call, function: Function, limit: float | None) -> Function:
    if limit is None:
        return function
    return lambda x: function(call.apply(activation.Clip(-limit, limit), x))


Step = Callable[[_Cell, Value, list[Value]], list[Value]]


def _run(call: Call, gates: int, default: Sequence[str], step: Step, states: int) -> list[Value | None]:
    """All directions over all steps: the sequence of h, and the last state."""
    x = call[0]
    batch_first = bool(call.attribute("layout", 0))
    if batch_first:
        x = call.apply(Transpose((1, 0, 2)), x)
    length, batch = whole(x, 0), whole(x, 1)
    hidden = call.attribute("hidden_size") or whole(call[2], -1)
    direction = call.attribute("direction", "forward")
    count = 2 if direction == "bidirectional" else 1
    if length > MAX_STEPS:
        raise Unsupported(f"a sequence of {length} steps; up to {MAX_STEPS} are unrolled")
    lengths = call.optional(4)
    chosen = _activations(call, count, default)
    starts = [call.optional(5 + place) for place in range(states)]
    sequences: list[Value] = []
    lasts: list[list[Value]] = [[] for _ in range(states)]
    for one in range(count):
        backwards = direction == "reverse" or one == 1
        cell = _cell(call, one, gates, hidden, chosen[one], states)
        given = x if not backwards else _reversed(call, x, lengths)
        state = [_initial(call, start, one, batch, hidden, batch_first) for start in starts]
        rows = []
        for place in range(length):
            at = call.apply(Gather(0), given, call.constant(np.int64(place)))
            new = step(cell, cell.product(at, cell.weight, cell.bias_input), state)
            if lengths is not None:
                inside = call.apply(Less(), call.constant(np.int64(place)), call.cast(lengths, INT64))
                inside = call.apply(Unsqueeze((1,)), inside)
                kept = [call.apply(Where(), inside, a, b) for a, b in zip(new, state, strict=True)]
                rows.append(call.apply(Where(), inside, new[0], call.like(0, new[0])))
                state = kept
            else:
                rows.append(new[0])
                state = new
        stacked = [call.apply(Unsqueeze((0,)), row) for row in rows]
        sequence = stacked[0] if length == 1 else call.apply(Concat(0), *stacked)
        sequences.append(_reversed(call, sequence, lengths) if backwards else sequence)
        for last, value in zip(lasts, state, strict=True):
            last.append(value)
    axis = 2 if batch_first else 1
    wide = [call.apply(Transpose((1, 0, 2)), one) if batch_first else one for one in sequences]
    y = _joined(call, [call.apply(Unsqueeze((axis,)), one) for one in wide], axis)
    state_axis = 1 if batch_first else 0
    ends = [_joined(call, [call.apply(Unsqueeze((state_axis,)), v) for v in last], state_axis) for last in lasts]
    return [y, *ends]


def _joined(call: Call, values: list[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else call.apply(Concat(axis), *values)


def _reversed(call: Call, x: Value, lengths: Value | None) -> Value:
    if lengths is None:
        return call.apply(Slice((None,), (None,), (0,), (-1,)), x)
    return call.apply(ReverseSequence(1, 0), x, call.cast(lengths, INT64))


def _initial(call: Call, start: Value | None, one: int, batch: int, hidden: int, batch_first: bool) -> Value:
    if start is None:
        return call.apply(Expand((batch, hidden)), call.like(0, call[0]))
    return call.apply(Gather(1 if batch_first else 0), start, call.constant(np.int64(one)))


def _cell(call: Call, one: int, gates: int, hidden: int, chosen: list[Function], states: int) -> _Cell:
    def of_direction(place: int) -> Value | None:
        value = call.optional(place)
        return None if value is None else call.apply(Gather(0), value, call.constant(np.int64(one)))

    weight, recurrence, bias = of_direction(1), of_direction(2), of_direction(3)
    assert weight is not None
    assert recurrence is not None
    halves: tuple[Value | None, ...] = (None, None)
    if bias is not None:
        halves = call.apply_all(Split(0, (gates * hidden,) * 2), bias)
    peepholes = of_direction(7) if states == 2 else None
    return _Cell(
        call,
        hidden,
        chosen,
        call.apply(Transpose(), weight),
        call.apply(Transpose(), recurrence),
        halves[0],
        halves[1],
        () if peepholes is None else call.apply_all(Split(0, (hidden,) * 3), peepholes),
    )


@operator("RNN")
def rnn(call: Call) -> list[Value | None]:
    """h = f(x·Wᵀ + h·Rᵀ + b)."""

    def step(cell: _Cell, x: Value, state: list[Value]) -> list[Value]:
        return [cell.functions[0](cell.op(Add, x, cell.product(state[0], cell.recurrence, cell.bias_recurrence)))]

    return _run(call, 1, ("Tanh",), step, 1)


@operator("GRU")
def gru(call: Call) -> list[Value | None]:
    """h = (1 − z) ∘ ĥ + z ∘ h with z, r = f(x·Wᵀ + h·Rᵀ + b) and ĥ = g(x·Wᵀ + (r ∘ h)·Rᵀ + b), or r ∘ (h·Rᵀ + b) with
    `linear_before_reset`."""
    after = bool(call.attribute("linear_before_reset", 0))

    def step(cell: _Cell, x: Value, state: list[Value]) -> list[Value]:
        (h,) = state
        xs = cell.gates(x, 3)
        matrices = call.apply_all(Split(1, (cell.hidden,) * 3), cell.recurrence)
        biases: Sequence[Value | None] = (None,) * 3
        if cell.bias_recurrence is not None:
            biases = call.apply_all(Split(0, (cell.hidden,) * 3), cell.bias_recurrence)
        z = cell.functions[0](cell.op(Add, xs[0], cell.product(h, matrices[0], biases[0])))
        r = cell.functions[0](cell.op(Add, xs[1], cell.product(h, matrices[1], biases[1])))
        if after:
            recalled = cell.op(Mul, r, cell.product(h, matrices[2], biases[2]))
        else:
            recalled = cell.product(cell.op(Mul, r, h), matrices[2], biases[2])
        candidate = cell.functions[1](cell.op(Add, xs[2], recalled))
        kept = cell.op(Sub, call.like(1, z), z)
        return [cell.op(Add, cell.op(Mul, kept, candidate), cell.op(Mul, z, h))]

    return _run(call, 3, ("Sigmoid", "Tanh"), step, 1)


@operator("LSTM")
def lstm(call: Call) -> list[Value | None]:
    """i, o, f, ĉ from x·Wᵀ + h·Rᵀ + b, with peepholes to c; c = f ∘ c + i ∘ ĉ; h = o ∘ tanh(c)."""
    coupled = bool(call.attribute("input_forget", 0))

    def step(cell: _Cell, x: Value, state: list[Value]) -> list[Value]:
        h, c = state
        i, o, f, g = cell.gates(cell.op(Add, x, cell.product(h, cell.recurrence, cell.bias_recurrence)), 4)
        first, second, third = cell.functions
        if cell.peepholes:
            i = cell.op(Add, i, cell.op(Mul, cell.peepholes[0], c))
            f = cell.op(Add, f, cell.op(Mul, cell.peepholes[2], c))
        i = first(i)
        f = cell.op(Sub, call.like(1, i), i) if coupled else first(f)
        new = cell.op(Add, cell.op(Mul, f, c), cell.op(Mul, i, second(g)))
        if cell.peepholes:
            o = cell.op(Add, o, cell.op(Mul, cell.peepholes[1], new))
        return [cell.op(Mul, first(o), third(new)), new]

    return _run(call, 4, ("Sigmoid", "Tanh", "Tanh"), step, 2)
