"""What the tests of the LETOR reader and writer share: files, and comparisons with the twin."""

from __future__ import annotations

import gzip
import itertools
import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from reference import letor as twin
from scipy import sparse as sp

from fastrank._errors import DataFormatError
from fastrank.data import _text
from fastrank.data.dataset import RankingDataset
from fastrank.data.letor import iter_letor, load_letor

JOBS = (1, 2, 3, 8)
DTYPES = (np.float32, np.float64)


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


WITHOUT_QID = b"2 1:0.5 2:1\n0 2:0.25\n# between\n1 1:3\n0 1:4 # docid = z\n"


GOOD = b"1 qid:1 1:0.5 2:0.25 # docid = x\n"


def mistake_of(read: Any, path: Path, line: int, message: str) -> None:
    """The error names file, line, what was expected and what came."""
    with pytest.raises(DataFormatError, match=f"^{re.escape(str(path))}:{line}: expected .*{message}") as info:
        read()
    assert (info.value.path, info.value.line) == (str(path), line)


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
