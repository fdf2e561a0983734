"""A column of strings as two arrays, against a list."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank.data._strings import StringColumn

WORDS = ["GX000-00", "", "naïve", "日本", "x" * 1000, "a\0", "last"]
STRINGS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=12)


@settings(max_examples=150, deadline=None)
@given(STRINGS, st.data())
def test_behaves_like_a_list(strings, data):
    column = StringColumn.from_strings(strings)
    assert len(column) == len(strings)
    assert list(column) == strings
    assert [column[i] for i in range(len(strings))] == strings
    chosen = data.draw(st.slices(len(strings)))
    assert list(column[chosen]) == strings[chosen]
    assert list(column[chosen][::-1]) == strings[chosen][::-1]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(strings), max_size=len(strings))), dtype=bool)
    assert list(column[mask]) == [one for one, keep in zip(strings, mask, strict=True) if keep]


@settings(max_examples=50, deadline=None)
@given(st.lists(STRINGS, min_size=1, max_size=4))
def test_joins_like_lists(parts):
    columns = [StringColumn.from_strings(part) for part in parts]
    assert list(StringColumn.concatenate(columns)) == [one for part in parts for one in part]
    tails = [column[1:] for column in columns]
    assert list(StringColumn.concatenate(tails)) == [one for part in parts for one in part[1:]]


def test_indices():
    column = StringColumn.from_strings(WORDS)
    assert column[-1] == "last"
    assert column[np.int64(3)] == "日本"
    assert list(column[np.array([3, 0, -1, 3])]) == ["日本", "GX000-00", "last", "日本"]
    for index in (7, -8):
        with pytest.raises(IndexError, match=rf"^index: expected a number below 7, got {index}$"):
            column[index]


def test_slices_share_the_bytes_and_pickles_do_not():
    column = StringColumn.from_strings(["document" * 10] * 1000)
    part = column[10:12]
    assert np.shares_memory(part.data, column.data)
    for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert again == part
        assert len(again.data) == 160
    assert len(pickle.dumps(part)) < 1000
    assert pickle.loads(pickle.dumps(column)) == column


def test_equality():
    column = StringColumn.from_strings(WORDS)
    assert column == WORDS
    assert column == tuple(WORDS)
    assert column == StringColumn.from_strings(["more", *WORDS])[1:]
    assert column != WORDS[:-1]
    assert column != [*WORDS[:-1], "other"]
    assert column != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(column)


def test_becomes_an_array_of_objects():
    array = np.asarray(StringColumn.from_strings(WORDS))
    assert array.dtype == object
    assert array.tolist() == WORDS
    assert np.asarray(StringColumn.from_strings(["ab"]), dtype="U5").dtype == np.dtype("U5")


def test_repr():
    assert repr(StringColumn.from_strings(["a", "b"])) == "StringColumn(['a', 'b'], n=2)"
    assert repr(StringColumn.from_strings(list("abcd"))) == "StringColumn(['a', 'b', 'c', ...], n=4)"
    assert repr(StringColumn.from_strings([])) == "StringColumn([], n=0)"


def test_arrays_from_outside_may_be_read_only():
    data, offsets = np.frombuffer(b"abcdef", dtype=np.uint8), np.array([1, 3, 3, 6])
    offsets.flags.writeable = False
    column = StringColumn(data, offsets)
    assert list(column) == ["bc", "", "def"]
    assert list(column[[2, 0]]) == ["def", "bc"]
