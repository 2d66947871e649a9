"""Operators of ai.onnx.ml and of text: tables and trees, as comparisons and sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlx_base.dtypes import INT64
from rlx_compiler.onnx.registry import operator
from rlx_compiler.onnx.tensors import array_of
from rlx_compiler.onnx.translation import Call, Unsupported, Value
from rlx_ir.op import Op
from rlx_ir.ops.activation import Sigmoid
from rlx_ir.ops.arithmetic import Add, Mul
from rlx_ir.ops.comparison import (
    Equal,
    Greater,
    GreaterOrEqual,
    IsNaN,
    Less,
    LessOrEqual,
    LogicalNot,
    LogicalOr,
    NotEqual,
)
from rlx_ir.ops.copying import Where
from rlx_ir.ops.indexing import Gather
from rlx_ir.ops.matmul import MatMul
from rlx_ir.ops.reduction import ReduceMax, ReduceMin, ReduceSum
from rlx_ir.ops.reshape import Reshape, Unsqueeze
from rlx_ir.ops.selection import ArgMax
from rlx_ir.ops.softmax import Softmax
from rlx_ir.ops.text import TextAt, TextIndex

__all__: list[str] = []

ML = "ai.onnx.ml"
_COMPARISONS: list[type[Op]] = [LessOrEqual, Less, GreaterOrEqual, Greater, Equal, NotEqual]
_MEMBER = 6


@operator("ArrayFeatureExtractor", domain=ML)
def array_features(call: Call) -> Value:
    return call.apply(Gather(-1), call[0], call.apply(Reshape((-1,)), call[1]))


@operator("Binarizer", domain=ML)
def binarized(call: Call) -> Value:
    above = call.apply(Greater(), call[0], call.like(call.attribute("threshold", 0.0), call[0]))
    return call.cast(above, call[0].type.dtype)


def table(call: Call, side: str) -> np.ndarray[Any, Any]:
    """The keys or values of a label encoder, in whichever attribute they are."""
    for kind, dtype in (("floats", np.float32), ("int64s", np.int64), ("strings", object)):
        found = call.attribute(f"{side}_{kind}")
        if found:
            texts = [item.decode() if isinstance(item, bytes) else item for item in found]
            return np.array(texts, dtype)
    tensor = call.attribute(f"{side}_tensor")
    if tensor is None:
        raise Unsupported(f"it has no {side}")
    return array_of(tensor).reshape(-1)


def default_value(call: Call, values: np.ndarray[Any, Any]) -> Any:
    """What stands for a key that is not there."""
    tensor = call.attribute("default_tensor")
    if tensor is not None:
        return array_of(tensor).reshape(-1)[0]
    if values.dtype == object:
        return call.attribute("default_string", "_Unused")
    match values.dtype.kind:
        case "f":
            return np.float32(call.attribute("default_float", -0.0))
        case "i":
            return np.int64(call.attribute("default_int64", -1))
    raise Unsupported(f"values of {values.dtype} without a default")


@operator("LabelEncoder", domain=ML)
def label_encoder(call: Call) -> Value:
    """The value at the place of the key that equals x, by comparison with all of them. NaN is a key like others."""
    keys, values = table(call, "keys"), table(call, "values")
    x = call[0]
    if keys.dtype == object:
        place = call.apply(TextIndex(tuple(keys)), x)
        there = call.apply(GreaterOrEqual(), place, call.like(0, place))
        return _valued(call, place, there, values)
    x_ = call.apply(Unsqueeze((x.rank,)), x)
    hit = call.apply(Equal(), x_, call.constant(keys.astype(x.type.dtype.numpy)))
    if x.type.dtype.is_float and np.isnan(keys).any():
        hit = call.apply(LogicalOr(), hit, _both_nan(call, x_, keys))
    number = call.cast(hit, INT64)
    place, some = call.apply(ArgMax(-1, False), number), call.apply(ReduceMax((-1,), False), number)
    return _valued(call, place, call.apply(Greater(), some, call.constant(np.int64(0))), values)


def _valued(call: Call, place: Value, there: Value, values: np.ndarray[Any, Any]) -> Value:
    """The value at each place, or the default where there is none; texts by the host."""
    default = default_value(call, values)
    if values.dtype == object:
        own = call.apply(Where(), there, place, call.like(-1, place))
        return call.apply(TextAt(tuple(values), default), own)
    chosen = call.apply(Gather(0), call.constant(values), place)
    return call.apply(Where(), there, chosen, call.constant(np.array(default, values.dtype)))


def _both_nan(call: Call, x: Value, keys: np.ndarray[Any, Any]) -> Value:
    nan = call.apply(IsNaN(), x)
    not_keys = call.apply(LogicalNot(), call.constant(np.isnan(keys)))
    return call.apply(LogicalNot(), call.apply(LogicalOr(), call.apply(LogicalNot(), nan), not_keys))


@operator("TreeEnsemble", domain=ML)
def tree_ensemble(call: Call) -> Value:
    """All nodes of all trees are asked at once; a leaf is reached where all answers on the way to it are those that
    lead there, and they are counted by a matrix product."""
    x = call[0]
    features = np.array(call.attribute("nodes_featureids"), np.int64)
    answers = _answers(call, call.apply(Gather(1), x, call.constant(features)))
    leaves = _leaves(call)
    ways = np.zeros((len(features), len(leaves)))
    wanted = np.zeros(len(leaves))
    for place, (_, _, way) in enumerate(leaves):
        for node, answer in way:
            ways[node, place] = 1 if answer else -1
            wanted[place] += bool(answer)
    count = call.apply(MatMul(), call.cast(answers, x.type.dtype), call.constant(ways.astype(x.type.dtype.numpy)))
    reached = call.apply(Equal(), count, call.constant(wanted.astype(x.type.dtype.numpy)))
    return _aggregated(call, reached, leaves)


def _answers(call: Call, read: Value) -> Value:
    """What each node says, (batch, nodes), by its mode: comparisons, and membership in a set."""
    modes = array_of(call.attribute("nodes_modes")).reshape(-1)
    splits = array_of(call.attribute("nodes_splits")).reshape(-1)
    y: Value | None = None
    for mode in sorted(set(modes.tolist())):
        if mode == _MEMBER:
            said = _membership(call, read, modes)
        else:
            said = call.apply(_COMPARISONS[mode](), read, call.constant(splits))
        y = said if y is None else call.apply(Where(), call.constant(modes == mode), said, y)
    assert y is not None
    tracks = call.attribute("nodes_missing_value_tracks_true")
    if tracks:
        missing = call.apply(Where(), call.constant(np.array(tracks, bool)), call.apply(IsNaN(), read), y)
        y = call.apply(LogicalOr(), y, missing)
    return y


def _membership(call: Call, read: Value, modes: np.ndarray[Any, Any]) -> Value:
    """Whether a feature is in its node's set; the sets follow each other, with NaN after each."""
    members = array_of(call.attribute("membership_values")).reshape(-1)
    sets = np.split(members, np.flatnonzero(np.isnan(members)) + 1)
    width = max(len(own) for own in sets)
    table = np.full((len(modes), width), np.nan, members.dtype)
    for node, own in zip(np.flatnonzero(modes == _MEMBER), sets, strict=False):
        table[node, : len(own)] = own
    equal = call.apply(Equal(), call.apply(Unsqueeze((2,)), read), call.constant(table))
    some = call.apply(ReduceMax((2,), False), call.cast(equal, INT64))
    return call.apply(Greater(), some, call.constant(np.int64(0)))


