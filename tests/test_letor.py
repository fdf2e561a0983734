"""The LETOR reader and writer against their twin, on files of every kind, whole, cut and damaged."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import re
import threading
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import letor as twin
from scipy import sparse as sp

from fastrank._core import _letor
from fastrank._errors import DataFormatError
from fastrank._progress import Progress
from fastrank.data import _text
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor import iter_letor, load_group, load_letor, save_letor
from fastrank.data.letor.reading import _cut_columns, _Store

JOBS = (1, 2, 3, 8)
DTYPES = (np.float32, np.float64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """One folder for the examples of hypothesis, which may not use a fixture per test."""
    return tmp_path_factory.mktemp("letor")


def write(folder: Path, data: bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def cut_into(block: int, batch: int | None = None):
    """Read with small blocks and batches, as if the file were large."""
    return mock.patch.multiple(_text, BLOCK_BYTES=block, BATCH_BYTES=batch or block)


def outcome(read: Any, *args: Any, **options: Any) -> Any:
    """What a reader returns, or the mistake it found; any other exception is a failure."""
    try:
        return read(*args, **options)
    except (DataFormatError, twin.MistakeError) as mistake:
        return mistake


def assert_same(data: RankingDataset, table: twin.Table) -> None:
    """A data set is what the twin read, to the last bit."""
    if sp.issparse(data.X):
        assert data.X.shape == table.X.shape
        assert data.X.dtype == table.X.dtype
        assert np.array_equal(data.X.toarray(), table.X, equal_nan=True)
        assert data.X.nnz == np.count_nonzero(table.X)
        assert data.X.has_canonical_format
    else:
        assert data.X.flags.c_contiguous
        assert (data.X.dtype, data.X.shape) == (table.X.dtype, table.X.shape)
        assert data.X.tobytes() == table.X.tobytes()
    assert data.y.dtype == (np.int32 if (table.y == np.floor(table.y)).all() and table.y.max() < 2**31 else np.float64)
    assert data.y.tolist() == table.y.tolist()
    if table.qid is not None:
        ids = twin.ids(table.qid)
        assert data.row_qid().tolist() == ids
        assert data.qid.tolist() == list(dict.fromkeys(ids))
        assert data.qid.dtype.kind == ("i" if isinstance(ids[0], int) else "U")
    assert (list(data.docid) if data.docid is not None else None) == (table.docid if any(table.docid) else None)


def assert_same_queries(path: Path, table: twin.Table, **options: Any) -> None:
    """The streaming reader gives the runs of equal qids; a qid that comes again is a mistake on its line."""
    seen = set()
    queries = iter_letor(path, **options)
    for text, run in itertools.groupby(range(len(table.y)), key=lambda row: table.qid[row]):
        rows = list(run)
        if text in seen:
            with pytest.raises(
                DataFormatError, match=r"lines of a query to be adjacent, got qid .* again; read"
            ) as info:
                next(queries)
            assert (info.value.path, info.value.line) == (str(path), table.line[rows[0]])
            return
        seen.add(text)
        query = next(queries)
        assert query.qid == (int(text) if twin.is_integer(text) else text)
        X = query.X.toarray() if sp.issparse(query.X) else query.X
        assert (X.dtype, X.shape) == (table.X.dtype, (len(rows), table.X.shape[1]))
        assert np.array_equal(X, table.X[rows], equal_nan=True)
        assert query.y.tolist() == table.y[rows].tolist()
        docid = [table.docid[row] for row in rows]
        assert (None if query.docid is None else list(query.docid)) == (docid if any(docid) else None)
    assert next(queries, None) is None


def check(path: Path, *, jobs: tuple[int, ...] = (1, 3), dtypes=DTYPES, group: Any = None, **options: Any) -> None:
    """Every way to read a file gives what the twin gives; where the twin finds a mistake, all find it there."""
    packed = path.read_bytes()
    data = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    for dtype in dtypes:
        table = outcome(twin.read, data, dtype=dtype, with_qid=group is None, **options)
        if isinstance(table, twin.MistakeError):
            for sparse, n_jobs in itertools.product((False, True), jobs):
                with pytest.raises(DataFormatError) as info:
                    load_letor(path, dtype=dtype, sparse=sparse, n_jobs=n_jobs, group=group, **options)
                assert (info.value.path, info.value.line) == (str(path), table.line), table.kind
            continue
        width = {"n_features": table.X.shape[1]} | options
        for sparse, n_jobs in itertools.product((False, True), jobs):
            read = load_letor(path, dtype=dtype, sparse=sparse, n_jobs=n_jobs, group=group, **options)
            assert_same(read, table)
            if group is None:
                assert_same_queries(path, table, dtype=dtype, sparse=sparse, n_jobs=n_jobs, **width)


# Files in the format.

TRICKY_NUMBERS = [
    "0", "1", "-1", "+2", "0.5", "-0.0", ".5", "5.", "1e3", "1E-3", "-2.5e+2", "007", "0.1", "0.30000000000000004",
    "1e22", "1e23", "9007199254740993", "123456789012345678901234567890", "0.00000000000000000000000000000000001",
    "1e-46", "1e38", "2.2250738585072014e-308", "1e-320", "3.4028235e38", "0.333333333333333333333333",
    "12345678.87654321",
]  # fmt: skip

ADVERSARIAL = {
    "plain": b"2 qid:7 1:0.5 2:1\n0 qid:7 2:0.25\n1 qid:8 1:3 2:-4\n",
    "one row": b"1 qid:1 1:2\n",
    "one row without newline": b"1 qid:1 1:2",
    "no final newline": b"1 qid:1 1:2\n0 qid:2 3:4",
    "crlf": b"1 qid:1 1:2\r\n0 qid:1 1:3 # docid = a\r\n\r\n",
    "tabs": b"1\tqid:1\t1:2\t \t3:4\t#\tdocid\t=\tx\t\n",
    "leading and trailing blanks": b"  1 qid:1 1:2   \n\t0 qid:1 1:3\t\n",
    "blank lines and comments": b"\n  \n# head\n1 qid:1 1:2\n\t# docid = no\n\n0 qid:1 1:3\n#\n\r\n#tail",
    "hash glued to the value": b"1 qid:1 1:2#docid = a\n1 qid:1 1:2# b\n1 qid:1 1:2#\n",
    "hash glued to grade and qid": b"1 qid:1#x\n2 qid:a#qid:b 1:3\n",
    "hash in the comment": b"1 qid:1 1:2 # a # b #\n1 qid:1 1:2 ## c\n",
    "string qids": b"1 qid:abc 1:2\n0 qid:Abc 1:2\n0 qid:x:y,z 1:3\n",
    "unicode qids": "1 qid:ключ 1:2\n0 qid:日本 1:2\n0 qid:é\u200bé 1:2\n0 qid:😀 1:2\n".encode(),
    "leading zeros make another qid": b"1 qid:007 1:2\n0 qid:7 1:2\n0 qid:7 1:3\n0 qid:07 1:3\n",
    "other writings of integers": b"1 qid:+7 1:2\n0 qid:7 1:2\n0 qid:-0 1:2\n0 qid:0 1:2\n0 qid:7.0 1:2\n",
    "negative qids": b"1 qid:-3 1:2\n0 qid:-3 1:2\n0 qid:3 1:2\n0 qid:-9223372036854775808 1:2\n",
    "qid beyond int64": b"1 qid:9223372036854775807 1:2\n0 qid:9223372036854775808 1:2\n",
    "qid of many digits": b"1 qid:" + b"1" * 5000 + b" 1:2\n0 qid:1 1:2\n",
    "qid in a digit of another script": "1 qid:٣ 1:2\n".encode(),
    "qids that are not adjacent": b"1 qid:2 1:1\n0 qid:1 1:2\n2 qid:2 1:3\n0 qid:1 1:4\n",
    "string qids that are not adjacent": b"1 qid:b 1:1\n0 qid:a 1:2\n2 qid:b 1:3\n",
    "docid forms": b"1 qid:1 1:1 #docid = GX000 inc = 1 prob = 0.2\n1 qid:1 1:1 # docid=a\n1 qid:1 1:1 #docid  =  b \n"
    b"1 qid:1 1:1 #docid=\n1 qid:1 1:1 #docid\n1 qid:1 1:1 #docid x\n1 qid:1 1:1 #docids = 3\n1 qid:1 1:1 #Docid = 4\n"
    b"1 qid:1 1:1 #  free  text \n1 qid:1 1:1 #\n1 qid:1 1:1\n1 qid:1 1:1 #docid = =c=\n1 qid:1 1:1 # x docid = d\n",
    "unicode docids": "1 qid:1 1:1 #docid = naïve\n0 qid:1 1:1 # 文 書\n".encode(),
    "explicit zeros": b"1 qid:1 1:0 2:0.0 3:-0 4:0e5 5:1e-400 6:-1e-400 7:1e-60\n0 qid:1 7:0\n",
    "missing features": b"1 qid:1 5:1\n0 qid:1\n0 qid:1 2:2 4:4\n",
    "rows without features": b"1 qid:1\n0 qid:1 \n2 qid:2 # docid = x\n",
    "last row without features": b"1 qid:1 1:1\n0 qid:1",
    "first row without features": b"1 qid:1\n0 qid:1 9:1\n",
    "grades": b"0 qid:1 1:1\n0.5 qid:1 1:1\n1e1 qid:1 1:1\n+3 qid:1 1:1\n-0 qid:1 1:1\n4. qid:1 1:1\n.25 qid:1 1:1\n",
    "large integer grades": b"2147483647 qid:1 1:1\n1234567 qid:1 1:1\n",
    "larger integer grades": b"2147483648 qid:1 1:1\n3 qid:1 1:1\n",
    "grades that are hard to round": b"9007199254740993 qid:1 1:1\n1e-300 qid:1 2:1\n"
    b"0.1234567890123456789012 qid:2 1:9\n-1e-400 qid:2 1:1\n1e300 qid:3",
    "numbers": "".join(f"1 qid:1 1:{text} 3:{text}\n" for text in TRICKY_NUMBERS).encode(),
    "largest float": b"1 qid:1 1:3.4028235e38 2:-3.4028235677973362e38 3:3.4028234663852886e+38\n",
    "sparse indices": b"1 qid:1 3:1 500:2 1999:3\n0 qid:1 2000:1\n",
    "leading zeros of indices": b"1 qid:1 01:1 002:2 0000000000003:3\n",
    "controls in comments": b"1 qid:a 1:1 # x\x0cy\x0bz\x01\n",
    "long line": b"1 qid:1 " + b" ".join(b"%d:%d" % (i, i % 7) for i in range(1, 3000)) + b"\n0 qid:1 5:1\n",
    "long comment first": b"#" + b"-" * 70_000 + b"\n" + b"# more\n" * 20_000 + b"1 qid:1 1:1 4:2\n0 qid:1 2:1\n",
    "long blank start": b" " * 70_000 + b"1 qid:1 1:1 4:2\n0 qid:1 2:1\n",
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_reader_adversarial_file_agrees_with_twin(name, tmp_path):
    path = write(tmp_path, ADVERSARIAL[name])
    twin.read(ADVERSARIAL[name], dtype=np.float32)  # no mistake in it
    check(path)
    check(path, comments="all", dtypes=(np.float32,))
    check(path, comments=None, dtypes=(np.float32,))
    check(write(tmp_path, gzip.compress(ADVERSARIAL[name]), "data.txt.gz"), dtypes=(np.float32,))


@pytest.mark.parametrize("name", ["plain", "docid forms", "crlf", "blank lines and comments", "no final newline"])
def test_reader_file_cut_at_every_byte(name, tmp_path):
    path = write(tmp_path, ADVERSARIAL[name])
    table = twin.read(ADVERSARIAL[name], dtype=np.float32)
    for size in range(1, len(ADVERSARIAL[name]) + 2):
        with cut_into(size):
            assert_same(load_letor(path, n_jobs=1 + size % 3), table)
            assert_same(load_letor(path, sparse=True), table)
            assert_same_queries(path, table, n_features=table.X.shape[1], n_jobs=1 + size % 3)
        with cut_into(size, 1 << 16):
            assert_same(load_letor(path, n_jobs=2), table)


@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("size", [1, 17, 64])
def test_reader_adversarial_file_in_small_blocks(name, size, tmp_path):
    path = write(tmp_path, ADVERSARIAL[name][-5000:] if name.startswith("long") else ADVERSARIAL[name])
    with cut_into(size, 3 * size):
        check(path, dtypes=(np.float32,))


def number_texts():
    decimals = st.tuples(st.integers(-(10**12), 10**12), st.integers(0, 12)).map(
        lambda p: f"{p[0] / 10 ** p[1]:.{p[1]}f}"
    )
    singles = st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
    return st.one_of(st.sampled_from(TRICKY_NUMBERS), decimals, singles)


@st.composite
def rows(draw, index_base: int = 1) -> str:
    gap = st.sampled_from([" ", "  ", "\t", " \t ", "\r"])
    grade = draw(st.sampled_from(["0", "1", "2", "0.5", "3.", "+4", "1e1"]))
    qid = draw(st.sampled_from(["1", "2", "3", "-4", "05", "q", "ü"]))
    indices = sorted(draw(st.sets(st.integers(index_base, 12), max_size=5)))
    features = "".join(f"{draw(gap)}{index}:{draw(number_texts())}" for index in indices)
    tail = draw(st.sampled_from(["", " ", "\r", "#", " # docid = d1", "#docid=d2 inc = 1", " #free text", "\t#ä"]))
    return f"{draw(st.sampled_from(['', ' ']))}{grade}{draw(gap)}qid:{qid}{features}{tail}"


def files(index_base: int = 1):
    lines = st.one_of(
        rows(index_base), rows(index_base), rows(index_base), st.sampled_from(["", " ", "#", "# 1 qid:1 1:1"])
    )
    return st.tuples(st.lists(lines, max_size=12).map("\n".join), st.sampled_from(["", "\n"])).map("".join)


@settings(max_examples=100, deadline=None)
@given(text=files(), block=st.integers(1, 200), batches=st.integers(1, 4), n_jobs=st.sampled_from(JOBS))
def test_reader_generated_file_agrees_with_twin(folder, text, block, batches, n_jobs):
    path = write(folder, text.encode())
    with cut_into(block, batches * block):
        check(path, jobs=(n_jobs,))


@settings(max_examples=40, deadline=None)
@given(text=files(index_base=0), block=st.integers(1, 200))
def test_reader_generated_file_with_indices_from_zero(folder, text, block):
    path = write(folder, text.encode())
    with cut_into(block):
        check(path, jobs=(1,), index_base=0, dtypes=(np.float32,))


def test_reader_index_base_shifts_the_columns(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:5 3:7\n")
    assert load_letor(path).X.tolist() == [[5, 0, 7]]
    assert load_letor(path, index_base=0).X.tolist() == [[0, 5, 0, 7]]
    assert load_letor(path, n_features=5, sparse=True).X.toarray().tolist() == [[5, 0, 7, 0, 0]]


def test_reader_comments_choices_by_hand(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1 # docid = A7 inc = 1\n0 qid:1 1:2 # see  below \n0 qid:1\n")
    assert list(load_letor(path).docid) == ["A7", "see  below", ""]
    assert list(load_letor(path, comments="all").docid) == ["docid = A7 inc = 1", "see  below", ""]
    assert load_letor(path, comments=None).docid is None


def large_file(n_rows: int, rng: np.random.Generator, *, late_width: int = 0) -> bytes:
    """Some hundred kilobytes: queries of 1 to 40 rows, docids on some lines, a wider row near the end."""
    lines = []
    qid = 0
    for row in range(n_rows):
        qid += int(rng.random() < 0.05)
        features = " ".join(f"{i}:{rng.standard_normal():.6f}" for i in range(1, 12) if rng.random() < 0.8)
        comment = f" #docid = D{row}" if rng.random() < 0.5 else ""
        lines.append(f"{rng.integers(0, 5)} qid:{qid} {features}{comment}\n")
    if late_width:
        lines[-n_rows // 10] = f"1 qid:{qid + 1} 2:5 {late_width}:1.5\n"
    return "".join(lines).encode()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("late_width", [0, 12, 300])
def test_reader_many_blocks_same_bits_for_any_number_of_threads(sparse, late_width, rng, tmp_path):
    data = large_file(3000, rng, late_width=late_width)
    path, packed = write(tmp_path, data), write(tmp_path, gzip.compress(data, 1), "data.gz")
    table = twin.read(data, dtype=np.float32)
    assert table.X.shape[1] == (late_width or 11)
    for n_jobs in JOBS:
        assert_same(load_letor(path, n_jobs=n_jobs, sparse=sparse), table)
        for block, batch in ((1000, 8000), (4096, 4096), (100_000, 300_000)):
            with cut_into(block, batch):
                assert_same(load_letor(path, n_jobs=n_jobs, sparse=sparse), table)
                assert_same(load_letor(packed, n_jobs=n_jobs, sparse=sparse), table)


def test_reader_query_keeps_docids_when_only_some_batches_have_them(tmp_path):
    data = b"1 qid:1 1:1 # docid = a\n" + b"0 qid:1 1:2\n" * 20 + b"2 qid:2 1:1\n" * 9
    path = write(tmp_path, data)
    with cut_into(30):
        assert_same_queries(path, twin.read(data, dtype=np.float32))


def test_reader_batch_that_ends_with_the_file(tmp_path):
    data = b"1 qid:1 1:5\n" * 8
    for size in (len(data), len(data) // 2, len(data) // 8):
        with cut_into(size):
            check(write(tmp_path, data))
            check(write(tmp_path, gzip.compress(data), "data.gz"))


def test_reader_batches_of_comments_alone(tmp_path):
    data = (
        b"# a comment\n" * 50 + b"1 qid:1 1:5 2:1\n" + b"# a comment\n" * 50 + b"0 qid:1 2:1\n" + b"# a comment\n" * 50
    )
    with cut_into(40):
        check(write(tmp_path, data))
        path = write(tmp_path, data.replace(b"qid:1 ", b""))
        assert load_letor(path, group=[2]).X.tolist() == [[5, 1], [0, 1]]


def test_iter_first_lines_decide_the_width(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:5 4:1\n0 qid:2 2:1\n")
    assert [query.X.shape for query in iter_letor(path)] == [(1, 4), (1, 4)]
    late = write(tmp_path, b"1 qid:1 1:5\n" * 20_000 + b"0 qid:2 9:1\n")
    with pytest.raises(
        DataFormatError, match="indices up to 1, as n_features or the first lines say, got '9:1'; pass a"
    ):
        list(iter_letor(late))
    for sparse in (False, True):
        assert [query.X.shape for query in iter_letor(late, sparse=sparse, n_features=9)] == [(20_000, 9), (1, 9)]


@pytest.mark.parametrize("size", [10, 25, 1 << 16])
def test_iter_sparse_width_grows_with_the_features_seen(size, tmp_path):
    data = b"1 qid:1 2:5\n0 qid:1 1:1\n0 qid:2\n1 qid:3 3:1\n0 qid:3 9:1\n0 qid:4 1:2 12:0\n"
    path = write(tmp_path, data)
    table = twin.read(data)
    for n_jobs in (1, 8):
        with cut_into(size):
            queries = list(iter_letor(path, sparse=True, n_jobs=n_jobs))
        assert [query.X.shape for query in queries] == [(2, 2), (1, 2), (2, 9), (1, 9)]
        rows = iter(table.X)
        for query in queries:
            for row in query.X.toarray():
                assert row.tolist() == next(rows)[: len(row)].tolist()


def test_iter_without_qids_names_the_reader_that_takes_lengths(tmp_path):
    path = write(tmp_path, WITHOUT_QID)
    mistake_of(lambda: next(iter_letor(path)), path, 1, "or read the file with load_letor, which takes list lengths$")
    mistake_of(lambda: load_letor(path), path, 1, "or pass list lengths as group=$")


def test_iter_reads_as_it_goes_and_closes_the_file(tmp_path):
    path = write(tmp_path, b"".join(b"1 qid:%d 1:5\n" % i for i in range(5000)) + b"broken\n")
    with cut_into(1000):
        queries = iter_letor(path)
        assert next(queries).qid == 0
        queries.close()
        with pytest.raises(DataFormatError, match=re.escape(f"{path}:5001: ")):
            list(iter_letor(path))


# Missing values.

MISSING = b"1 qid:1 1:NULL 2:0.5\n0 qid:1 1:2 3:nan\n1 qid:2 1:NaN 2:null # docid = x\n0 qid:2 3:-nan\n"


@pytest.mark.parametrize("missing", ["nan", 0, -1.5, 7])
def test_reader_missing_values_by_choice(missing, tmp_path):
    check(write(tmp_path, MISSING), missing=missing)
    data = load_letor(write(tmp_path, MISSING), missing=missing)
    assert np.isnan(data.X).any() == (missing == "nan")
    assert data.allow_nan is (missing == "nan")


def test_reader_missing_values_are_a_mistake_by_default(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1\n" + MISSING)
    check(path)
    with pytest.raises(
        DataFormatError, match=r":2: expected a number, got the missing value '1:NULL'; pass missing='nan'"
    ):
        load_letor(path)


def test_reader_missing_zero_is_not_stored(tmp_path):
    assert load_letor(write(tmp_path, MISSING), missing=0, sparse=True).X.nnz == 2


@pytest.mark.parametrize(
    ("missing", "error", "message"),
    [
        ("mean", ValueError, "missing: expected one of 'error', 'nan', got 'mean'"),
        (float("nan"), ValueError, "missing: expected 'error', 'nan' or a finite float32, got nan"),
        (float("inf"), ValueError, "missing: .* finite float32, got inf"),
        (1e39, ValueError, r"missing: .* finite float32, got 1e\+39"),
        (True, TypeError, "missing: expected 'error', 'nan' or a number, got True"),
        (None, TypeError, "missing: expected 'error', 'nan' or a number, got None"),
    ],
)
def test_reader_missing_choice_that_makes_no_sense(missing, error, message, tmp_path):
    with pytest.raises(error, match=message):
        load_letor(write(tmp_path, MISSING), missing=missing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int32"}, "dtype: expected float32 or float64, got 'int32'"),
        ({"index_base": 2}, "index_base: expected one of 0, 1, got 2"),
        ({"comments": "some"}, "comments: expected one of None, 'docid', 'all', got 'some'"),
        ({"n_features": -1}, "n_features: expected an integer of at least 0, got -1"),
        ({"n_features": 2**62}, r"n_features: expected at most 2,147,483,647 \(2\^31 - 1\), got 4,611"),
        ({"n_jobs": 0}, "n_jobs: expected"),
        ({"sparse": "no"}, "sparse: expected True or False, got 'no'"),
    ],
)
def test_reader_options_that_make_no_sense(options, message, tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1\n")
    for read in (load_letor, iter_letor):
        with pytest.raises((ValueError, TypeError), match=message):
            read(path, **options)


# Arrays that grow.


def test_reader_long_lines_behind_many_short_ones(tmp_path):
    """The first lines let expect millions of rows of 700 features; that much is neither there nor needed."""
    full = b"1 qid:2 " + b" ".join(b"%d:1" % i for i in range(1, 701)) + b"\n"
    path = write(tmp_path, b"0 qid:1 700:1\n" * 200_000 + full * 20_000)
    reserve, refused = np.empty, []

    def modest(shape: Any, *args: Any, **options: Any) -> Any:
        if isinstance(shape, tuple) and shape[0] > 8 * 220_000:
            refused.append(shape)
            raise MemoryError
        return reserve(shape, *args, **options)

    with mock.patch.object(np, "empty", modest):
        data = load_letor(path, n_jobs=2)
    assert refused
    assert data.X.shape == (220_000, 700)
    assert data.X.sum(dtype=np.float64) == 200_000 + 700 * 20_000


@pytest.mark.parametrize("least_failing", [5000, 3100, 2990])
def test_reader_makes_do_with_the_memory_there_is(least_failing, rng, tmp_path):
    """Larger reservations fail; the rows that are there fit, and fit only without slack in the last case."""
    data = large_file(3000, rng, late_width=13)
    path = write(tmp_path, data)
    empty = np.empty

    def tight(shape: Any, *args: Any, **options: Any) -> Any:
        if isinstance(shape, tuple) and shape[0] >= least_failing:
            raise MemoryError
        return empty(shape, *args, **options)

    with cut_into(2000, 4000), mock.patch.object(np, "empty", tight):
        result = outcome(load_letor, path)
    if least_failing > 3000:
        assert_same(result, twin.read(data, dtype=np.float32))
    else:
        found = re.search(
            r"dense matrix that fits in memory, got ([0-9,]+) rows of 13 features up to here", str(result)
        )
        assert 2990 <= int(found[1].replace(",", "")) <= 3000


def test_reader_width_that_no_memory_holds(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1\n" * 100)
    for read in (load_letor, lambda path, **options: next(iter_letor(path, **options))):
        with pytest.raises(DataFormatError, match="dense matrix that fits in memory, got 100 rows of [0-9,]+ features"):
            read(path, n_features=2**31 - 1)


@pytest.mark.parametrize("index_base", [0, 1])
def test_reader_width_that_grows_all_along_costs_few_copies(index_base, tmp_path):
    data = b"".join(b"1 qid:1 1:2 %d:%d\n" % (i, i) for i in range(2, 600))
    path = write(tmp_path, data)
    with cut_into(20), mock.patch.object(_Store, "widen", autospec=True, side_effect=_Store.widen) as widen:
        assert_same(load_letor(path, index_base=index_base), twin.read(data, dtype=np.float32, index_base=index_base))
    assert 5 < widen.call_count < 30


def test_cut_columns_in_many_steps(rng):
    X = rng.standard_normal((3000, 1000)).astype(np.float32)
    for width in (0, 1, 999, 1000):
        cut = X.copy()
        _cut_columns(cut, width)
        assert np.array_equal(cut.reshape(-1)[: 3000 * width].reshape(3000, width), X[:, :width])


@pytest.mark.parametrize("n_jobs", [1, 7, 8, 31, 32, 1000])
def test_reader_text_in_memory_is_bounded(n_jobs, tmp_path):
    path = write(tmp_path, b"")
    os.truncate(path, 1 << 30)
    with _text.TextReader(path, n_jobs) as reader:
        size = sum(len(buffer) for buffer in reader._buffers)
    assert size <= (max(4, min(n_jobs, 32)) << 20) + 1000


# Pipes.


@contextmanager
def pipe_with(folder: Path, data: bytes, piece: int):
    """A named pipe into which a thread writes."""
    path = folder / "pipe"
    os.mkfifo(path)

    def feed() -> None:
        with suppress(BrokenPipeError), path.open("wb", buffering=0) as pipe:
            for start in range(0, len(data), piece):
                pipe.write(data[start : start + piece])

    writer = threading.Thread(target=feed)
    writer.start()
    yield path
    writer.join()
    path.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
def test_reader_pipe_gives_what_a_file_gives(pack, piece, rng, tmp_path):
    data = large_file(60 if piece == 1 else 2000, rng, late_width=12)
    table = twin.read(data, dtype=np.float32)
    for sparse, block in itertools.product((False, True), (700, 1 << 18)):
        with cut_into(block), pipe_with(tmp_path, pack(data), piece) as path:
            assert_same(load_letor(path, sparse=sparse, n_jobs=2), table)
        with cut_into(block), pipe_with(tmp_path, pack(data), piece) as path:
            assert_same_queries(path, table, sparse=sparse, n_features=12)
    with pipe_with(tmp_path, pack(b"3\n4\n"), piece) as path:
        assert load_group(path).tolist() == [3, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("data", [b"", b"1", b"\x1f"])
def test_reader_pipe_of_a_byte_or_none(data, tmp_path):
    with pipe_with(tmp_path, data, 1) as path, pytest.raises(DataFormatError, match="expected"):
        load_letor(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_reader_pipe_shows_no_fraction(tmp_path):
    bar = mock.MagicMock(spec=Progress)
    with cut_into(50), pipe_with(tmp_path, GOOD * 40, 1000) as path:
        load_letor(path, progress=bar)
    assert [call.args for call in bar.update.call_args_list] in ([], [(1.0,)])


# gzip.


def test_reader_gzip_of_several_members(rng, tmp_path):
    data = large_file(300, rng)
    for cut in (1, 100, 5000, len(data) - 1):
        check(write(tmp_path, gzip.compress(data[:cut]) + gzip.compress(data[cut:]), "data.gz"), dtypes=(np.float32,))


def test_reader_gzip_is_known_by_its_bytes_not_by_its_name(tmp_path):
    check(write(tmp_path, gzip.compress(b"1 qid:1 1:1\n"), "data.txt"))
    check(write(tmp_path, b"1 qid:1 1:1\n", "data.gz"))


def test_reader_truncated_gzip_at_every_byte(rng, tmp_path):
    data = large_file(60, rng)
    packed = gzip.compress(data)
    for cut in range(2, len(packed), 7):
        path = write(tmp_path, packed[:cut], "cut.gz")
        with (
            cut_into(1 << 16),
            pytest.raises(DataFormatError, match=r"expected a whole gzip file, got .* cut off after .*; copy") as info,
        ):
            load_letor(path, n_jobs=1 + cut % 2)
        assert info.value.path == str(path)
        with cut_into(500), pytest.raises(DataFormatError, match="expected"):
            list(iter_letor(path))
    for cut in (0, 1):
        with pytest.raises(DataFormatError, match="expected"):
            load_letor(write(tmp_path, packed[:cut], "cut.gz"))


def test_reader_gzip_with_a_changed_byte(rng, tmp_path):
    data = large_file(60, rng)
    packed = gzip.compress(data)
    table = twin.read(data, dtype=np.float32)
    failures = 0
    for place in range(2, len(packed), 5):
        path = write(tmp_path, packed[:place] + bytes([packed[place] ^ 0x14]) + packed[place + 1 :], "bad.gz")
        with cut_into(1 << 16):
            result = outcome(load_letor, path)
        if isinstance(result, DataFormatError):
            assert "expected a whole gzip file, got one that is damaged" in str(result)
            failures += 1
        else:
            assert_same(result, table)  # a byte of the header that says nothing about the data
    assert failures > 0.9 * len(range(2, len(packed), 5))


def test_reader_gzip_with_rubbish_behind(tmp_path):
    path = write(tmp_path, gzip.compress(b"1 qid:1 1:1\n") + b"rubbish", "data.gz")
    with pytest.raises(DataFormatError, match="expected a whole gzip file"):
        load_letor(path)


# List lengths.

WITHOUT_QID = b"2 1:0.5 2:1\n0 2:0.25\n# between\n1 1:3\n0 1:4 # docid = z\n"


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_reader_finds_side_file(ending, tmp_path):
    path = write(tmp_path, WITHOUT_QID)
    write(tmp_path, b"3\n1\n", path.name + ending)
    data = load_letor(path)
    assert_same(data, twin.read(WITHOUT_QID, dtype=np.float32, with_qid=False))
    assert data.qptr.tolist() == [0, 3, 4]
    assert data.qid.tolist() == [0, 1]


def test_reader_side_file_is_not_used_where_lines_have_qids(tmp_path):
    path = write(tmp_path, b"1 qid:a 1:1\n0 qid:b 1:1\n")
    write(tmp_path, b"2\n", path.name + ".query")
    assert load_letor(path).qid.tolist() == ["a", "b"]


@pytest.mark.parametrize("group", [[3, 1], np.array([3, 1], dtype=np.uint8), "sizes.txt", Path("sizes.txt.gz")])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_reader_lengths_given(group, n_jobs, tmp_path):
    path = write(tmp_path, WITHOUT_QID)
    write(tmp_path, b"4\n", path.name + ".query")  # what is given counts
    write(tmp_path, b" 3 \r\n\n1", "sizes.txt")
    write(tmp_path, gzip.compress(b"3\n1\n"), "sizes.txt.gz")
    group = tmp_path / group if isinstance(group, (str, Path)) else group
    check(path, group=group, jobs=(n_jobs,))
    assert load_letor(path, group=group).sizes.tolist() == [3, 1]


def test_reader_lengths_and_qids_together(tmp_path):
    path = write(tmp_path, b"1 qid:b 1:1\n0 qid:b 1:2\n0 qid:a 1:3\n")
    assert load_letor(path, group=[2, 1]).qid.tolist() == ["b", "a"]
    with pytest.raises(
        DataFormatError, match=r"qid: expected one id per group, got .*'b'.* and .*'a'.* \(row 2\) in group 1"
    ):
        load_letor(path, group=[1, 2])
    with pytest.raises(DataFormatError, match="the boundary splits a query; pass qid alone, or mend the sizes"):
        load_letor(path, group=[1, 1, 1])


def test_reader_lengths_and_qids_behind_a_long_comment(tmp_path):
    path = write(tmp_path, b"#" * 70_000 + b"\n1 qid:b 1:1\n0 qid:b 1:2\n")
    assert load_letor(path, group=[2]).qid.tolist() == ["b"]


@pytest.mark.parametrize("given_as", ["array", "file", "found"])
def test_reader_lengths_that_do_not_add_up(given_as, tmp_path):
    path = write(tmp_path, WITHOUT_QID)
    side = write(tmp_path, b"2\n1\n", "data.txt.query" if given_as == "found" else "sizes")
    group = {"array": [2, 1], "file": side, "found": None}[given_as]
    with pytest.raises(
        DataFormatError, match=r"expected sizes that add up to the 4 rows of X, got 2 sizes .* to 3"
    ) as info:
        load_letor(path, group=group)
    assert info.value.path == str(path if given_as == "array" else side)


@pytest.mark.parametrize("bad", [b"x", b"-1", b"1.5", b"1 2", b"\xff", b"99999999999999999999", b"1" * 5000, b"\x00"])
def test_load_group_bad_line(bad, tmp_path):
    path = write(tmp_path, b"3\n\n" + bad + b"\n4\n")
    for block in (1, 1 << 20):
        with (
            cut_into(block),
            pytest.raises(DataFormatError, match=r"expected the number of rows of one query, got .*; write") as info,
        ):
            load_group(path)
        assert (info.value.path, info.value.line) == (str(path), 3)


def test_load_group_many_blocks(tmp_path):
    path = write(tmp_path, b"".join(b"%d\n" % i for i in range(500)))
    with cut_into(10, 70):
        assert load_group(path).tolist() == list(range(500))


# Real files.


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("letor4-mq2008/Fold1/vali.txt.gz", {}),
        ("letor3-ohsumed/QueryLevelNorm/Fold1/vali.txt.gz", {}),
        ("mslr-sample/msn1.fold1.test.5k.txt.gz", {}),
        ("jjfiv-fastrank/trec_news_2018.train", {}),
        ("letor3-ohsumed/Feature-null/Fold1/validationset.txt.gz", {"missing": "nan"}),
        ("letor3-ohsumed/Feature-null/Fold1/validationset.txt.gz", {"missing": 0.0}),
        ("letor3-ohsumed/Feature-null/Fold1/validationset.txt.gz", {}),
    ],
)
def test_reader_real_file_agrees_with_twin(name, options, data_room):
    check(data_room / name, dtypes=(np.float32,), jobs=(2,), **options)


def test_reader_real_files_with_side_files(data_room):
    path = data_room / "lightgbm-lambdarank" / "rank.test"
    sizes = [int(line) for line in (path.parent / "rank.test.query").read_text().split()]
    check(path, group=sizes, dtypes=(np.float64,), jobs=(2,))
    assert load_letor(path).sizes.tolist() == sizes


# Mistakes.

MISTAKES = [
    # kind, line, options, message
    ("bad_grade", b"x qid:1 1:1", {}, r"to start with a grade \(a number, such as 0 or 2\), got 'x'"),
    ("bad_grade", b"qid:1 1:1", {}, "to start with a grade .*, got 'qid:1'"),
    ("bad_grade", b"1qid:1 1:1", {}, "to start with a grade .*, got '1qid:1'"),
    ("bad_grade", b"\x00 qid:1", {}, r"to start with a grade .*, got '\\x00'"),
    ("bad_grade", b"\xef\xbb\xbf1 qid:1", {}, r"to start with a grade .*, got '\\xef\\xbb\\xbf1'"),
    ("bad_grade", b"1,0 qid:1", {}, "to start with a grade .*, got '1,0'; put '#' before lines that are not documents"),
    ("bad_grade", b"y" * 500, {}, "got 'y{60}'\\.\\.\\.; put"),
    ("negative_grade", b"-1 qid:1 1:1", {}, "a grade of 0 .* or above, got '-1'; shift the grades, or drop"),
    ("negative_grade", b"-1e-300 qid:1 1:1", {}, "a grade of 0 .* or above, got '-1e-300'"),
    ("infinite_grade", b"nan qid:1 1:1", {}, "a finite grade, got 'nan'; drop lines"),
    ("infinite_grade", b"-inf qid:1 1:1", {}, "a finite grade, got '-inf'"),
    ("infinite_grade", b"NULL qid:1 1:1", {"missing": "nan"}, "a finite grade, got 'NULL'"),
    ("infinite_grade", b"1e400 qid:1 1:1", {}, "a finite grade, got '1e400'"),
    ("no_qid", b"1 1:1", {}, "qid:ID behind the grade, got '1:1'; add the query ids, or .* list lengths"),
    ("no_qid", b"1", {}, "qid:ID behind the grade, got the end of the line"),
    ("no_qid", b"1 # docid = 3", {}, "qid:ID behind the grade, got the end of the line"),
    ("no_qid", b"1 QID:1 1:1", {}, "qid:ID behind the grade, got 'QID:1'"),
    ("no_qid", b"1 qid 1:1", {}, "qid:ID behind the grade, got 'qid'"),
    ("empty_qid", b"1 qid: 1:1", {}, "an id directly behind 'qid:', got 'qid:'; add"),
    ("empty_qid", b"1 qid:", {}, "an id directly behind 'qid:', got 'qid:'"),
    (
        "not_utf8",
        b"1 qid:a\xff 1:1",
        {},
        r"ids and comments in UTF-8 without NUL bytes, got 'a\\xff'; convert the file",
    ),
    ("not_utf8", b"1 qid:\xed\xa0\x80 1:1", {}, r"in UTF-8 .*, got '\\xed\\xa0\\x80'"),
    ("not_utf8", b"1 qid:\xc0\x80 1:1", {}, r"in UTF-8 .*, got '\\xc0\\x80'"),
    ("not_utf8", b"1 qid:\xf4\x90\x80\x80 1:1", {}, "in UTF-8"),
    ("not_utf8", b"1 qid:\xe2\x82 1:1", {}, "in UTF-8"),
    ("not_utf8", b"1 qid:a\x00 1:1", {}, r"in UTF-8 without NUL bytes, got 'a\\x00'"),
    ("not_utf8", b"1 qid:1 1:1 # docid = \x80", {}, r"in UTF-8 .*, got '\\x80'.* pass comments=None if only"),
    ("not_utf8", b"1 qid:1 1:1 # a\x00b", {}, "without NUL bytes"),
    ("bad_qid", b"1 qid:a\x0bb 1:1", {}, r"an id without white space .* behind 'qid:', got 'a\\x0bb'; write spaces"),
    ("bad_qid", b"1 qid:\x0c 1:1", {}, "an id without white space and control characters"),
    ("bad_qid", b"1 qid:a\x01 1:1", {}, "an id without white space and control characters"),
    ("bad_qid", b"1 qid:\x7f 1:1", {}, "an id without white space and control characters"),
    ("bad_qid", b"1 qid:1\xc2\xa01:2", {}, r"an id without white space .*, got '1\\xc2\\xa01:2'; write spaces"),
    ("bad_qid", "1 qid:a\u3000 1:x".encode(), {}, "an id without white space and control characters"),
    ("bad_qid", "1 qid:a\u0085 1:1".encode(), {}, "an id without white space and control characters"),
    ("late_qid", b"1 qid:1 qid:1 1:1", {}, "index:value, got 'qid:1'; the qid stands once, directly behind the grade"),
    ("late_qid", b"1 qid:1 1:1 qid:2", {}, "index:value, got 'qid:2'; the qid stands once"),
    ("bad_token", b"1 qid:1 x:1", {}, "index:value with an integer index, got 'x:1'"),
    ("bad_token", b"1 qid:1 1", {}, "index:value with an integer index, got '1'"),
    ("bad_token", b"1 qid:1 1 :2", {}, "index:value with an integer index, got '1'"),
    ("bad_token", b"1 qid:1 :1", {}, "index:value with an integer index, got ':1'"),
    ("bad_token", b"1 qid:1 -1:1", {}, "index:value with an integer index, got '-1:1'"),
    ("bad_token", b"1 qid:1 1.5:1", {}, "index:value with an integer index, got '1.5:1'"),
    ("bad_token", b"1 qid:1 1:1 docid = 5", {}, "got 'docid'; put '#' before a comment"),
    ("bad_token", b"1 qid:1 \x001:1", {}, r"index:value .*, got '\\x001:1'"),
    ("bad_token", b"1 qid:1 \xff:1", {}, r"index:value .*, got '\\xff:1'"),
    ("bad_index", b"1 qid:1 0:1", {}, "a feature index of 1 or above .*, got '0:1'; pass index_base=0 for files"),
    ("bad_index", b"1 qid:1 2147483647:1", {}, "and below 2\\^31 - 1\\), got '2147483647:1'"),
    ("bad_index", b"1 qid:1 99999999999999999999:1", {}, "below 2\\^31 - 1\\), got '9{20}:1'"),
    ("bad_index", b"1 qid:1 99999999999999999999", {}, "below 2\\^31 - 1"),
    ("bad_index", b"1 qid:1 " + b"9" * 5000 + b":1", {"n_features": 9}, "below 2\\^31 - 1"),
    (
        "bad_index",
        b"1 qid:1 1:1 4:1",
        {"n_features": 3},
        "indices up to 3, as n_features .*, got '4:1'; pass a larger n_features=",
    ),
    (
        "bad_index",
        b"1 qid:1 1:1 3:1",
        {"n_features": 3, "index_base": 0},
        "indices up to 2, as n_features .*, got '3:1'",
    ),
    ("bad_index", b"1 qid:1 0:1", {"n_features": 0, "index_base": 0}, "indices up to -1"),
    (
        "unordered",
        b"1 qid:1 2:1 1:1",
        {},
        "ascending feature indices, got '1:1' behind a larger index; sort the features",
    ),
    ("duplicate", b"1 qid:1 2:1 2:1", {}, "each feature once, got '2:1' behind the same index; remove one"),
    ("duplicate", b"1 qid:1 0:1 0:2", {"index_base": 0}, "each feature once, got '0:2'"),
    ("bad_number", b"1 qid:1 1:x", {}, "index:number, got '1:x'; write numbers as"),
    ("bad_number", b"1 qid:1 1:", {}, "index:number, got '1:'"),
    ("bad_number", b"1 qid:1 1: 2", {}, "index:number, got '1:'"),
    ("bad_number", b"1 qid:1 1:1,5", {}, "index:number, got '1:1,5'"),
    ("bad_number", b"1 qid:1 1:1_0", {}, "index:number, got '1:1_0'"),
    ("bad_number", b"1 qid:1 1:0x1", {}, "index:number, got '1:0x1'"),
    ("bad_number", b"1 qid:1 1:--1", {}, "index:number, got '1:--1'"),
    ("bad_number", b"1 qid:1 1:1e", {}, "index:number, got '1:1e'"),
    ("bad_number", b"1 qid:1 1:1:2", {}, "index:number, got '1:1:2'"),
    ("bad_number", b"1 qid:1 1:nanx", {"missing": "nan"}, "index:number, got '1:nanx'"),
    ("bad_number", b"1 qid:1 1:1\x002:1", {}, r"index:number, got '1:1\\x002:1'"),
    ("bad_number", b"1 qid:1 1:1\x00", {}, r"index:number, got '1:1\\x00'"),
    ("bad_number", b"1 qid:1 1:1\xff", {}, r"index:number, got '1:1\\xff'"),
    ("bad_number", "1 qid:1 1:٣".encode(), {}, "index:number, got"),
    ("missing", b"1 qid:1 1:NULL", {}, "a number, got the missing value '1:NULL'; pass missing='nan' .* or the number"),
    ("missing", b"1 qid:1 1:nan", {}, "a number, got the missing value '1:nan'"),
    ("infinite", b"1 qid:1 1:inf", {}, "a finite float.., got '1:inf'; clip or drop"),
    ("infinite", b"1 qid:1 1:-Infinity", {"missing": "nan"}, "a finite float.., got '1:-Infinity'"),
    ("infinite", b"1 qid:1 1:1e999", {}, "a finite float.., got '1e999'; clip or drop"),
    ("infinite", b"1 qid:1 1:0." + b"0" * 123_456 + b"1e1234567", {}, "a finite float.., got '0.0*'\\.\\.\\."),
]
GOOD = b"1 qid:1 1:0.5 2:0.25 # docid = x\n"


def mistake_of(read: Any, path: Path, line: int, message: str) -> None:
    """The error names file, line, what was expected and what came."""
    with pytest.raises(DataFormatError, match=f"^{re.escape(str(path))}:{line}: expected .*{message}") as info:
        read()
    assert (info.value.path, info.value.line) == (str(path), line)


@pytest.mark.parametrize(("kind", "line", "options", "message"), MISTAKES)
def test_mistake_message_path_and_line(kind, line, options, message, tmp_path):
    good = GOOD.replace(b"1:0.5 2:0.25", b"") if options.get("n_features") == 0 else GOOD
    data = good * 3 + b"# comment\n\n" + line + b"\n" + good
    with pytest.raises(twin.MistakeError) as info:
        twin.read(data, **options)
    assert (info.value.kind, info.value.line) == (kind, 6)
    path = write(tmp_path, data)
    for dtype, sparse in itertools.product(DTYPES, (False, True)):
        mistake_of(lambda d=dtype, s=sparse: load_letor(path, dtype=d, sparse=s, **options), path, 6, message)
        mistake_of(lambda d=dtype, s=sparse: list(iter_letor(path, dtype=d, sparse=s, **options)), path, 6, message)
    for lone in (line, line + b"\n"):
        alone = write(tmp_path, lone, "alone.txt")
        mistake_of(partial(load_letor, alone, **options), alone, 1, message)
        mistake_of(lambda path=alone: list(iter_letor(path, **options)), alone, 1, message)


@pytest.mark.parametrize("kind", sorted({mistake[0] for mistake in MISTAKES}))
@pytest.mark.parametrize("sparse", [False, True])
def test_mistake_deep_in_the_file_earliest_is_reported(kind, sparse, tmp_path):
    _, line, options, message = next(mistake for mistake in MISTAKES if mistake[0] == kind)
    lines = [GOOD] * 2000
    lines[1233] = line + b"\n"
    for later in (1234, 1300, 1999):  # just behind, in a later block of the batch, in a later batch
        lines[later] = b"another mistake\n"
    path = write(tmp_path, b"".join(lines))
    packed = write(tmp_path, gzip.compress(path.read_bytes(), 1)[:-4], "cut.gz")
    for n_jobs, (block, batch) in itertools.product(JOBS, ((1000, 8000), (300, 2400), (1 << 20, 1 << 23))):
        with cut_into(block, batch):
            mistake_of(lambda j=n_jobs: load_letor(path, n_jobs=j, sparse=sparse, **options), path, 1234, message)
            mistake_of(lambda j=n_jobs: list(iter_letor(path, n_jobs=j, sparse=sparse, **options)), path, 1234, message)
            if batch < 1 << 20:  # the mistake is met before the end that is cut off
                mistake_of(
                    lambda j=n_jobs: load_letor(packed, n_jobs=j, sparse=sparse, **options), packed, 1234, message
                )


@pytest.mark.parametrize("value", [b"1e39", b"1e999", b"-1e39"])
@pytest.mark.parametrize("column", [1, 50])
def test_mistake_too_large_value_before_another_is_reported(value, column, tmp_path):
    path = write(tmp_path, GOOD * 10 + b"1 qid:1 %d:%s\n" % (column, value) + b"another mistake\n")
    with cut_into(40, 1 << 16):
        mistake_of(
            lambda: load_letor(path), path, 11, "a finite float32, got .*; clip or drop .* or pass dtype='float64'"
        )
        mistake_of(lambda: load_letor(path, sparse=True), path, 11, "a finite float32, got")


def test_value_too_large_for_float32_only(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1e39 2:3.4028235677973366e38\n")
    check(path)
    assert load_letor(path, dtype="float64").X.tolist() == [[1e39, 3.4028235677973366e38]]
    with pytest.raises(DataFormatError, match="finite float32, got '1:1e39'"):
        load_letor(path)


def test_mistake_qid_without_qids_elsewhere(tmp_path):
    path = write(tmp_path, b"1 1:1\n0 qid:1 1:1\n")
    mistake_of(
        lambda: load_letor(path, group=[2]), path, 2, "index:value, got 'qid:1'; the qid stands once, .* or on none"
    )
    path = write(tmp_path, b"1 qid:1 1:1\n0 1:1\n")
    mistake_of(lambda: load_letor(path, group=[2]), path, 2, "qid:ID behind the grade, got '1:1'")


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b" \t\r\n\n", b"# only\n# comments", gzip.compress(b""), gzip.compress(b"#\n")],
    ids=["empty", "newline", "blanks", "comments", "gzip empty", "gzip comment"],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_mistake_no_rows(data, sparse, tmp_path):
    path = write(tmp_path, data)
    for block in (1, 1 << 20):
        for read in (load_letor, lambda *args, **options: list(iter_letor(*args, **options))):
            with (
                cut_into(block),
                pytest.raises(DataFormatError, match=r"at least one line .*, got an empty file or only") as info,
            ):
                read(path, sparse=sparse)
            assert (info.value.path, info.value.line) == (str(path), None)


def test_mistake_no_such_file_and_folder(tmp_path):
    for read in (load_letor, load_group, lambda path: next(iter_letor(path))):
        with pytest.raises(FileNotFoundError, match="absent"):
            read(tmp_path / "absent")
        with pytest.raises(DataFormatError, match="expected a text file, got a folder; pass the path of one of its"):
            read(tmp_path)
    path = write(tmp_path, WITHOUT_QID)
    with pytest.raises(FileNotFoundError, match="absent"):
        load_letor(path, group=tmp_path / "absent")


def test_mistake_folder_of_a_binary_cache(rng, tmp_path):
    a_dataset(rng).save(tmp_path / "cache")
    for read in (load_letor, lambda path: next(iter_letor(path))):
        with pytest.raises(DataFormatError, match=r"got a folder; .* or open a binary cache with RankingDataset\.load"):
            read(tmp_path / "cache")


@pytest.mark.parametrize(
    ("data", "mend"),
    [
        (b"\xef\xbb\xbf" + ADVERSARIAL["plain"], "save the file without a byte order mark"),
        (ADVERSARIAL["plain"].decode().encode("utf-16"), "convert the file from UTF-16 to UTF-8"),
        (b"\xfe\xff" + ADVERSARIAL["plain"].decode().encode("utf-16-be"), "convert the file from UTF-16 to UTF-8"),
        (bz2.compress(ADVERSARIAL["plain"]), "which bzip2 packed; only gzip"),
        (lzma.compress(ADVERSARIAL["plain"]), "which xz packed; only gzip"),
        (b"\x28\xb5\x2f\xfd\x24\x0c\x61", "which zstd packed; only gzip"),
        (b"PK\x03\x04\x14\x00", "unpack the zip archive; only gzip"),
    ],
)
def test_mistake_file_of_another_kind(data, mend, tmp_path):
    path = write(tmp_path, data)
    mistake_of(lambda: load_letor(path), path, 1, f"a grade .*, got .*; .*{mend}")
    path = write(tmp_path, GOOD + data)
    mistake_of(lambda: load_letor(path), path, 2, "a grade .*; put '#' before lines")


def test_mistake_line_of_100_megabytes(tmp_path):
    path = write(tmp_path, GOOD * 3)
    os.truncate(path, 100 << 20)  # a hole: no newline for 100 MB
    mistake_of(lambda: load_letor(path), path, 4, "lines of at most 64 MiB, got a longer one; is this a text file")


@pytest.mark.parametrize("before", [0, 1, 30])
def test_mistake_line_longer_than_allowed(before, tmp_path):
    path = write(tmp_path, GOOD * before + b"1 qid:1 1:" + b"0" * 5000 + b"1\n")
    with cut_into(64), mock.patch.object(_text, "MAX_LINE_BYTES", 1000):
        mistake_of(lambda: load_letor(path), path, before + 1, "lines of at most .*, got a longer one")
    with cut_into(64), mock.patch.object(_text, "MAX_LINE_BYTES", 8000):
        check(path)


@pytest.mark.parametrize("n_jobs", JOBS)
def test_mistake_before_a_damaged_batch_is_reported(n_jobs, tmp_path):
    """The next batch is read while a batch is parsed: what is wrong with it comes later in the file."""
    path = write(tmp_path, GOOD * 3 + b"broken\n" + b"1 qid:1 1:" + b"0" * 5000 + b"1\n")
    with cut_into(4 * len(GOOD)), mock.patch.object(_text, "MAX_LINE_BYTES", 1000):
        mistake_of(
            lambda: load_letor(path, n_jobs=n_jobs, n_features=2), path, 4, "to start with a grade .*, got 'broken'"
        )
        path.write_bytes(path.read_bytes().replace(b"broken\n", b""))
        mistake_of(
            lambda: load_letor(path, n_jobs=n_jobs, n_features=2), path, 4, "lines of at most .*, got a longer one"
        )


def test_mistake_index_that_no_memory_holds(tmp_path):
    path = write(tmp_path, b"1 qid:1 1:1\n" * 100_000 + b"1 qid:1 2147483646:1\n")
    with pytest.raises(
        DataFormatError,
        match=r"dense matrix that fits in memory, got .* of 2,147,483,646 features up to here; pass sparse",
    ):
        load_letor(path)
    assert load_letor(path, sparse=True).X.shape == (100_001, 2_147_483_646)


def test_mistake_is_seen_only_in_what_is_kept(tmp_path):
    path = write(tmp_path, b"# \xff\x00\n1 qid:1 1:1 # docid = a \xff\n0 qid:1 1:1 # docid = b\n")
    check(path)
    assert list(load_letor(path).docid) == ["a", "b"]
    check(path, comments=None)
    check(path, comments="all")


# Fuzz.


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, removed, added or moved."""
    text = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, len(text)))
        kind = rng.integers(0, 5)
        if kind == 0:
            text[place] = int(rng.integers(0, 256))
        elif kind == 1:
            del text[place : place + int(rng.integers(1, 5))]
        elif kind == 2:
            text[place:place] = bytes(
                rng.choice(list(b" \t\r\n#:.eE+-0123456789nafiqd\x00\xff"), rng.integers(1, 4)).tolist()
            )
        elif kind == 3:
            stop = place + int(rng.integers(1, 20))
            text[place:place] = text[place:stop]
        else:
            text[place:] = b""
        if not text:
            return b""
    return bytes(text)


