"""Grouping rows by query, against a dictionary."""

import datetime

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grouping as reference

from fastrank._core import _group
from fastrank.data._grouping import (
    check_qid_in_groups,
    from_sequence,
    group_by_offsets,
    group_by_qid,
    group_by_sizes,
    id_list,
)


def assert_grouped(qid, groups, ids=None):
    """Compare with the twin: ids by first appearance, offsets, and rows in their order inside each query."""
    expected = reference.rows_by_id(list(qid) if ids is None else ids)
    rows = [row for members in expected.values() for row in members]
    assert id_list(groups.qid) == list(expected)
    assert groups.qptr.dtype == np.int64
    assert np.diff(groups.qptr).tolist() == [len(members) for members in expected.values()]
    assert groups.qptr[0] == 0
    if rows == sorted(rows):
        assert groups.order is None
    else:
        assert groups.order.dtype == np.int64
        assert groups.order.tolist() == rows


# ---------------------------------------------------------------- the twin, by hand


def test_the_twin_gives_the_rows_of_a_small_example():
    assert reference.rows_by_id("abacb") == {"a": [0, 2], "b": [1, 4], "c": [3]}
    assert reference.rows_by_size([2, 0, 1]) == {0: [0, 1], 1: [], 2: [2]}


# ---------------------------------------------------------------- ids of every kind


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", "f2", "f4", "f8", "?"])
@pytest.mark.parametrize("n_ids", [1, 2, 90])
def test_numbers_of_every_width(rng, dtype, n_ids):
    qid = rng.integers(0, n_ids, 300).astype(dtype)
    groups = group_by_qid(qid, 300)
    assert_grouped(qid, groups, qid.tolist())
    assert groups.qid.dtype == qid.dtype


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint64])
def test_the_ends_of_the_range(rng, dtype):
    info = np.iinfo(dtype)
    qid = rng.choice(np.array([info.min, info.max, 0, 1, info.max - 1], dtype=dtype), 100)
    assert_grouped(qid, group_by_qid(qid, 100), qid.tolist())


def test_unsigned_ids_beyond_int64_keep_their_value(rng):
    qid = rng.choice(np.array([2**63, 2**63 + 1, 2**64 - 1, 1], dtype=np.uint64), 50)
    groups = group_by_qid(qid, 50)
    assert_grouped(qid, groups, qid.tolist())
    assert max(groups.qid.tolist()) == 2**64 - 1


@pytest.mark.parametrize(
    "spread",
    [
        lambda numbers: numbers * 1_000_003 - 10**12,
        lambda numbers: numbers << 44,
        lambda numbers: -(numbers << 40),
        lambda numbers: numbers.astype(np.float64).view(np.int64),
    ],
    ids=["multiples", "high bits", "negative high bits", "bits of floats"],
)
@pytest.mark.parametrize("n_ids", [10, 32_768, 32_769, 200_000])
def test_sparse_integers_through_several_tables(rng, spread, n_ids):
    # the first table holds 32,768 ids, the second four times as many
    qid = spread(rng.permutation(np.repeat(np.arange(n_ids), 2)))
    groups = group_by_qid(qid, len(qid))
    _, first, sizes = np.unique(qid, return_index=True, return_counts=True)
    assert np.array_equal(groups.qid, qid[np.sort(first)])
    assert (np.diff(groups.qptr) == 2).all()
    assert sizes.sum() == groups.qptr[-1]
    codes = np.repeat(np.arange(n_ids), 2)
    assert np.array_equal(groups.qid[codes], qid[groups.order])
    assert (np.diff(groups.order.reshape(-1, 2)) > 0).all()


def test_ids_that_differ_in_high_bits_alone_do_not_collide(rng):
    # with a poor hash these all meet in one slot; benchmarks/ watches the time
    qid = rng.permutation(np.repeat(np.arange(30_000) << 48, 10))
    assert len(group_by_qid(qid, len(qid)).qid) == 30_000


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=40))
def test_any_integers(values):
    qid = np.array(values, dtype=np.int64)
    assert_grouped(qid, group_by_qid(qid, len(qid)), values)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.5]), max_size=30))
def test_any_floats(values):
    assert_grouped(values, group_by_qid(np.array(values), len(values)), values)
    assert_grouped(values, group_by_qid(values, len(values)), values)