def _leaves(call: Call) -> list[tuple[int, int, list[tuple[int, bool]]]]:
    """Each leaf of each tree: the tree, the leaf's number, and the (node, answer) pairs that lead to it."""
    branches = [
        list(zip(call.attribute(f"nodes_{kind}nodeids"), call.attribute(f"nodes_{kind}leafs"), strict=True))
        for kind in ("false", "true")
    ]
    found: list[tuple[int, int, list[tuple[int, bool]]]] = []
    for tree, root in enumerate(call.attribute("tree_roots")):
        waiting: list[tuple[int, list[tuple[int, bool]]]] = [(int(root), [])]
        # A tree that is one leaf is written as a node both of whose branches are that leaf.
        while waiting:
            node, way = waiting.pop()
            for answer in (False, True):
                child, is_leaf = branches[answer][node]
                longer = [*way, (node, answer)]
                if is_leaf:
                    found.append((tree, int(child), longer))
                else:
                    waiting.append((int(child), longer))
    return found


def _aggregated(call: Call, reached: Value, leaves: Sequence[tuple[int, int, Any]]) -> Value:
    """The weights of the reached leaves, joined per target over the trees."""
    weights = array_of(call.attribute("leaf_weights")).reshape(-1)
    targets = call.attribute("leaf_targetids")
    count, trees = call.attribute("n_targets"), len(call.attribute("tree_roots"))
    how = call.attribute("aggregate_function", 1)
    matrix = np.zeros((len(leaves), count), weights.dtype)
    for place, (_, leaf, _) in enumerate(leaves):
        matrix[place, targets[leaf]] = weights[leaf]
    if how in (0, 1):  # mean over the trees, or sum
        y = call.apply(
            MatMul(), call.cast(reached, call[0].type.dtype), call.constant(matrix / (trees if how == 0 else 1))
        )
    else:
        own = np.array([[targets[leaf] == t for t in range(count)] for _, leaf, _ in leaves])
        candidate = call.apply(Unsqueeze((2,)), reached)
        fill = np.array(np.inf if how == 2 else -np.inf, weights.dtype)
        shown = call.apply(Where(), candidate, call.constant(np.where(own, matrix, fill)), call.constant(fill))
        y = call.apply((ReduceMin if how == 2 else ReduceMax)((1,), False), shown)
    match call.attribute("post_transform", 0):
        case 0:
            return y
        case 1:
            return call.apply(Softmax(-1), y)
        case 2:
            return call.apply(Sigmoid(), y)
    raise Unsupported("of its post transforms only none, softmax and logistic are known")