@pytest.mark.parametrize("seed", range(4))
def test_fuzz_mutated_file_gives_the_same_or_an_error(seed, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "fuzz.txt"
    failures = 0
    for turn in range(400):
        data = mutated((ADVERSARIAL["plain"] + ADVERSARIAL["docid forms"][:200]) * 2, rng)
        path.write_bytes(data)
        options = {"n_features": 40} if turn % 2 else {"sparse": True}
        with cut_into(int(rng.integers(1, 200)), 150):
            table = outcome(twin.read, data, dtype=np.float32, n_features=options.get("n_features"))
            result = outcome(load_letor, path, n_jobs=1 + turn % 3, **options)
        if isinstance(table, twin.MistakeError):
            failures += 1
            assert isinstance(result, DataFormatError), (table, data)
            assert (result.line, result.path) == (table.line, str(path)), (table, data)
        else:
            assert_same(result, table)
    assert 40 < failures < 390


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200))
def test_fuzz_any_bytes(folder, data):
    path = write(folder, data.removeprefix(b"\x1f\x8b"))
    with cut_into(16, 64):
        check(path, jobs=(2,), dtypes=(np.float32,), n_features=20)


# Long ids.


def test_reader_one_very_long_qid_among_many(tmp_path):
    ids = [f"q{i}" for i in range(20_000)]
    ids[7] = "x" * 1_000_000
    path = write(tmp_path, "".join(f"1 qid:{one} 1:1\n0 qid:{one} 1:2\n" for one in ids).encode())
    data = load_letor(path)
    assert data.qid.dtype == object
    assert data.qid.tolist() == ids
    path = write(tmp_path, path.read_bytes() + b"1 qid:q3 1:3\n")
    data = load_letor(path)
    assert data.qid.tolist() == ids
    assert data.sizes[3] == 3
    assert load_letor(write(tmp_path, ADVERSARIAL["qid of many digits"])).qid.dtype.kind == "U"


