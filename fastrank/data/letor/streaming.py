"""Reading a file query by query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import DTypeLike

from fastrank._errors import DataFormatError
from fastrank._progress import Moves
from fastrank._threads import resolve_n_jobs
from fastrank.data._strings import StringColumn
from fastrank.data._text import TextReader
from fastrank.data.dataset import Query
from fastrank.data.letor._blocks import (
    empty_arrays,
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
    progress: Moves | None = None,
    n_jobs: int | None = None,
) -> Iterator[Query]:
    """Read a LETOR / SVMlight text file query by query, for files larger than memory.

    Parameters are those of `load_letor`. Where `n_features` is not given, the first lines of the file decide the number
    of features of a dense X; with `sparse=True` X is as wide as the last feature that is not 0 in this query or one
    before it, so that the width may grow from query to query. `progress` is a bar, whose `update` is called with the
    fraction of the file read so far, where its size is known.

    Yields
    ------
    Query
        qid (an int where the text is a plain decimal integer, else a str), X, y (float64) and docid of one query, None
        where none of its lines has one.

    Raises
    ------
    DataFormatError
        As `load_letor`; also where lines have no qid, where the lines of a query are not adjacent, or where lines of a
        dense X have more features than the first ones.

    Notes
    -----
    Memory: 4 MB of text, with more than 7 threads 1 MB for each of them, at most 32 MB (more only where single lines
    are longer than that); the rows of half of that text; the query under way; and the ids of the queries seen.
    """
    format_ = LetorFormat.check(n_features, dtype, sparse, index_base, missing, comments)
    return _iter_queries(path, format_, resolve_n_jobs(n_jobs), progress)


def _iter_queries(
    path: str | os.PathLike[str], format_: LetorFormat, n_threads: int, progress: Moves | None
) -> Iterator[Query]:
    with TextReader(path, n_threads) as reader:
        following = first_rows(reader)
        format_ = replace(probe(reader, following, replace(format_, by_query=True)), with_qid=True)
        grows = format_.sparse and not format_.fixed_columns
        format_ = replace(format_, fixed_columns=not grows)
        width = 0 if grows else None
        seen: set[bytes] = set()
        open_query = b""
        pieces: list[tuple[Any, ...]] = []
        while following is not None:
            batch = following
            shape = (batch.rows, 0 if format_.sparse else format_.n_columns)
            X: Any
            X, y = empty_arrays([shape], format_.dtype, reader.path)
            parts, following = parse_batch(reader, batch, format_, None if format_.sparse else X, y, n_threads)
            if progress is not None and batch.fraction is not None:
                progress.update(batch.fraction)
            if format_.sparse:
                X = join_entries(parts, format_.n_columns)
            docid = join_comments(parts)
            starts = query_starts(parts)
            ends = [row for row, _, _ in starts[1:]] + [len(y)]
            for (row, line, token), end in zip(starts, ends, strict=False):  # no row, no start
                if token != open_query:
                    if pieces:
                        query = _join_pieces(open_query, pieces, width)
                        width = query.X.shape[1] if grows else None
                        yield query
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
        yield _join_pieces(open_query, pieces, width)


def _join_pieces(token: bytes, pieces: list[tuple[Any, ...]], least_width: int | None) -> Query:
    """One query out of the blocks it was spread over, with arrays of its own; cut where its width is not fixed."""
    X, y, docid = zip(*pieces, strict=True)
    qid = int(token) if is_plain_integer(token) else token.decode()
    whole: Any = (
        scipy.sparse.csr_array(scipy.sparse.vstack(X, format="csr"))
        if scipy.sparse.issparse(X[0])
        else np.concatenate(X)
    )
    if least_width is not None:
        whole.resize((whole.shape[0], max(least_width, int(whole.indices.max(initial=-1)) + 1)))
    column = None if docid[0] is None else StringColumn.concatenate(list(docid))
    return Query(qid, whole, np.concatenate(y), None if column is None or len(column.data) == 0 else column)
