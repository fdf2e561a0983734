"""Reading judgements and runs: every file as the twin reads it, every mistake with its line."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letor_helpers import TRICKY_NUMBERS, cut_into, write
from reference import trec as twin

from fastrank._errors import DataFormatError
from fastrank.data import Qrels, Run, load_qrels, load_run

LOAD = {False: load_qrels, True: load_run}
KIND = {False: Qrels, True: Run}


def assert_same(read: Qrels | Run, table: twin.Table) -> None:
    """What was read is what the twin read, in the same order."""
    found = read.to_dict()
    assert list(found) == list(table.pairs)
    for qid, documents in table.pairs.items():
        assert list(found[qid].items()) == list(documents.items())
    sizes = [len(documents) for documents in table.pairs.values()]
    assert read.qptr.tolist() == np.cumsum([0, *sizes]).tolist()
    assert (len(read), read.n_queries) == (sum(sizes), len(sizes))
    if isinstance(read, Run):
        assert read.tag == table.tag
        assert read.score.dtype == np.float64
    else:
        assert read.relevance.dtype == np.int32
    again = type(read).from_dict(found)
    assert again == read
    assert np.array_equal(again._hashes, read._hashes)  # the parser's and the others' are one function


def check(path: Path, *, is_run: bool, jobs: tuple[int, ...] = (1, 2, 3, 4)) -> None:
    """Every way to read a file gives what the twin gives; where the twin finds a mistake, all find it there."""
    packed = path.read_bytes()
    data = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    try:
        expected: Any = twin.read(data, is_run=is_run)
    except twin.MistakeError as mistake:
        expected = mistake
    for n_jobs in jobs:
        if isinstance(expected, twin.Table):
            assert_same(LOAD[is_run](path, n_jobs=n_jobs), expected)
            continue
        with pytest.raises(DataFormatError) as info:
            LOAD[is_run](path, n_jobs=n_jobs)
        assert (info.value.path, info.value.line) == (str(path), expected.line), expected.kind
        if expected.earlier is not None:
            assert f"here and on line {expected.earlier};" in str(info.value)


QRELS = {
    "plain": b"301 0 a 1\n301 0 b 0\n302 0 a 2\n",
    "one line": b"301 0 a 1\n",
    "one line without newline": b"301 0 a 1",
    "no final newline": b"301 0 a 1\n302 0 a 0",
    "crlf": b"301 0 a 1\r\n301 0 b 0\r\n\r\n",
    "tabs and blanks": b"\t301 \t 0\ta   1 \t\n  301  0  b  0\n",
    "blank lines and comments": b"\n  \n# head\n301 0 a 1\n \t# 301 0 b 1\n\r\n301 0 c 0\n#\n#tail",
    "hash inside ids": b"301 0 a#b 1\n301 #0 #c 2\n3#1 0 # 1\n",
    "negative relevance": b"301 0 a -1\n301 0 b -2147483647\n301 0 c 2147483647\n",
    "writings of integers": b"q 0 a 1.0\nq 0 b 2e0\nq 0 c +3\nq 0 d -0\nq 0 e 007\nq 0 f 5.\nq 0 g 2147483647.000\n",
    "hard writings of integers": b"q 0 a 1.00000000000000000000000\nq 0 b 100000000000000000000e-20\n",
    "ids that are prefixes": b"q 0 a 1\nq 0 aa 2\nq 0 aaaaaaa 3\nq 0 aaaaaaaa 4\nq 0 aaaaaaaaa 5\nqq 0 a 6\n",
    "unicode ids": "é 0 naïve 1\nключ 0 日本 2\nключ 0 😀 0\nq 0 a\u00a0b 1\n".encode(),
    "queries that alternate": b"a 0 x 1\nb 0 x 2\na 0 y 3\nc 0 x 4\nb 0 y 5\na 0 z 6\n",
    "a query that comes again": b"a 0 x 1\na 0 y 2\nb 0 x 3\na 0 z 4\n",
    "the same documents in all queries": b"".join(
        b"q%d 0 d%d %d\n" % (q, d, q + d) for d in range(9) for q in range(7)
    ),
    "huge ids": b"q" * 5000 + b" 0 " + b"d" * 300_000 + b" 1\n" + b"q" * 5001 + b" 0 " + b"d" * 300_001 + b" 2\n",
    "delete character": b"q\x7f 0 d\x7f 1\n",
    "long comment first": b"#" + b"-" * 7000 + b"\n" + b"# more\n" * 300 + b"q 0 a 1\n",
    "mistake: empty file": b"",
    "mistake: only comments": b"# a\n\n#b\n",
    "mistake: one column": b"301 0 a 1\n301\n",
    "mistake: three columns": b"301 0 a 1\n301 0 b\n",
    "mistake: three columns at the end": b"301 0 a 1\n301 0 b",
    "mistake: five columns": b"301 0 a 1\n\n301 0 b 1 x\n",
    "mistake: a run": b"301 Q0 a 1 0.5 tag\n",
    "mistake: relevance is text": b"# c\n301 0 a one\n",
    "mistake: relevance is not whole": b"301 0 a 1\n301 0 b 0.5\n",
    "mistake: relevance is nan": b"301 0 a nan\n",
    "mistake: relevance is infinite": b"301 0 a inf\n",
    "mistake: relevance is large": b"301 0 a 2147483648\n",
    "mistake: relevance is low": b"301 0 a -2147483648\n",
    "mistake: relevance is huge": b"301 0 a 1e400\n",
    "mistake: relevance has a tail": b"301 0 a 1x\n",
    "mistake: twice": b"301 0 a 1\n302 0 a 1\n301 0 b 1\n301 0 a 1\n301 0 b 2\n",
    "mistake: twice behind comments": b"# c\n301 0 a 1\n\n# d\n302 0 a 1\n\n301 0 a 0\n",
    "mistake: twice in two queries": b"a 0 x 1\nb 0 x 1\nb 0 y 1\nb 0 y 1\na 0 x 1\n",
    "mistake: three times": b"a 0 x 1\na 0 x 1\na 0 x 1\n",
    "mistake: NUL in an id": b"301 0 a 1\n301 0 b\x00c 1\n",
    "mistake: control in a query id": b"30\x011 0 a 1\n",
    "mistake: form feed": b"301 0 a 1\n\x0c\n",
    "mistake: vertical tab between columns": b"301\x0b0 a 1 2\n",
    "mistake: Latin-1 document": b"301 0 a 1\n301 0 na\xefve 1\n301 0 b x\n",
    "mistake: Latin-1 query": b"301 0 a 1\n# c\nna\xefve 0 b 1\n",
    "mistake: a character cut in two": b"q 0 a\xc3 1\nq 0 \xa9b 1\n",
    "mistake: byte order mark": b"\xef\xbb\xbf301 0 a 1\n",
    "mistake: UTF-16": "301 0 a 1\n".encode("utf-16-le"),
    "mistake: two in one file": b"301 0 a 1\n301 0 b x\n301 0\n",
}
RUNS = {
    "plain": b"301 Q0 a 1 2.5 bm25\n301 Q0 b 2 1.5 bm25\n302 Q0 a 1 7 bm25\n",
    "one line": b"301 Q0 a 1 2.5 bm25\n",
    "one line without newline": b"301 Q0 a 1 2.5 bm25",
    "crlf": b"301 Q0 a 1 2.5 bm25\r\n301 Q0 b 1 2.5 bm25\r\n\r\n",
    "tabs and blanks": b"\t301 \t Q0\ta   1   2.5\tbm25\t \n",
    "junk behind the tag": b"q Q0 a 1 2 tag more junk\nq Q0 b 1 2 last \x01\x00\xff # x\n",
    "the last tag": b"q Q0 a 1 2 one\nq Q0 b 1 2 two\n# c\n\n",
    "comments": b"# head\nq Q0 a#b 1 2 t\n  # q Q0 c 1 2 t\nq Q0 c 1 2 #t\n",
    "ranks that are no numbers": b"q Q0 a - 2 t\nq x b first 3 t\n",
    "tricky scores": b"".join(b"q Q0 d%d 1 %s t\n" % (i, text.encode()) for i, text in enumerate(TRICKY_NUMBERS)),
    "infinite scores": b"q Q0 a 1 inf t\nq Q0 b 1 -Infinity t\nq Q0 c 1 +INF t\nq Q0 d 1 1e400 t\nq Q0 e 1 -1e400 t\n",
    "queries that alternate": b"".join(b"q%d Q0 d%d 1 %d t\n" % (q, d, d - q) for d in range(30) for q in range(9)),
    "unicode": "q Q0 日本 1 2 тег\né Q0 😀 1 2 тег\n".encode(),
    "Latin-1 tag": b"q Q0 a 1 2 na\xefve\n",
    "mistake: five columns": b"q Q0 a 1 2 t\nq Q0 a 1 2\n",
    "mistake: five columns and a blank": b"q Q0 a 1 2 \r\n",
    "mistake: judgements": b"301 0 a 1\n",
    "mistake: one column": b"q\n",
    "mistake: score is text": b"q Q0 a 1 high t\n",
    "mistake: score is nan": b"q Q0 a 1 2 t\nq Q0 b 2 nan t\n",
    "mistake: score is NULL": b"q Q0 b 2 NULL t\n",
    "mistake: score has a tail": b"q Q0 b 2 1.5x t\n",
    "mistake: score is hexadecimal": b"q Q0 b 2 0x10 t\n",
    "mistake: score has a control": b"q Q0 b 2 1\x01 t\n",
    "mistake: control in the rank": b"q Q0 b \x02 1 t\n",
    "mistake: control in the tag": b"q Q0 b 2 1 t\x02\n",
    "mistake: twice": b"q Q0 a 1 2 t\nq Q0 b 1 2 t\n\nq Q0 a 1 3 t\n",
    "mistake: empty file": b"",
}
FILES = [(False, name) for name in QRELS] + [(True, name) for name in RUNS]


@pytest.mark.parametrize(("is_run", "name"), FILES)
def test_files_as_the_twin_reads_them(is_run, name, tmp_path):
    data = (RUNS if is_run else QRELS)[name]
    path = write(tmp_path, data)
    check(path, is_run=is_run)
    check(write(tmp_path, gzip.compress(data), "data.gz"), is_run=is_run, jobs=(1, 2))
    for block in (1, 7, 40):
        with cut_into(block, 3 * block):
            check(path, is_run=is_run, jobs=(1, 3))


def test_names_of_files_say_which_are_mistakes(tmp_path):
    for is_run, name in FILES:
        try:
            twin.read((RUNS if is_run else QRELS)[name], is_run=is_run)
            assert not name.startswith("mistake"), name
        except twin.MistakeError:
            assert name.startswith("mistake"), name


ids = st.text(st.sampled_from("ab#é1-"), min_size=1, max_size=12)
gaps = st.sampled_from([" ", "  ", "\t", " \t"])


@st.composite
def lines(draw, is_run: bool) -> str:
    value = draw(st.sampled_from(TRICKY_NUMBERS) if is_run else st.integers(-3, 4).map(str))
    columns = [draw(st.sampled_from(["q", "qq", "7", "é"])), "0", draw(ids), *(["1"] if is_run else []), value]
    columns += ["tag"] if is_run else []
    if draw(st.integers(0, 30)) == 0:
        columns.pop()
    return "".join(column + draw(gaps) for column in columns)


def files(is_run: bool) -> Any:
    line = st.one_of(lines(is_run), lines(is_run), lines(is_run), st.sampled_from(["", " ", "# x", "#"]))
    ends = st.sampled_from(["\n", "\r\n"])
    return st.tuples(st.lists(st.tuples(line, ends).map("".join), max_size=25).map("".join), line).map("".join)


@pytest.mark.parametrize("is_run", [False, True])
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_file_as_the_twin_reads_it(is_run, folder, data):
    path = write(folder, data.draw(files(is_run)).encode())
    check(path, is_run=is_run, jobs=(1,))
    with cut_into(data.draw(st.sampled_from([1, 20, 90])), 100):
        check(path, is_run=is_run, jobs=(1, 2))


@pytest.mark.parametrize("is_run", [False, True])
@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_are_read_or_refused_with_the_line(is_run, folder, data):
    check(write(folder, data if data[:2] != b"\x1f\x8b" else b""), is_run=is_run, jobs=(1,))


def random_run(rng: np.random.Generator, n_queries: int, n_docs: int, *, interleaved: bool = False) -> bytes:
    rows = [
        b"q%d Q0 doc-%07d %d %.6f tag" % (query, document, rank, score)
        for query in range(n_queries)
        for rank, (document, score) in enumerate(
            zip(rng.choice(10**6, n_docs, replace=False).tolist(), rng.normal(size=n_docs).tolist(), strict=True)
        )
    ]
    if interleaved:
        rows = [rows[i] for i in rng.permutation(len(rows))]
    return b"\n".join(rows) + b"\n"


@pytest.mark.parametrize("interleaved", [False, True])
def test_many_blocks(interleaved, tmp_path, rng):
    path = write(tmp_path, random_run(rng, 40, 500, interleaved=interleaved))
    assert path.stat().st_size > 500_000
    check(path, is_run=True)


def test_the_line_of_a_late_mistake(tmp_path, rng):
    rows = random_run(rng, 30, 500, interleaved=True).splitlines()
    rows[9000:9000] = [b"", b"# comment"]
    bad = rows.copy()
    bad[12_345] = b"q1 Q0 x 1 zero tag"
    check(write(tmp_path, b"\n".join(bad)), is_run=True)
    rows.append(rows[4321])
    check(write(tmp_path, b"\n".join(rows)), is_run=True)


def test_a_million_ids_of_one_length(tmp_path):
    data = b"".join(b"q 0 D%07d 1\n" % i for i in range(10**6))
    qrels = load_qrels(write(tmp_path, data), n_jobs=2)
    assert (len(qrels), qrels.n_queries, qrels.docid[999_999]) == (10**6, 1, "D0999999")
    with pytest.raises(DataFormatError, match=r":1000001: expected each document once .* here and on line 500001;"):
        load_qrels(write(tmp_path, data + b"q 0 D0500000 1\n"))


def test_memory_is_that_of_the_content(tmp_path, rng):
    path = write(tmp_path, random_run(rng, 100, 2000))
    tracemalloc.start()
    try:
        run = load_run(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    content = sum(a.nbytes for a in (run.docid.data, run.docid.offsets, run.score, run._hashes))
    assert content < path.stat().st_size
    assert peak < 1.2 * content + (10 << 20)  # two batches of 2 MB, and the workspaces of one


def test_pipes_are_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = RUNS["queries that alternate"]
    writer = threading.Thread(target=lambda: path.write_bytes(data))
    writer.start()
    read = load_run(path)
    writer.join()
    assert_same(read, twin.read(data, is_run=True))


def message(is_run: bool, data: bytes, folder: Path) -> str:
    path = write(folder, data)
    with pytest.raises(DataFormatError) as info:
        LOAD[is_run](path)
    text = str(info.value)
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


@pytest.mark.parametrize(
    ("is_run", "data", "said"),
    [
        (False, b"q 0 a\n", ":1: expected 4 columns `qid iter docno rel`, got 3 in 'q 0 a'; complete the line"),
        (False, b"q Q0 a 1 0.5 t\n", ":1: expected 4 columns `qid iter docno rel`, got '0.5' behind them; is this "
         "a run, for load_run?"),
        (True, b"q 0 a 1\n", ":1: expected 6 columns `qid Q0 docno rank score tag`, got 4 in 'q 0 a 1'; is this a "
         "file of judgements, for load_qrels?"),
        (True, b"q Q0 a 1 2\n", ":1: expected 6 columns `qid Q0 docno rank score tag`, got 5 in 'q Q0 a 1 2'; "),
        (True, b"q Q0 a 1 nan t\n", ":1: expected a number as score, got 'nan'; write scores as 1, -0.5 or 2e-3, and "),
        (False, b"\nq 0 a yes\n", ":2: expected an integer above -2^31 and below 2^31 as relevance, got 'yes'; write"),
        (False, b"q 0 a\x01b 1\n", ":1: expected ids without control characters, separated by spaces or tabs, got "
         "'a\\x01'; rename"),
        (False, b"q 0 a\xff 1\n", ":1: expected ids in UTF-8, got 'a\\xff'; convert the file to UTF-8"),
        (False, b"q 0 a 1\nq 0 b 1\nq 0 a 0\n", ":3: expected each document once per query, got 'a' for query 'q' here "
         "and on line 1; keep one of them"),
        (False, b"# nothing\n", ": expected at least one line `qid iter docno rel`, got an empty file or only "),
        (True, b"\xef\xbb\xbfq Q0 a 1 2 t\n", ":1: expected a query id, got a byte order mark; save the file without"),
    ],
)  # fmt: skip
def test_mistakes_say_what_was_expected_and_what_came(is_run, data, said, tmp_path):
    assert message(is_run, data, tmp_path).startswith(said)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_run(tmp_path / "none")
    with pytest.raises(DataFormatError, match="expected a text file, got a folder"):
        load_qrels(tmp_path)
    packed = gzip.compress(RUNS["queries that alternate"] * 3)
    with pytest.raises(DataFormatError, match="damaged or cut off"):
        load_run(write(tmp_path, packed[:-20]))
    with pytest.raises(ValueError, match="n_jobs: expected a positive number"):
        load_run(write(tmp_path, RUNS["plain"]), n_jobs=0)


def test_real_files(data_room):
    folder = data_room / "trec_eval"
    for name in (
        "qrels.test",
        "qrels.test.with-comments",
        "qrels.rel_level",
        "qrels.comments.123",
        "qrels.comment.test",
    ):
        check(folder / name, is_run=False, jobs=(1, 2))
    for name in ("results.test", "results.trunc", "results.comment.test", "results-302.test"):
        check(folder / name, is_run=True, jobs=(1, 2))
    for name in ("compat.qrels", "cwl.qrels"):
        check(data_room / "ir_measures" / name, is_run=False, jobs=(1,))
    for name in ("compat.run", "cwl.run"):
        check(data_room / "ir_measures" / name, is_run=True, jobs=(1,))


PAIRS = {"q2": {"b": 1, "a": 0}, "é": {"b": -1}, "q1": {"日本": 3, "": 2, "aa": 5}, "none": {}}


@pytest.mark.parametrize("kind", [Qrels, Run])
def test_dictionaries_there_and_back(kind):
    made = kind.from_dict(PAIRS)
    assert made.to_dict() == PAIRS
    assert [list(documents) for documents in made.to_dict().values()] == [
        list(documents) for documents in PAIRS.values()
    ]
    assert repr(made) == f"{kind.__name__}: 4 queries, 6 documents"
    assert kind.from_dict({}).to_dict() == {}
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.to_dict() == PAIRS
    assert "_hashes" not in again.__dict__
    for array in (made.qid, made.qptr, made._values, made.docid.data, made.docid.offsets):
        assert not array.flags.writeable


def test_columns_in_any_order():
    qid, docid, value = ["b", "a", "b", "c", "a"], ["x", "x", "y", "x", "y"], [1, 2, 3, 4, 5]
    wanted = {"b": {"x": 1, "y": 3}, "a": {"x": 2, "y": 5}, "c": {"x": 4}}
    assert Qrels(qid, docid, value).to_dict() == wanted
    assert Run(np.array(qid), np.array(docid, dtype=object), np.array(value, dtype=np.float32)).to_dict() == wanted
    assert Run(np.array([2, 1, 2]), [7, 8, 9], [0.5, 1, 2]).to_dict() == {"2": {"7": 0.5, "9": 2.0}, "1": {"8": 1.0}}
    assert Qrels([], [], []).to_dict() == {}
    assert (Run(["a"], ["x"], [1], tag="mine").tag, Run(["a"], ["x"], [1]).tag) == ("mine", "fastrank")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library):
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    for names in (("qid", "docno", "label", "score"), ("query_id", "doc_id", "relevance", "score")):
        columns = [["b", "a", "b"], ["x", "x", "y"], [1, 0, 2], [0.5, 1.5, 2.5]]
        frame = make(dict(zip(names, columns, strict=True)))
        assert Qrels.from_frame(frame).to_dict() == {"b": {"x": 1, "y": 2}, "a": {"x": 0}}
        assert Run.from_frame(frame).to_dict() == {"b": {"x": 0.5, "y": 2.5}, "a": {"x": 1.5}}
    frame = make({"q": [1, 1], "d": ["x", "y"], "s": [1, 2]})
    assert Run.from_frame(frame, qid="q", docid="d", score="s").to_dict() == {"1": {"x": 1.0, "y": 2.0}}
    with pytest.raises(ValueError, match=r"docid: expected a column of the frame \(one named docid, docno, doc_id"):
        Run.from_frame(frame, qid="q")
    with pytest.raises(ValueError, match=r"qid: expected a column of the frame \('topic'\), got columns q, d, s"):
        Qrels.from_frame(frame, qid="topic")


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: Qrels(["a", "b", "a"], ["x", "x", "x"], [1, 1, 1]), ValueError,
         "docid: expected each document once per query, got 'x' for query 'a' in rows 0 and 2; keep one"),
        (lambda: Qrels(["a"], ["x", "y"], [1]), ValueError, "docid: expected 1 entry, one per query id, got 2"),
        (lambda: Run(["a"], ["x"], []), ValueError, "score: expected 1 entry, one per query id, got 0"),
        (lambda: Qrels(["a"], ["x"], [0.5]), ValueError, "relevance: expected integers above -2^31 and below 2^31, "),
        (lambda: Qrels(["a"], ["x"], [np.nan]), ValueError, "relevance: expected integers"),
        (lambda: Qrels(["a"], ["x"], [-(2**63)]), ValueError, "relevance: expected integers"),
        (lambda: Qrels(["a"], ["x"], [2**31]), ValueError, "relevance: expected integers"),
        (lambda: Run(["a", "a"], ["x", "y"], [1, np.nan]), ValueError, "score: expected numbers, got nan at position"),
        (lambda: Run(["a"], ["x"], ["high"]), TypeError, "score: expected a vector of numbers, got shape (1,) and"),
        (lambda: Run("a", ["x"], [1]), TypeError, "qid: expected a sequence with one id per row, got 'a'"),
        (lambda: Run([0.5], ["x"], [1]), TypeError, "qid: expected ids that are strings or integers, got 0.5 in row 0"),
        (lambda: Run(["a"], [None], [1]), TypeError, "docid: expected ids that are strings or integers, got None in"),
        (lambda: Run.from_dict([1]), TypeError, "pairs: expected a dict such as {'q1': {'d1': 1}}, got list"),
        (lambda: Run.from_dict({1: {}}), TypeError, "pairs: expected query ids that are strings, with a dict"),
        (lambda: Run.from_dict({"a": {2: 1}}), TypeError, "pairs: expected document ids that are strings, got 2"),
        (lambda: Run.from_dict({"a": {}, "b": {"x": 1, "y": np.nan}}), ValueError,
         "score: expected numbers, got nan for query 'b' and document 'y'; drop"),
        (lambda: Qrels.from_dict({"a": {"x": 1}, "b": {"y": 0.5}}), ValueError, "got 0.5 for query 'b' and document"),
        (lambda: Run.from_dict({"a": {"x": [1], "y": 2}}), TypeError, "score: expected a number for each document"),
        (lambda: Run.from_dict({"a": {"x": None}}), TypeError, "score: expected a vector of numbers"),
        (lambda: Run.from_frame([1]), TypeError, "frame: expected a data frame with named columns, got list"),
    ],
)  # fmt: skip
def test_wrong_columns(call, error, said):
    with pytest.raises(error, match=re.escape(said)):
        call()


def test_equality_is_of_content():
    one = Run.from_dict({"a": {"x": 1, "y": 2}})
    assert one == Run(["a", "a"], ["x", "y"], [1, 2])
    assert one != Run.from_dict({"a": {"x": 1, "y": 3}})
    assert one != Run.from_dict({"a": {"x": 1, "z": 2}})
    assert one != Run.from_dict({"b": {"x": 1, "y": 2}})
    assert one != Run.from_dict({"a": {"xy": 1, "": 2}})
    assert one != Qrels.from_dict({"a": {"x": 1, "y": 2}})


def test_pickled_pairs_are_the_same_and_immutable():
    one = Run(["a", "a"], ["x", "y"], [1, 2], tag="mine")
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.tag == "mine"
    with pytest.raises(ValueError, match="read-only"):
        again.score[0] = 3
