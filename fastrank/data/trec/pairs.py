"""Judgements and runs as columns: pairs of a query and a document with a relevance or a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._core import _group, _trec
from fastrank._lazy import lazy
from fastrank._threads import query_blocks, run_blocks
from fastrank._validation import plural
from fastrank.data._frames import is_frame
from fastrank.data._grouping import from_sequence
from fastrank.data._strings import StringColumn, text_array

ROWS_PER_BLOCK = 1 << 16
"""Rows that one task looks through."""

_QUERY_NAMES = ("qid", "query_id", "query", "topic")
_DOCUMENT_NAMES = ("docid", "docno", "doc_id", "document_id")


class Pairs:
    """Pairs of a query and a document with a value each, the pairs of a query adjacent. Immutable."""

    _VALUE: ClassVar[str]
    _VALUE_NAMES: ClassVar[tuple[str, ...]]

    qid: NDArray[Any]
    qptr: NDArray[np.int64]
    docid: StringColumn
    _values: NDArray[Any]

    def __init__(self, qid: ArrayLike, docid: ArrayLike | StringColumn, values: ArrayLike) -> None:
        queries, documents = _texts(qid, "qid"), _texts(docid, "docid")
        numbers = self._check_values(values)
        for name, size in (("docid", len(documents)), (self._VALUE, len(numbers))):
            if size != len(queries):
                raise ValueError(f"{name}: expected {plural(len(queries), 'entry')}, one per query id, got {size:,}")
        codes_of: dict[str, int] = {}
        codes = np.array([codes_of.setdefault(query, len(codes_of)) for query in queries], dtype=np.int32)
        rows, qptr = group_rows(codes, len(codes_of))
        column = take_strings(StringColumn.from_strings(documents), rows)
        self._fill(text_array(list(codes_of)), qptr, column, numbers[rows])
        found = self._duplicate(rows)
        if found is not None:
            one, two = found
            raise ValueError(
                f"docid: expected each document once per query, got {documents[two]!r} for query {queries[two]!r} in "
                f"rows {one} and {two}; keep one of them"
            )

    @classmethod
    def _check_values(cls, values: ArrayLike, place: Callable[[int], str] = "at position {}".format) -> NDArray[Any]:
        raise NotImplementedError

    def _fill(self, qid: NDArray[Any], qptr: NDArray[np.int64], docid: StringColumn, values: NDArray[Any]) -> None:
        for array in (qid, qptr, docid.data, docid.offsets, values):
            array.flags.writeable = False
        self.qid, self.qptr, self.docid, self._values = qid, qptr, docid, values

    @classmethod
    def _trusted(
        cls, qid: NDArray[Any], qptr: NDArray[np.int64], docid: StringColumn, values: NDArray[Any], **attributes: Any
    ) -> Self:
        """Make the object of columns that are known to be right."""
        made = cls.__new__(cls)
        made._fill(qid, qptr, docid, values)
        made.__dict__.update(attributes)
        return made

    @classmethod
    def from_dict(cls, pairs: Mapping[str, Mapping[str, Any]]) -> Self:
        """Make the object of `{query id: {document id: value}}`, the form that pytrec_eval takes."""
        if not isinstance(pairs, Mapping):
            raise TypeError(f"pairs: expected a dict such as {{'q1': {{'d1': 1}}}}, got {type(pairs).__name__}")
        sizes = [0]
        documents: list[str] = []
        values: list[Any] = []
        for qid, of_query in pairs.items():
            if not isinstance(qid, str) or not isinstance(of_query, Mapping):
                raise TypeError(
                    "pairs: expected query ids that are strings, with a dict of documents each, got "
                    f"{qid!r}: {type(of_query).__name__}"
                )
            documents += of_query.keys()
            values += of_query.values()
            sizes.append(len(documents))
        for docid in documents:
            if not isinstance(docid, str):
                raise TypeError(f"pairs: expected document ids that are strings, got {docid!r}")
        column, qptr = StringColumn.from_strings(documents), np.array(sizes, dtype=np.int64)

        def place(row: int) -> str:
            qid = list(pairs)[int(np.searchsorted(qptr, row, side="right")) - 1]
            return f"for query {qid!r} and document {documents[row]!r}"

        return cls._trusted(text_array(list(pairs)), qptr, column, cls._check_values(values, place))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return `{query id: {document id: value}}`."""
        documents, values = list(self.docid), self._values.tolist()
        return {
            qid: dict(zip(documents[first:last], values[first:last], strict=True))
            for qid, (first, last) in zip(self.qid.tolist(), pairwise(self.qptr.tolist()), strict=True)
        }

    @classmethod
    def _columns_of(cls, frame: Any, names: tuple[str | None, str | None, str | None]) -> list[NDArray[Any]]:
        if not is_frame(frame):
            raise TypeError(f"frame: expected a data frame with named columns, got {type(frame).__name__}")
        labels = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
        known = (_QUERY_NAMES, _DOCUMENT_NAMES, cls._VALUE_NAMES)
        columns = []
        for argument, name, usual in zip(("qid", "docid", cls._VALUE), names, known, strict=True):
            found = [label for label in ((name,) if name is not None else usual) if label in labels]
            if not found:
                wanted = repr(name) if name is not None else "one named " + ", ".join(usual)
                shown = ", ".join(map(str, labels[:12]))
                raise ValueError(f"{argument}: expected a column of the frame ({wanted}), got columns {shown}")
            columns.append(np.asarray(frame[found[0]]))
        return columns

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qid)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Tell whether queries, documents and values are the same, in the same order."""
        if type(other) is not type(self):
            return NotImplemented
        mine, its = ((pairs.docid.data[pairs.docid.offsets[0] :], pairs.docid.offsets) for pairs in (self, other))
        return (
            np.array_equal(self.qid, other.qid)
            and np.array_equal(self.qptr, other.qptr)
            and np.array_equal(self._values, other._values)
            and np.array_equal(mine[1], its[1])
            and np.array_equal(mine[0], its[0])
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {plural(self.n_queries, 'query')}, {plural(len(self), 'document')}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fill(self.qid, self.qptr, self.docid, self._values)  # pickle makes arrays writable

    def __getstate__(self) -> dict[str, Any]:
        # hashes are quickly made anew, and another machine may have another byte order
        return {name: value for name, value in self.__dict__.items() if name != "_hashes"}

    @lazy
    def _hashes(self) -> NDArray[np.uint32]:
        """Hash of each document id."""
        hashes = np.empty(len(self), dtype=np.uint32)
        _trec.hash_into(self.docid.data, self.docid.offsets, hashes)
        return hashes

    def _duplicate(self, rows: NDArray[np.int64] | None, n_threads: int = 1) -> tuple[int, int] | None:
        """Rows of the user's with the same query and document, of all such the pair whose second row comes first.

        `rows` are the user's rows in the order of the pairs; None: the same.
        """

        def find(first: int, last: int) -> list[tuple[int, int]]:
            slots = np.empty(_trec.count_slots(self.qptr, first, last), dtype=np.int32)
            found = []
            while first < last:
                columns = (self.docid.data, self.docid.offsets, self._hashes, self.qptr)
                one, two = _trec.find_duplicate(*columns, first, last, slots)
                if two < 0:
                    break
                found.append((one, two) if rows is None else (int(rows[one]), int(rows[two])))
                first = int(np.searchsorted(self.qptr, two, side="right"))  # on with the next query
            return found

        blocks = query_blocks(self.qptr, ROWS_PER_BLOCK)
        found = [pair for pairs in run_blocks(find, blocks, n_threads) for pair in pairs]
        return min(found, key=lambda pair: pair[1], default=None)


class Qrels(Pairs):
    """Relevance judgements: an integer for pairs of a query and a document. Immutable.

    Parameters
    ----------
    qid : array-like of shape (n,)
        Query ids: strings, or integers, which become strings. In any order.
    docid : array-like of shape (n,)
        Document ids, likewise.
    relevance : array-like of int, shape (n,)
        0 is not relevant; a negative number is a document of the pool that was not judged.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        The queries, in order of first appearance.
    qptr : ndarray of int64, shape (n_queries + 1,)
        Query q has the pairs qptr[q] to qptr[q + 1] - 1.
    docid : StringColumn of length n
    relevance : ndarray of int32, shape (n,)

    Raises
    ------
    ValueError
        For a document that a query has twice, and for relevance that is not an integer above -2**31 and below 2**31.

    Examples
    --------
    >>> qrels = Qrels(["q1", "q1", "q2"], ["a", "b", "a"], [2, 0, 1])
    >>> qrels
    Qrels: 2 queries, 3 documents
    >>> qrels.to_dict()
    {'q1': {'a': 2, 'b': 0}, 'q2': {'a': 1}}
    """

    _VALUE = "relevance"
    _VALUE_NAMES = ("relevance", "rel", "label", "grade")

    def __init__(self, qid: ArrayLike, docid: ArrayLike | StringColumn, relevance: ArrayLike) -> None:
        super().__init__(qid, docid, relevance)

    @classmethod
    def _check_values(
        cls, values: ArrayLike, place: Callable[[int], str] = "at position {}".format
    ) -> NDArray[np.int32]:
        numbers = _numbers(values, "relevance")
        wrong = ~((numbers > -(2.0**31)) & (numbers < 2.0**31))  # NaN too
        if numbers.dtype.kind == "f":
            wrong |= numbers != np.floor(numbers)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"relevance: expected integers above -2^31 and below 2^31, got {numbers[row]} {place(row)}; round "
                "grades, and drop documents without a judgement"
            )
        return numbers.astype(np.int32)

    @classmethod
    def from_frame(
        cls, frame: Any, *, qid: str | None = None, docid: str | None = None, relevance: str | None = None
    ) -> Self:
        """Make judgements of a data frame's columns.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or Table of pyarrow
        qid, docid, relevance : str, optional
            Names of the columns; those of ir_measures, PyTerrier and this package are found without them.
        """
        return cls(*cls._columns_of(frame, (qid, docid, relevance)))

    @property
    def relevance(self) -> NDArray[np.int32]:
        """Relevance of each pair."""
        return self._values


class Run(Pairs):
    """A run: a score for pairs of a query and a document. Immutable.

    Parameters
    ----------
    qid : array-like of shape (n,)
        Query ids: strings, or integers, which become strings. In any order.
    docid : array-like of shape (n,)
        Document ids, likewise.
    score : array-like of shape (n,)
        Higher is better. Infinite scores are allowed, NaN is not.
    tag : str, default="fastrank"
        The name of the run.

    Attributes
    ----------
    qid : ndarray of shape (n_queries,)
        The queries, in order of first appearance.
    qptr : ndarray of int64, shape (n_queries + 1,)
        Query q has the pairs qptr[q] to qptr[q + 1] - 1.
    docid : StringColumn of length n
    score : ndarray of float64, shape (n,)
    tag : str

    Raises
    ------
    ValueError
        For a document that a query has twice, and for scores that are NaN.

    Examples
    --------
    >>> Run(["q1", "q2", "q1"], ["a", "a", "b"], [0.3, 0.1, 0.5]).to_dict()
    {'q1': {'a': 0.3, 'b': 0.5}, 'q2': {'a': 0.1}}
    """

    _VALUE = "score"
    _VALUE_NAMES = ("score",)

    tag = "fastrank"

    def __init__(
        self, qid: ArrayLike, docid: ArrayLike | StringColumn, score: ArrayLike, *, tag: str = "fastrank"
    ) -> None:
        super().__init__(qid, docid, score)
        self.tag = str(tag)

    @classmethod
    def _check_values(
        cls, values: ArrayLike, place: Callable[[int], str] = "at position {}".format
    ) -> NDArray[np.float64]:
        scores = _numbers(values, "score").astype(np.float64)
        if np.isnan(scores).any():
            row = int(np.argmax(np.isnan(scores)))
            raise ValueError(f"score: expected numbers, got nan {place(row)}; drop such documents, or give a score")
        return scores

    @classmethod
    def from_frame(
        cls, frame: Any, *, qid: str | None = None, docid: str | None = None, score: str | None = None
    ) -> Self:
        """Make a run of a data frame's columns.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, or Table of pyarrow
        qid, docid, score : str, optional
            Names of the columns; those of ir_measures, PyTerrier and this package are found without them.
        """
        return cls(*cls._columns_of(frame, (qid, docid, score)))

    @property
    def score(self) -> NDArray[np.float64]:
        """Score of each pair."""
        return self._values


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # sequences of different lengths among them
        raise TypeError(f"{name}: expected a number for each document, got sequences") from None
    if array.size == 0 and array.ndim == 1:
        return array.astype(np.float64)
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected a vector of numbers, got shape {array.shape} and dtype {array.dtype}")
    return array


def _texts(ids: Any, name: str) -> list[str]:
    """Ids as strings; integers are written in decimal."""
    if isinstance(ids, StringColumn):
        return list(ids)
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__"):
        raise TypeError(f"{name}: expected a sequence with one id per row, got {ids!r}")
    values: list[Any] = from_sequence(ids).tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}: expected ids that are strings or integers, got {value!r} in row {row}")
            values[row] = str(value)
    return values


def group_rows(codes: NDArray[np.int32], n_codes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows by code, and where those of each code start."""
    qptr = np.zeros(n_codes + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=n_codes), out=qptr[1:])
    rows = np.empty(len(codes), dtype=np.int64)
    _group.order_into(codes, qptr[:-1].copy(), rows)
    return rows, qptr


def take_strings(column: StringColumn, rows: NDArray[np.int64]) -> StringColumn:
    """Return the strings of these rows, of which every one comes once."""
    offsets, data = np.empty(len(rows) + 1, dtype=np.int64), np.empty(len(column.data), dtype=np.uint8)
    _trec.gather_into(column.data, column.offsets, rows, offsets, data)
    return StringColumn(data, offsets)
