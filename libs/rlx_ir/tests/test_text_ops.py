"""Ops on text: what they give, and what they refuse."""

import numpy as np
import pytest

from rlx_base.errors import RequestError, VerifyError
from rlx_ir.op import make, operation
from rlx_ir.types import TensorType


def texts(*values):
    return np.array(values, object)


def run(name, attributes, *arrays):
    from rlx_base.dtypes import of_numpy

    op = make(operation(name), attributes)
    types = op.infer(*(TensorType(array.shape, of_numpy(array.dtype)) for array in arrays))
    results = op.reference(*arrays)
    for type, array in zip(types, results, strict=True):
        assert type.shape == array.shape
        assert type.dtype == of_numpy(array.dtype)
    return [array.tolist() for array in results]


def test_texts_are_joined_and_compared_as_they_broadcast():
    a, b = texts("é", "x"), texts("y").reshape(1, 1)
    assert run("string_concat", {}, a, b) == [[["éy", "xy"]]]
    assert run("string_equal", {}, a, texts("x")) == [[False, True]]


@pytest.mark.parametrize(
    ("attributes", "parts", "counts"),
    [
        ({"width": 3}, ["a", "b", "c"], 3),
        ({"width": 2, "maxsplit": 1}, ["a", "b  c"], 2),
        ({"width": 4, "delimiter": " "}, ["a", "b", "", "c"], 4),
        ({"width": 5}, ["a", "b", "c", "", ""], 3),
    ],
)
def test_a_text_is_split(attributes, parts, counts):
    assert run("string_split", attributes, texts("a b  c")) == [[parts], [counts]]


def test_more_parts_than_there_is_room_for_are_an_error():
    with pytest.raises(RequestError, match="found 3 parts, where the model has room for 2 places"):
        run("string_split", {"width": 2}, texts("a b c"))


@pytest.mark.parametrize(
    ("attributes", "left"),
    [
        ({"count": 3}, ["Cafe", "the", "THE"]),
        ({"count": 1, "stopwords": ["THE"], "case": "lower"}, ["cafe"]),
        ({"count": 2, "stopwords": ["THE"], "case": "lower", "case_sensitive": True}, ["cafe", "the"]),
        ({"count": 1, "stopwords": ["the", "cafe"], "case": "upper"}, [""]),
    ],
)
def test_texts_lose_accents_stop_words_and_their_case(attributes, left):
    assert run("string_normalize", attributes, texts("Café", "the", "THE")) == [left]


def test_a_pattern_matches_the_whole_text():
    assert run("regex_full_match", {"pattern": "[a-z]+"}, texts("abc", "abc1", "")) == [[True, False, False]]
    with pytest.raises(VerifyError, match="pattern"):
        run("regex_full_match", {"pattern": "("}, texts("a"))


def test_texts_become_places_of_a_list_and_back():
    assert run("text_index", {"texts": ["a", "b", "a"]}, texts("b", "a", "z")) == [[1, 0, -1]]
    assert run("text_at", {"texts": ["a", "b"], "default": "?"}, np.array([1, 0, -1, 2])) == [["b", "a", "?", "?"]]


def test_numbers_are_refused_where_texts_are_needed():
    with pytest.raises(VerifyError, match="a is int64, where texts are needed"):
        run("string_concat", {}, np.arange(2), texts("a"))