# Writing.


def a_dataset(
    rng: np.random.Generator, dtype: Any = np.float32, *, sparse: bool = False, docid: bool = True
) -> RankingDataset:
    X = (rng.standard_normal((60, 7)) * 10.0 ** rng.integers(-8, 8, (60, 7))).astype(dtype)
    X[rng.random((60, 7)) < 0.4] = 0
    X[0, :4] = [-0.0, 1, 1 / 3, np.finfo(dtype).tiny]
    return RankingDataset(
        sp.csr_array(X) if sparse else X,
        rng.integers(0, 5, 60),
        qid=rng.integers(-3, 9, 60),
        docid=[f"d{i}" for i in range(60)] if docid else None,
    )


def assert_round_trip(
    data: RankingDataset, path: Path, *, decimals: int | None = None, **options: Any
) -> RankingDataset:
    save_letor(data, path, decimals=decimals, index_base=options.get("index_base", 1))
    back = load_letor(path, dtype=data.X.dtype, n_features=data.n_features, sparse=sp.issparse(data.X), **options)
    assert back.y.tolist() == data.y.tolist()
    assert [str(one) for one in back.row_qid().tolist()] == [str(one) for one in data.row_qid().tolist()]
    assert (back.docid is None) == (data.docid is None)
    assert back.docid is None or list(back.docid) == [str(one) for one in data.docid]
    if decimals is None:
        one, two = (X.toarray() if sp.issparse(X) else X for X in (data.X, back.X))
        assert np.array_equal(one, two, equal_nan=True)
        if not sp.issparse(data.X):
            assert (np.signbit(one) == np.signbit(two)).all()
    return back


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("index_base", [0, 1])
def test_save_and_load_gives_the_same_bits(dtype, sparse, name, index_base, rng, tmp_path):
    path = tmp_path / name
    assert_round_trip(a_dataset(rng, dtype, sparse=sparse), path, index_base=index_base)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert [file.name for file in tmp_path.iterdir()] == [name]


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_save_and_load_any_doubles(folder, values):
    data = RankingDataset(np.array([values]), [1], qid=[1])
    assert_round_trip(data, folder / "out.txt")


