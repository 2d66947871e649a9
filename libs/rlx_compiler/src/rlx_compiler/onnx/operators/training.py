"""Steps of optimisers, which are plain arithmetic: ai.onnx.preview.training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.arithmetic import Add, Div, Mul, Pow, Sub
from rlx_ir.ops.comparison import Greater
from rlx_ir.ops.copying import Where
from rlx_ir.ops.functions import Sqrt

__all__: list[str] = []

DOMAIN = "ai.onnx.preview.training"


def _add(call: Call, a: Value, b: Value) -> Value:
    return call.apply(Add(), a, b)


def _scaled(call: Call, a: Value, factor: float) -> Value:
    return call.apply(Mul(), a, call.like(factor, a))


def _each(call: Call, kinds: int, step: Callable[..., tuple[Value, ...]]) -> list[Value]:
    """All tensors: the operands hold the first of each kind for all, then the second, …; so do the results."""
    count = (len(call.operands) - 2) // kinds
    results = [step(*(call[2 + kind * count + i] for kind in range(kinds))) for i in range(count)]
    return [result[kind] for kind in range(kinds - 1) for result in results]


@operator("Momentum", domain=DOMAIN)
def momentum(call: Call) -> list[Value]:
    """V = α·V + β·G, X = X − R·V; Nesterov's takes R·(G + α·V). β is 1 at the first step."""
    rate, time = call[0], call[1]
    alpha, beta, decay = call.attribute("alpha"), call.attribute("beta"), call.attribute("norm_coefficient")

    def step(x: Value, gradient: Value, v: Value) -> tuple[Value, ...]:
        g = _add(call, gradient, _scaled(call, x, decay))
        later = call.apply(Greater(), time, call.constant(np.int64(0)))
        adjusted = call.apply(Mul(), g, call.apply(Where(), later, call.like(beta, x), call.like(1, x)))
        new = _add(call, _scaled(call, v, alpha), adjusted)
        way = _add(call, g, _scaled(call, new, alpha)) if call.attribute("mode") == "nesterov" else new
        return call.apply(Sub(), x, call.apply(Mul(), rate, way)), new

    return _each(call, 3, step)


@operator("Adagrad", domain=DOMAIN)
def adagrad(call: Call) -> list[Value]:
    """H = H + G², X = X − r·G ÷ (√H + ε), r = R ÷ (1 + T·decay)."""
    epsilon, decay = call.attribute("epsilon", 1e-6), call.attribute("decay_factor", 0.0)

    def step(x: Value, gradient: Value, h: Value) -> tuple[Value, ...]:
        time = call.cast(call[1], x.type.dtype)
        slower = _add(call, call.like(1, x), _scaled(call, time, decay))
        rate = call.apply(Div(), call[0], slower)
        g = _add(call, gradient, _scaled(call, x, call.attribute("norm_coefficient", 0.0)))
        new = _add(call, h, call.apply(Mul(), g, g))
        way = call.apply(Div(), g, _add(call, call.apply(Sqrt(), new), call.like(epsilon, x)))
        return call.apply(Sub(), x, call.apply(Mul(), rate, way)), new

    return _each(call, 3, step)


@operator("Adam", domain=DOMAIN)
def adam(call: Call) -> list[Value]:
    """V = α·V + (1 − α)·G, H = β·H + (1 − β)·G², X = X − r·V ÷ (√H + ε), r = R·√(1 − βᵀ) ÷ (1 − αᵀ) after the start."""
    alpha, beta = call.attribute("alpha", 0.9), call.attribute("beta", 0.999)
    epsilon, decay = call.attribute("epsilon", 1e-6), call.attribute("norm_coefficient", 0.0)
    after = call.attribute("norm_coefficient_post", 0.0)

    def step(x: Value, gradient: Value, v: Value, h: Value) -> tuple[Value, ...]:
        g = _add(call, gradient, _scaled(call, x, decay))
        new_v = _add(call, _scaled(call, v, alpha), _scaled(call, g, 1 - alpha))
        new_h = _add(call, _scaled(call, h, beta), _scaled(call, call.apply(Mul(), g, g), 1 - beta))
        time = call.cast(call[1], x.type.dtype)

        def rest(base: float) -> Value:
            return call.apply(Sub(), call.like(1, x), call.apply(Pow(), call.like(base, x), time))

        warm = call.apply(Mul(), call[0], call.apply(Div(), call.apply(Sqrt(), rest(beta)), rest(alpha)))
        rate = call.apply(Where(), call.apply(Greater(), call[1], call.constant(np.int64(0))), warm, call[0])
        way = call.apply(Div(), new_v, _add(call, call.apply(Sqrt(), new_h), call.like(epsilon, x)))
        new_x = call.apply(Sub(), x, call.apply(Mul(), rate, way))
        return _scaled(call, new_x, 1 - after), new_v, new_h

    return _each(call, 4, step)