HASHABLES = (
    st.none().map(lambda _: ()) | st.integers() | st.text(max_size=3) | st.binary(max_size=3) | st.booleans()
    | st.tuples(st.integers(0, 2), st.text("ab", max_size=1)) | st.frozensets(st.integers(0, 2)) | st.dates()
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(HASHABLES, max_size=25))
def test_any_hashable_objects(values):
    assert_grouped(values, group_by_qid(values, len(values)), values)


@pytest.mark.parametrize(
    "kind", [st.text(max_size=2), st.binary(max_size=2), st.integers(-(2**65), 2**65), st.booleans()]
)
def test_lists_of_one_kind_keep_every_value(kind):
    @settings(max_examples=100, deadline=None)
    @given(st.lists(kind, max_size=20))
    def check(values):
        assert_grouped(values, group_by_qid(values, len(values)), values)

    check()


@pytest.mark.parametrize(
    "values",
    [
        [-1, 2**63, 2**63 + 1, -1],  # NumPy alone would round these to floats
        [2**64, 1, 2**64 + 1],
        ["a", "a\0", "a"],  # NumPy alone would cut the NUL off
        [b"a", b"a\0", b"a"],
        [(1, 2), (1, 3), (1, 2)],  # NumPy alone would make a matrix
        [(1,), (1, 2), ()],
        ["1", 1, b"1", 1.5, None.__class__],
        [np.int64(3), np.int64(2), np.int64(3)],
        [np.str_("b"), "a", np.str_("b")],
        [datetime.date(2020, 1, 1), datetime.date(2019, 1, 1), datetime.date(2020, 1, 1)],
    ],
    ids=repr,
)
def test_lists_that_numpy_alone_would_change(values):
    groups = group_by_qid(values, len(values))
    assert_grouped(values, groups, values)
    assert [type(one) for one in id_list(groups.qid)] == [type(one) for one in dict.fromkeys(values)]


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_dates_keep_their_type(unit):
    qid = np.array(["2020-03-01", "1960-01-01", "2020-03-01", "2020-03-02"], dtype=f"M8[{unit}]")
    groups = group_by_qid(qid, 4)
    assert groups.qid.dtype == qid.dtype
    assert_grouped(qid, groups, list(qid))


def test_time_differences():
    qid = np.array([3, -3, 3], dtype="m8[s]")
    assert_grouped(qid, group_by_qid(qid, 3), list(qid))


@pytest.mark.parametrize("values", [["x", "yy", "x"], [b"x", b"yy", b"x"], [(1, "a"), (0, "b"), (1, "a")]])
def test_arrays_of_strings_and_records(values):
    dtype = [("a", "i4"), ("b", "U1")] if isinstance(values[0], tuple) else None
    assert_grouped(values, group_by_qid(np.array(values, dtype=dtype), 3), values)


def test_equal_numbers_of_different_types_are_one_id():
    assert len(group_by_qid([1, 1.0, True, np.float32(1)], 4).qid) == 1
    assert len(group_by_qid([1, "1", b"1"], 3).qid) == 3


def test_layouts_of_the_ids(rng):
    qid = rng.integers(0, 50, 200) * 10**9
    expected = group_by_qid(qid, 200)
    shifted = np.zeros(qid.nbytes + 1, dtype=np.uint8)[1:].view(np.int64)
    shifted[:] = qid
    read_only = qid.copy()
    read_only.flags.writeable = False
    strided = np.repeat(qid, 3)[::3]
    backwards = qid[::-1].copy()[::-1]
    for one in (shifted, read_only, strided, backwards, qid.reshape(-1, 1), qid.astype(">i8"), tuple(qid.tolist())):
        before = np.array(one)
        groups = group_by_qid(one, 200)
        assert np.array_equal(groups.order, expected.order)
        assert np.array_equal(groups.qid, expected.qid)
        assert np.array_equal(before, np.array(one))
    for values in (qid.astype(np.float64)[::-1], qid.astype("M8[s]")[::-1]):
        assert_grouped(values, group_by_qid(values, 200), list(values))


