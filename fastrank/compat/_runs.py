"""Runs and judgements as dictionaries, {query: {document: value}}: from what users keep to ranked lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from fastrank._core import _cpu, _dicts
from fastrank.metrics._lists import UNJUDGED, Lists

T = TypeVar("T")

_INT32 = 2**31


class Judgements:
    """Judgements of documents, read once and joined with any number of runs.

    Queries without a judged document are left out. Negative grades mean unjudged, as in trec_eval.

    Parameters
    ----------
    qrels : mapping
        {query: {document: grade}}; ids are strings, grades whole numbers.
    name : str
        What the caller calls it, for error messages.
    """

    def __init__(self, qrels: Any, name: str) -> None:
        def plain(query: str, docs: Any) -> dict[str, int]:
            return _plain(query, docs, name, "grade", _grade)

        columns = zip(*_columns(qrels, name, "grade"), strict=True)
        pairs = [(query, docs) for query, docs in columns if not (isinstance(docs, Mapping) and len(docs) == 0)]
        self._kernel = _dicts.Judgements(pairs, plain)

    @property
    def highest(self) -> int:
        """The highest grade; 0 if there is none."""
        return self._kernel.highest

    def rank(self, run: Any, *, name: str, keep_unjudged: bool) -> tuple[list[str], Lists]:
        """Return the queries of a run that are judged, and their ranked lists.

        Documents are ranked by score, rounded to float32, descending; equal scores by id, descending. Where
        keep_unjudged is False, documents without a judgement have grade 0: only Bpref sees a difference.
        """

        def plain(query: str, docs: Any) -> dict[str, float]:
            found = _plain_numpy(docs)
            return _plain(query, docs, name, "score", _score) if found is None else found

        queries, runs, places, n_rows = self._kernel.select(*_columns(run, name, "score"), plain)
        n_queries = len(queries)
        grades = np.empty(n_rows, dtype=np.int32)
        missing = np.empty(self._kernel.n_judged(places), dtype=np.int32)
        qptr, missing_ptr = np.empty(n_queries + 1, dtype=np.int64), np.empty(n_queries + 1, dtype=np.int64)
        unjudged = UNJUDGED if keep_unjudged else 0
        bad = self._kernel.rank_into(
            queries, runs, places, plain, unjudged, _cpu.LEVEL, grades, qptr, missing, missing_ptr
        )
        if bad >= 0:
            doc = next((doc for doc, score in runs[bad].items() if score != score), "a document")
            raise ValueError(
                f"{name}: expected a number for every document, got NaN for {doc!r} of query {queries[bad]!r}; "
                "drop such documents, or score them below all others"
            )
        lists = Lists(
            qid=np.arange(n_queries),  # nothing can go wrong from here on that would name a query
            qptr=qptr,
            scores=None,
            grades=grades[: qptr[-1]],
            missing_grades=missing[: missing_ptr[-1]],
            missing_ptr=missing_ptr,
        )
        return queries, lists


def _columns(mapping: Any, name: str, value: str) -> tuple[list[str], list[Any]]:
    """Queries and what they have, as lists; queries are strings."""
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{name}: expected a dictionary {{query: {{document: {value}}}}}, got {_shown(mapping)}")
    queries = list(mapping)
    values = list(mapping.values())
    for kind in set(map(type, queries)):
        if not issubclass(kind, str):
            query = next(query for query in queries if type(query) is kind)
            raise TypeError(f"{name}: expected strings as queries, got {_shown(query)}; use str(query)")
    return queries, values


def _plain(query: str, docs: Any, name: str, value_name: str, number: Callable[[Any], T]) -> dict[str, T]:
    """Return a dict of exact strings and plain numbers, or say what cannot be one."""
    if not isinstance(docs, Mapping):
        raise TypeError(
            f"{name}: expected a dictionary {{document: {value_name}}} for query {query!r}, got {_shown(docs)}"
        )
    items = list(docs.items())  # a copy: numbers may be objects whose methods change the dictionary
    plain: dict[str, T] = {}
    for doc, value in items:
        if not isinstance(doc, str):
            raise TypeError(
                f"{name}: expected strings as documents, got {_shown(doc)} for query {query!r}; use str(document)"
            )
        try:
            found = number(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"{name}: expected {'an integer' if number is _grade else 'a number'} as the {value_name} of document "
                f"{doc!r} of query {query!r}, got {_shown(value)}"
            ) from error
        plain[str.__str__(doc)] = found
    if len(plain) != len(items):
        raise ValueError(f"{name}: expected each document once for query {query!r}, got one twice")
    return plain


def _plain_numpy(docs: Any) -> dict[str, float] | None:
    """Do what `_plain` does, faster, where all scores are NumPy scalars or Python's own numbers."""
    if not isinstance(docs, dict):
        return None
    names, scores = list(dict.keys(docs)), list(dict.values(docs))
    if not all(issubclass(kind, (np.floating, np.integer, float)) for kind in set(map(type, scores))):
        return None
    return dict(zip(names, map(float, scores), strict=True)) if set(map(type, names)) <= {str} else None


def _score(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("text")
    return float(value)


def _grade(value: Any) -> int:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError("text")
    grade = int(value)
    if grade != value:
        raise TypeError("not whole")
    if not -_INT32 <= grade < _INT32:
        raise ValueError("beyond 32 bits")
    return grade


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
