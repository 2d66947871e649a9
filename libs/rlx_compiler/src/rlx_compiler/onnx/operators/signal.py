"""Discrete Fourier transforms and what belongs to them."""

from __future__ import annotations

import numpy as np

from rlx_compiler.onnx.operators.arithmetic import Numbers
from rlx_compiler.onnx.operators.deciding import along_chosen
from rlx_compiler.onnx.operators.movement import block_shape, whole
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import dtype_of
from rlx_compiler.onnx.translation import Call, Value
from rlx_ir.ops.arithmetic import Mul
from rlx_ir.ops.fourier import Dft
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.reshape import Reshape, Unsqueeze

__all__: list[str] = []


@operator("DFT", since=20)
def dft(call: Call) -> Value:
    given, declared = call.optional(2), call.declared_shape()
    if given is not None and given.known is None and declared is not None:
        x = call[0]
        possible = [axis for axis in range(x.rank - 1) if _op(call, axis).infer(x.type)[0].shape == declared]
        if possible:
            return along_chosen(call, given, x.rank, possible, lambda axis: _transformed(call, axis))
    return _transformed(call, -2 if given is None else int(call.known(2, "the axis").item()))


@operator("DFT")
def dft_along_attribute(call: Call) -> Value:
    return _transformed(call, call.attribute("axis", 1))


def _op(call: Call, axis: int) -> Dft:
    length = None if call.optional(1) is None else int(call.known(1, "the length").item())
    inverse, onesided = bool(call.attribute("inverse", 0)), bool(call.attribute("onesided", 0))
    return Dft(axis, length, inverse, onesided)


def _transformed(call: Call, axis: int) -> Value:
    return call.apply(_op(call, axis), call[0])


@operator("STFT")
def stft(call: Call) -> Value:
    """Frames of the signal, `step` apart, each times the window, transformed. How far apart, a kernel can read; how
    many there are is then what the model declares."""
    signal, window, declared = call[0], call.optional(2), call.declared_shape()
    if call.optional(3) is not None:
        length = int(call.known(3, "the frame length").item())
    else:
        assert window is not None
        length = whole(window, 0)
    n = Numbers(call)
    if call[1].known is None and declared is not None:
        step, count = n.scalar(call[1]), declared[1]
    else:
        known = int(call.known(1, "the step").item())
        step, count = n.of(known), 1 + (whole(signal, 1) - length) // known
    places = n.add(n.mul(np.arange(count)[:, None], step), np.arange(length)[None, :])
    batch = block_shape(signal)[0]
    parts = 1 if signal.rank == 2 else whole(signal, 2)
    line = call.apply(Reshape((batch, whole(signal, 1), parts), True), signal)
    frames = call.apply(Gather(1), line, places)
    if window is not None:
        frames = call.apply(Mul(), frames, call.apply(Unsqueeze((1,)), window))
    return call.apply(Dft(2, None, False, bool(call.attribute("onesided", 1))), frames)


@operator("MelWeightMatrix")
def mel_weights(call: Call) -> Value:
    """Triangles over the spectrum, at equal distances on the mel scale; follows from numbers alone."""
    bins, length, rate = (int(call.known(place, "a size").item()) for place in range(3))
    low, high = (float(call.known(place, "an edge").item()) for place in (3, 4))
    first, last = (2595 * np.log10(1 + edge / 700) for edge in (low, high))
    edges = first + np.arange(bins + 2) * ((last - first) / (bins + 2))
    places = np.floor((length + 1) * (700 * (10 ** (edges / 2595) - 1)) / rate).astype(np.int64)
    weights = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        left, centre, right = places[i : i + 3]
        if centre == left:
            weights[centre, i] = 1
        else:
            weights[left : centre + 1, i] = (np.arange(left, centre + 1) - left) / (centre - left)
        if right > centre:
            weights[centre:right, i] = (right - np.arange(centre, right)) / (right - centre)
    return call.constant(weights.astype(dtype_of(call.attribute("output_datatype", 1)).numpy))