def test_no_rows():
    for qid in ([], np.zeros(0), np.zeros(0, dtype="U3"), ()):
        groups = group_by_qid(qid, 0)
        assert len(groups.qid) == 0
        assert groups.qptr.tolist() == [0]
        assert groups.order is None


@pytest.mark.parametrize("name", cases.NAMES)
def test_parity_over_the_cases(name):
    case = cases.make(name)
    if case.qid is not None:
        assert_grouped(case.qid, group_by_qid(case.qid, len(case.y)), case.qid.tolist())
    else:
        groups = group_by_sizes(case.group, len(case.y))
        assert np.diff(groups.qptr).tolist() == [len(rows) for rows in case.rows().values()]


# ---------------------------------------------------------------- kernels


def test_is_grouped():
    for codes, expected in (([], True), ([0], True), ([0, 0, 1], True), ([0, 1, 0], False), ([1, 0], False)):
        assert _group.is_grouped(np.array(codes, dtype=np.int32)) is expected


def test_order_is_a_stable_counting_sort(rng):
    codes = rng.integers(0, 7, 500).astype(np.int32)
    order = np.empty(500, dtype=np.int64)
    _group.order_into(codes, np.concatenate(([0], np.cumsum(np.bincount(codes))[:-1])), order)
    assert np.array_equal(order, np.argsort(codes, kind="stable"))


# ---------------------------------------------------------------- sizes and offsets


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint32, np.uint64])
def test_sizes_and_offsets_of_every_width(dtype):
    sizes = np.array([2, 0, 3, 1], dtype=dtype)
    offsets = np.array([0, 2, 2, 5, 6], dtype=dtype)
    for groups in (group_by_sizes(sizes, 6), group_by_offsets(offsets, 6), group_by_sizes([2, 0, 3, 1], 6)):
        assert groups.qid.tolist() == [0, 1, 2, 3]
        assert groups.qptr.tolist() == [0, 2, 2, 5, 6]
        assert groups.qptr.dtype == np.int64
        assert groups.order is None


def test_offsets_are_copied():
    offsets = np.array([0, 2])
    assert not np.shares_memory(group_by_offsets(offsets, 2).qptr, offsets)


def test_no_queries():
    assert group_by_sizes([], 0).qptr.tolist() == [0]
    assert group_by_offsets([0], 0).qptr.tolist() == [0]


def test_ids_and_sizes_that_agree():
    groups = check_qid_in_groups(["b", "b", "a"], group_by_sizes([2, 1], 3), 3)
    assert groups.qid.tolist() == ["b", "a"]
    assert groups.qptr.tolist() == [0, 2, 3]
    assert check_qid_in_groups([], group_by_sizes([0, 0], 0), 0).qid.tolist() == [0, 1]


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("qid", "error", "message"),
    [
        ([1.0, float("nan"), 2.0], ValueError, r"^qid: expected an id in every row, got nan in row 1; drop or fill"),
        (np.array([1, np.nan, 2]), ValueError, r"^qid: .* got nan in row 1;"),
        (["a", None, "b"], ValueError, r"^qid: .* got None in row 1;"),
        (np.array(["2020-01-01", "NaT", "NaT"], dtype="M8[D]"), ValueError, r"^qid: .*NaT.* in row 1;"),
        ([1, [2], 3], TypeError, r"^qid: expected hashable ids, got \[2\] of type list in row 1$"),
        ([{}, 1, 2], TypeError, r"^qid: expected hashable ids, got \{\} of type dict in row 0$"),
        (
            [1, 2, np.arange(2)],
            TypeError,
            r"^qid: expected hashable ids, got array\(\[0, 1\]\) of type ndarray in row 2$",
        ),
        ([1, 2], ValueError, r"^qid: expected 3 ids \(one per row\), got 2; pass list lengths as group=$"),
        ([1, 2, 3, 4], ValueError, r"^qid: expected 3 ids \(one per row\), got 4$"),
        (np.zeros((3, 2)), ValueError, r"^qid: expected a vector with one query id per row, got shape \(3, 2\)$"),
        ("abc", TypeError, r"^qid: expected a sequence with one query id per row, got 'abc'$"),
        (7, TypeError, r"^qid: expected a sequence with one query id per row, got 7$"),
    ],
)
def test_bad_ids(qid, error, message):
    with pytest.raises(error, match=message):
        group_by_qid(qid, 3)