@operator("TfIdfVectorizer")
def tf_idf(call: Call) -> Value:
    """How often each n-gram of a pool stands in a row, its elements up to `max_skip_count` places apart."""
    if call.attribute("pool_strings"):
        raise Unsupported("its pool holds texts")
    x = call[0]
    pool, starts = call.attribute("pool_int64s"), [*call.attribute("ngram_counts")]
    columns = call.attribute("ngram_indexes")
    weights = call.attribute("weights") or [1.0] * len(columns)
    size = x.type.shape[-1] if x.rank else 1
    if not isinstance(size, int):
        raise Unsupported(f"over rows of the unknown length {size}")
    low, high = call.attribute("min_gram_length"), call.attribute("max_gram_length")
    width, number = max(columns) + 1, 0
    rows: list[Value] = []
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        grams = np.array(pool[start:end], np.int64).reshape(-1, n)
        ids, number = range(number, number + len(grams)), number + len(grams)
        if len(grams) == 0 or not low <= n <= high:
            continue
        spread = np.zeros((len(grams), width), np.float32)
        for gram, own in enumerate(ids):
            spread[gram, columns[own]] = 1
        for skip in range(1, 2 if n == 1 else call.attribute("max_skip_count") + 2):
            places = size - skip * (n - 1)
            if places > 0:
                found = _occurrences(call, x, grams, skip, places)
                rows.append(call.apply(MatMul(), found, call.constant(spread)))
    shape = (*x.type.shape[:-1], width)
    y = call.constant(np.zeros([int(str(dim)) for dim in shape], np.float32))
    for row in rows:
        y = call.apply(Add(), y, row)
    if call.attribute("mode") in ("IDF",):
        y = call.cast(call.apply(Greater(), y, call.like(0, y)), y.type.dtype)
    if call.attribute("mode") in ("IDF", "TFIDF"):
        factors = np.zeros(width, np.float32)
        factors[columns] = weights
        y = call.apply(Mul(), y, call.constant(factors))
    return y


def _occurrences(call: Call, x: Value, grams: np.ndarray[Any, Any], skip: int, places: int) -> Value:
    """How often each n-gram begins at one of so many places of a row, as float32: (…, grams)."""
    window = np.arange(places)[:, None] + skip * np.arange(grams.shape[1])[None, :]
    read = call.apply(Gather(-1), call.cast(x, INT64), call.constant(window.astype(np.int64)))  # (…, places, n)
    equal = call.apply(Equal(), call.apply(Unsqueeze((read.rank - 1,)), read), call.constant(grams))
    whole_gram = call.apply(ReduceMin((-1,), False), call.cast(equal, INT64))  # (…, places, grams)
    return call.cast(call.apply(ReduceSum((-2,), False), whole_gram), call.constant(np.float32(0)).type.dtype)
