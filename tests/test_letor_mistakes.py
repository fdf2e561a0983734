"""What the LETOR reader says of files that are not of the format, and of files damaged at random."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letor_helpers import (
    ADVERSARIAL,
    DTYPES,
    GOOD,
    JOBS,
    WITHOUT_QID,
    a_dataset,
    assert_same,
    check,
    cut_into,
    mistake_of,
    outcome,
    write,
)
from reference import letor as twin

from fastrank._errors import DataFormatError
from fastrank.data import _text
from fastrank.data.letor import iter_letor, load_group, load_letor

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