def test_missing_ids_of_pandas():
    pandas = pytest.importorskip("pandas")
    for qid in ([1, pandas.NA, 2], [1, pandas.NaT, 2], pandas.array(["a", None, "b"])):
        with pytest.raises(ValueError, match=r"^qid: expected an id in every row, got .* in row 1; drop or fill"):
            group_by_qid(qid, 3)


@pytest.mark.parametrize(
    ("group", "error", "message"),
    [
        ([2, 2], ValueError, r"^group: expected sizes that add up to the 3 rows, got 2 sizes that add up to 4$"),
        ([1, 1, 5], ValueError, r"got 3 sizes that add up to 7; pass one id per row as qid=$"),
        ([], ValueError, r"got 0 sizes that add up to 0$"),
        ([4, -1], ValueError, r"^group: expected sizes of 0 and above, got -1 for query 1$"),
        ([1.5, 1.5], TypeError, r"^group: expected a list of integers, .* got shape \(2,\) and dtype float64"),
        ([[1, 2]], TypeError, r"^group: expected a list of integers, .* got shape \(1, 2\)"),
        (3, TypeError, r"^group: expected a list of integers, .* got shape \(\)"),
        (["a"], TypeError, r"^group: expected a list of integers"),
        ([True, True, True], TypeError, r"^group: expected a list of integers, .* dtype bool; pass one id per row"),
    ],
)
def test_bad_sizes(group, error, message):
    with pytest.raises(error, match=message):
        group_by_sizes(group, 3)


@pytest.mark.parametrize(
    ("qptr", "error", "message"),
    [
        ([0, 2], ValueError, r"^qptr: expected offsets from 0 to the number of rows \(3\), got 0 to 2$"),
        ([1, 3], ValueError, r"^qptr: expected offsets from 0 .* got 1 to 3$"),
        ([0, 2, 1, 3], ValueError, r"^qptr: expected offsets that never decrease, got 2 and then 1 at position 2$"),
        (np.array([0, 2, 1, 3], dtype=np.uint8), ValueError, r"got 2 and then 1 at position 2$"),
        ([], TypeError, r"^qptr: expected integer offsets, one more than there are queries, got shape \(0,\)"),
        ([0.0, 3.0], TypeError, r"^qptr: expected integer offsets, .* dtype float64$"),
        ([[0, 3]], TypeError, r"^qptr: expected integer offsets, .* got shape \(1, 2\)"),
        (3, TypeError, r"^qptr: expected integer offsets"),
    ],
)
def test_bad_offsets(qptr, error, message):
    with pytest.raises(error, match=message):
        group_by_offsets(qptr, 3)


@pytest.mark.parametrize(
    ("qid", "sizes", "message"),
    [
        (
            ["a", "b", "b"],
            [2, 1],
            r"^qid: expected one id per group, got 'a' and 'b' \(row 1\) in group 0; pass qid alone, or mend the",
        ),
        (
            [5, 5, 5],
            [2, 1],
            r"^qid: expected each id in one group, got 5 in group 0 and again in group 1 \(row 2\): the boundary "
            r"splits a query; pass qid alone",
        ),
        ([5, 6, 5], [1, 1, 1], r"got 5 in group 0 and again in group 2 \(row 2\): the boundary splits a query"),
        ([5, 5, 6], [2, 0, 1], r"^group: expected at least one row per group where qid is given, got none in group 1$"),
    ],
)
def test_ids_and_sizes_that_disagree(qid, sizes, message):
    with pytest.raises(ValueError, match=message):
        check_qid_in_groups(qid, group_by_sizes(sizes, 3), 3)


def test_queries_too_long_for_the_kernels():
    message = r"^X: expected queries of at most 2,147,483,647 rows, got one of 2,147,483,648$"
    with pytest.raises(ValueError, match=message):
        group_by_sizes([2**31], 2**31)
    with pytest.raises(ValueError, match=message):
        group_by_offsets([0, 2**31], 2**31)


def test_from_sequence_keeps_arrays():
    array = np.array([3, 1])
    assert from_sequence(array) is array
    assert from_sequence([3, 1]).dtype == np.int64
    assert from_sequence(["a"]).dtype.kind == "U"