@pytest.mark.parametrize("sparse", [False, True])
def test_save_and_load_with_decimals(sparse, rng, tmp_path):
    data = a_dataset(rng, np.float64, sparse=sparse)
    back = assert_round_trip(data, tmp_path / "out.txt", decimals=6)
    one, two = (X.toarray() if sparse else X for X in (data.X, back.X))
    assert np.abs(one - two).max() <= 0.5e-6 * (1 + 1e-6)
    assert np.abs(one - two).max() > 0
    again = assert_round_trip(back, tmp_path / "again.txt", decimals=6)
    assert np.array_equal(again.X.toarray() if sparse else again.X, two)


def test_save_text_by_hand(tmp_path):
    data = RankingDataset([[0.5, 0, -2], [1e-7, 3, 4]], [2, 0], qid=["b", "a"], docid=["x", ""])
    save_letor(data, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "2 qid:b 1:0.5 2:0 3:-2 #docid = x\n0 qid:a 1:0.0000001 2:3 3:4\n"
    save_letor(data, tmp_path / "out.txt", decimals=2, index_base=0)
    assert (
        tmp_path / "out.txt"
    ).read_text() == "2 qid:b 0:0.50 1:0.00 2:-2.00 #docid = x\n0 qid:a 0:0.00 1:3.00 2:4.00\n"


@pytest.mark.parametrize(
    "grades",
    [[1234567, 2147483647], [0.5, 1 / 3], [1e300, 1e-300], [3e9, 0.1 + 0.2], [12345678.5, 0], [2**53 + 2.0, 1]],
)
def test_save_and_load_grades(grades, tmp_path):
    back = assert_round_trip(RankingDataset([[1.0], [2.0]], grades, qid=[1, 1]), tmp_path / "out.txt")
    assert back.y.tolist() == grades


@pytest.mark.parametrize("qid", [["a", "b"], ["007", "7"], [3, -4], [2.5, 1.0], ["é", "日"], ["9" * 30, "1"]])
def test_save_and_load_qids(qid, tmp_path):
    back = assert_round_trip(RankingDataset([[1.0], [2.0]], [1, 0], qid=qid), tmp_path / "out.txt")
    assert back.n_queries == 2


@pytest.mark.parametrize("docid", [["", "x"], ["x", ""], ["docid", "="], ["é", "日"], ["a=b", "docid=3"]])
def test_save_and_load_docids(docid, tmp_path):
    assert_round_trip(RankingDataset([[1.0], [2.0]], [1, 0], qid=[1, 1], docid=docid), tmp_path / "out.txt")


@pytest.mark.parametrize("sparse", [False, True])
def test_save_and_load_missing_values(sparse, tmp_path):
    X = np.array([[np.nan, 1], [2, np.nan]])
    data = RankingDataset(sp.csr_array(X) if sparse else X, [1, 0], qid=[1, 1], allow_nan=True)
    assert_round_trip(data, tmp_path / "out.txt", missing="nan")


def test_save_without_features_or_entries(tmp_path):
    assert_round_trip(RankingDataset(np.zeros((2, 0)), [1, 0], qid=[1, 1]), tmp_path / "out.txt")
    assert_round_trip(RankingDataset(sp.csr_array((2, 3)), [1, 0], qid=[1, 1]), tmp_path / "out.txt")


def test_save_same_data_same_bytes(rng, tmp_path):
    data = a_dataset(rng)
    for name in ("a.gz", "b.gz"):
        save_letor(data, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_save_what_the_format_cannot_hold(tmp_path):
    data = RankingDataset(np.ones((3, 1)), [1, 0, 1], group=[2, 0, 1, 0])
    with pytest.raises(
        ValueError, match=r"every query, got 2 queries without, the first is query 1; .*sizes > 0\], or"
    ):
        save_letor(data, tmp_path / "out.txt")
    save_letor(data[data.sizes > 0], tmp_path / "out.txt")
    assert load_letor(tmp_path / "out.txt").sizes.tolist() == [2, 1]
    (tmp_path / "out.txt").unlink()
    with pytest.raises(ValueError, match=r"dataset: expected at least one row, got none, .*; save the"):
        save_letor(RankingDataset(np.ones((0, 1)), [], qid=[]), tmp_path / "out.txt")
    entry = sp.csr_array(([1.0], ([0], [2**31 - 3])), shape=(1, 2**31 - 2))
    save_letor(RankingDataset(entry, [1], qid=[1]), tmp_path / "out.txt")
    assert load_letor(tmp_path / "out.txt", sparse=True).X.shape == (1, 2**31 - 2)
    (tmp_path / "out.txt").unlink()
    entry = sp.csr_array(([1.0], ([0], [2**32])), shape=(1, 2**32 + 1))
    with pytest.raises(
        ValueError, match="expected at most 2,147,483,646 features, as load_letor reads, got 4,294,967,297"
    ):
        save_letor(RankingDataset(entry, [1], qid=[1]), tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a b", "a#b", "a\tb", "a\nb", "a\0b", "\u2003", "a\x01", "\x7f"])
@pytest.mark.parametrize("name", ["qid", "docid"])
def test_save_id_that_the_format_cannot_hold(name, text, tmp_path):
    ids = {"qid": [1, 1], "docid": ["x", "y"]} | {name: ["x", text]}
    with pytest.raises(ValueError, match=f"{name}: expected ids that LETOR text can hold .*; rename such ids, or save"):
        save_letor(RankingDataset([[1.0], [2.0]], [1, 0], **ids), tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("decimals", [-1, 16])
def test_save_decimals_that_make_no_sense(decimals, rng, tmp_path):
    with pytest.raises(ValueError, match="decimals: expected"):
        save_letor(a_dataset(rng), tmp_path / "out.txt", decimals=decimals)


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("failing", ["row", "sync", "replace", "interrupt"])
def test_save_that_fails_leaves_nothing_half_written(name, exists, failing, rng, tmp_path):
    data = a_dataset(rng)
    path = tmp_path / name
    if exists:
        path.write_bytes(b"old")
    error = KeyboardInterrupt() if failing == "interrupt" else OSError("No space left on device")
    if failing in ("row", "interrupt"):
        results = [_letor.format_row_into(data.X[0], None, 1, -1, bytearray(1000))] * 20
        failure = mock.patch.object(_letor, "format_row_into", side_effect=[*results, error])
    else:
        failure = (
            mock.patch("os.fsync", side_effect=error)
            if failing == "sync"
            else mock.patch.object(Path, "replace", side_effect=error)
        )
    with failure, pytest.raises(type(error)):
        save_letor(data, path)
    assert [file.name for file in tmp_path.iterdir()] == ([name] if exists else [])
    assert not exists or path.read_bytes() == b"old"


def test_save_into_a_folder_that_is_not_there(rng, tmp_path):
    with pytest.raises(FileNotFoundError):
        save_letor(a_dataset(rng), tmp_path / "absent" / "out.txt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        save_letor(a_dataset(rng), tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_save_leaves_the_data_set_as_it_is(rng, tmp_path):
    data = a_dataset(rng)
    X, y = data.X.copy(), data.y.copy()
    data.X.flags.writeable = False
    save_letor(data, tmp_path / "out.txt")
    assert data.X.tobytes() == X.tobytes()
    assert data.y.tobytes() == y.tobytes()


def test_save_permissions_are_those_of_a_new_file(rng, tmp_path):
    save_letor(a_dataset(rng), tmp_path / "out.txt")
    other = write(tmp_path, b"", "other")
    assert (tmp_path / "out.txt").stat().st_mode == other.stat().st_mode
