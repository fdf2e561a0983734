"""The LETOR reader against its twin, on files of every kind, whole and cut."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letor_helpers import (
    ADVERSARIAL,
    GOOD,
    JOBS,
    WITHOUT_QID,
    assert_same,
    assert_same_queries,
    check,
    cut_into,
    files,
    large_file,
    mistake_of,
    outcome,
    write,
)
from reference import letor as twin

from fastrank._errors import DataFormatError
from fastrank._progress import Progress
from fastrank.data import _text
from fastrank.data.letor import iter_letor, load_group, load_letor
from fastrank.data.letor.reading import _cut_columns, _Store

# Files in the format.


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
    with pytest.raises(DataFormatError, match=r"expected sizes that add up to the 4 rows, got 2 sizes .* to 3") as info:
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
