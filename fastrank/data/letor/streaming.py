"""Reading a file query by query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse as sp

from fastrank._errors import DataFormatError
from fastrank._threads import resolve_n_jobs
from fastrank.data._strings import StringColumn
from fastrank.data._text import TextReader
from fastrank.data.dataset import Query
from fastrank.data.letor._blocks import (
    empty_matrix,
    first_rows,
    is_plain_integer,
    join_comments,
    join_entries,
    parse_batch,
    probe,
    query_starts,
)
from fastrank.data.letor._format import LetorFormat, no_rows


def iter_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float32,
    sparse: bool = False,
    index_base: int = 1,
    missing: str | float = "error",
    comments: str | None = "docid",
    n_jobs: int | None = None,
) -> Iterator[Query]:
    """Read a LETOR / SVMlight text file query by query, for files larger than memory.

    Parameters are those of `load_letor`. The first lines of the file decide the number of features where `n_features`
    is not given.

    Yields
    ------
    Query
        qid (an int where the text is a plain decimal integer, else a str), X, y (float64) and docid of one query, None
        where none of its lines has one.

    Raises
    ------
    DataFormatError
        As `load_letor`; also where the lines of a query are not adjacent, or have more features than the first ones.

    Notes
    -----
    Memory: about 4 MB of text, its rows, and the ids of the queries seen.
    """
    format_ = LetorFormat.check(n_features, dtype, sparse, index_base, missing, comments)
    return _iter_queries(path, format_, resolve_n_jobs(n_jobs))


def _iter_queries(path: str | os.PathLike[str], format_: LetorFormat, n_threads: int) -> Iterator[Query]:
    with TextReader(path, n_threads) as reader:
        following = first_rows(reader)
        format_ = probe(reader, following, format_, needs_width=True)
        format_ = replace(format_, with_qid=True, fixed_columns=True)
        seen: set[bytes] = set()
        open_query = b""
        pieces: list[tuple[Any, ...]] = []
        while following is not None:
            batch = following
            y = np.empty(batch.rows)
            dense = None if format_.sparse else empty_matrix(batch.rows, format_.n_columns, format_.dtype, reader.path)
            parts, following = parse_batch(reader, batch, format_, dense, y, n_threads)
            X = join_entries(parts, format_.n_columns) if dense is None else dense
            docid = join_comments(parts)
            starts = query_starts(parts)
            ends = [row for row, _, _ in starts[1:]] + [len(y)]
            for (row, line, token), end in zip(starts, ends, strict=False):  # no row, no start
                if token != open_query:
                    if pieces:
                        yield _join_pieces(open_query, pieces)
                    if token in seen:
                        raise DataFormatError(
                            f"expected the lines of a query to be adjacent, got qid {token.decode()!r} again; read the "
                            "file with load_letor, or sort it by qid",
                            path=reader.path,
                            line=line,
                        )
                    seen.add(token)
                    open_query, pieces = token, []
                pieces.append((X[row:end], y[row:end], None if docid is None else docid[row:end]))
        if not pieces:
            raise no_rows(reader.path)
        yield _join_pieces(open_query, pieces)


def _join_pieces(token: bytes, pieces: list[tuple[Any, ...]]) -> Query:
    """One query out of the blocks it was spread over, with arrays of its own."""
    X, y, docid = zip(*pieces, strict=True)
    qid = int(token) if is_plain_integer(token) else token.decode()
    whole = sp.csr_array(sp.vstack(X, format="csr")) if sp.issparse(X[0]) else np.concatenate(X)
    column = None if docid[0] is None else StringColumn.concatenate(list(docid))
    return Query(qid, whole, np.concatenate(y), None if column is None or len(column.data) == 0 else column)
