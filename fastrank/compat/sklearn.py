"""The ranking scores of `sklearn.metrics`: the same signatures and results, and lists of any lengths.

A matrix has a query in each row, as in scikit-learn. With `qid=` (a query id per document) or `group=` (documents per
query) labels and scores are vectors, so that queries may have different numbers of documents, and one is enough.

>>> from fastrank.compat.sklearn import ndcg_score
>>> round(ndcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 3)
0.696
>>> ndcg_score([1, 0, 1], [0.2, 0.1, 0.7], qid=["a", "a", "b"])
1.0

These functions return one number. For a value per query: `fastrank.metrics.ndcg(..., convention="sklearn")`, which also
takes every other setting. scikit-learn itself is not imported.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastrank._validation import check_bool, check_choice, check_count, check_real, check_weights, plural
from fastrank.metrics import functions

__all__ = ["average_precision_score", "dcg_score", "label_ranking_average_precision_score", "ndcg_score"]

PerQuery = NDArray[np.float64]

_AVERAGES = ("micro", "macro", "samples", "weighted", None)


def ndcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    ignore_ties: bool = False,
    qid: Any = None,
    group: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return the mean normalized discounted cumulative gain, with linear gains, as `sklearn.metrics.ndcg_score` does.

    NDCG@k is the sum over ranks i <= k of grade_i / log2(1 + i), divided by the largest such sum that any order has.
    Documents with equal scores share the mean of their grades; a query whose grades are all 0 counts 0.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_docs), or (n_rows,) with qid or group
        Grades, 0 and above.
    y_score : array-like of the same shape
        Scores; the highest is ranked first.
    k : int or None, default=None
        Ranks that count; None: all.
    sample_weight : array-like of shape (n_queries,) or None, default=None
        Weights of the queries in the mean, in order of first appearance.
    ignore_ties : bool, default=False
        Take documents with equal scores in the order of scikit-learn's plain sort: the last one first.
    qid, group : array-like or None, default=None
        Query id of each row, or number of rows of each query. Not in scikit-learn.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all CPUs. Not in scikit-learn.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For negative grades, values that are not finite, shapes that disagree, and matrices with one column.

    Examples
    --------
    >>> round(ndcg_score([[10, 0, 0, 1, 5]], [[0.05, 1.1, 1.0, 0.5, 0.0]], k=4), 3)
    0.352
    >>> ndcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)
    0.75
    """
    grades, scores = _matrices(y_true, y_score, qid, group)
    if grades.size and grades.min() < 0:
        raise ValueError(
            f"y_true: expected grades of 0 and above, for which NDCG is meaningful, got {grades.min():g}; shift them"
        )
    values = _dcg("ndcg", grades, scores, k, ignore_ties, qid, group, n_jobs)
    return _mean(values, sample_weight)


def dcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    log_base: float = 2,
    sample_weight: ArrayLike | None = None,
    ignore_ties: bool = False,
    qid: Any = None,
    group: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return the mean discounted cumulative gain, with linear gains, as `sklearn.metrics.dcg_score` does.

    DCG@k is the sum over ranks i <= k of grade_i / log(1 + i), in base `log_base`. Documents with equal scores share
    the mean of their grades. Grades may be negative.

    Parameters
    ----------
    y_true, y_score, k, sample_weight, ignore_ties, qid, group, n_jobs
        As for `ndcg_score`.
    log_base : float, default=2
        Base of the logarithm, above 0; a lower one only scales the result.

    Returns
    -------
    float

    Examples
    --------
    >>> round(dcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]]), 3)
    9.499
    """
    grades, scores = _matrices(y_true, y_score, qid, group)
    base = check_real(log_base, name="log_base", zero=False)
    # Gains must not be negative: count from the lowest grade, and add what all documents together have lost.
    lowest = min(0.0, float(grades.min())) if grades.size else 0.0
    shifted = grades - lowest if lowest else grades
    values = _dcg("dcg", shifted, scores, k, ignore_ties, qid, group, n_jobs)
    if lowest:
        values += lowest * _dcg("dcg", np.ones(grades.shape), scores, k, ignore_ties, qid, group, n_jobs)
    return _mean(values * math.log2(base), sample_weight)


def label_ranking_average_precision_score(
    y_true: Any,
    y_score: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    qid: Any = None,
    group: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return the mean over queries of average precision, as `sklearn.metrics.label_ranking_average_precision_score`.

    For each relevant document: relevant documents with at least its score, divided by all documents with at least its
    score. A query without relevant documents counts 1.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_queries, n_docs), or (n_rows,) with qid or group
        0 for documents that are not relevant, another value (the same for all) for those that are.
    y_score, sample_weight, qid, group, n_jobs
        As for `ndcg_score`.

    Returns
    -------
    float

    Examples
    --------
    >>> round(label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]]), 3)
    0.417
    """
    dense = y_true.toarray() if hasattr(y_true, "toarray") else y_true
    labels, scores = _matrices(dense, y_score, qid, group, least=1)
    if not _has_two_values(labels):
        raise ValueError("y_true: expected two values, 0 and another for relevant documents, got more; use ndcg_score")
    values = functions.ap(
        (labels != 0).astype(np.int32), scores, qid=qid, group=group, convention="sklearn", empty=1, n_jobs=n_jobs
    )
    return _mean(values, sample_weight)


def average_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    average: str | None = "macro",
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
    qid: Any = None,
    group: Any = None,
    n_jobs: int | None = None,
) -> float | PerQuery:
    """Return average precision as `sklearn.metrics.average_precision_score` does, or its mean over queries.

    AP is the sum over thresholds of precision times the gain in recall: each relevant document counts the precision
    among all documents with at least its score. A list without relevant documents counts 0 (scikit-learn also warns).

    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n_rows, n_labels)
        A vector is one list, or with qid or group a list per query. A matrix of 0 and 1 has a list in each column, as
        in scikit-learn (in each row with average="samples"). A vector of more than two classes needs a column of scores
        for each of them.
    y_score : array-like of the same shape
        Scores; the highest is ranked first.
    average : {"macro", "weighted", "samples", "micro", None}, default="macro"
        "macro": mean over lists; "weighted": by numbers of relevant documents; "micro": all as one list; "samples":
        rows of a matrix are the lists; None: a value per list. Of no effect for a vector without qid and group.
    pos_label : int, float, bool or str, default=1
        Which label of a vector means relevant.
    sample_weight : array-like or None, default=None
        Weights of the lists in the mean: of queries (qid, group), or of rows with average="samples". Weights of single
        documents, which scikit-learn has in the other cases, are not supported.
    qid, group, n_jobs
        As for `ndcg_score`. Not in scikit-learn.

    Returns
    -------
    float, or ndarray of shape (n_lists,) with average=None

    Examples
    --------
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 3)
    0.833
    >>> average_precision_score([0, 1, 1], [0.3, 0.2, 0.1], qid=["a", "a", "b"], average=None).tolist()
    [0.5, 1.0]
    """
    check_choice(average, _AVERAGES, name="average")
    has_groups = qid is not None or group is not None
    relevant, scores = _relevance(np.asarray(y_true), y_score, pos_label, has_groups)
    is_one_list = relevant.ndim == 1 and not has_groups
    if average == "micro" and not is_one_list:
        relevant, scores, qid, group, is_one_list = relevant.reshape(-1), scores.reshape(-1), None, None, True
    if sample_weight is not None and not (has_groups or (relevant.ndim == 2 and average == "samples")):
        raise ValueError(
            "sample_weight: expected None, as weights of documents are not supported, got weights; "
            "pass qid= or group= to weight queries"
        )
    if relevant.ndim == 2 and average != "samples":
        relevant, scores = relevant.T, scores.T
    values = functions.ap(relevant.astype(np.int32), scores, qid=qid, group=group, convention="sklearn", n_jobs=n_jobs)
    if is_one_list:
        return float(values[0])
    weights = check_weights(sample_weight, len(values), name="sample_weight", per="one weight per list")
    if average is None:
        return values
    if average == "weighted":
        n_relevant = functions.dcg(relevant.astype(np.int32), scores, qid=qid, group=group, discount=np.ones_like)
        weights = n_relevant if weights is None else weights * n_relevant
        if not n_relevant.any():
            return 0.0
    return _mean(values, weights)


def _matrices(y_true: Any, y_score: Any, qid: Any, group: Any, least: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and scores; a matrix has at least `least` columns where there are no groups."""
    labels, scores = _numbers(y_true, "y_true"), _numbers(y_score, "y_score")
    if qid is None and group is None:
        if labels.ndim != 2:
            raise ValueError(
                f"y_true: expected a matrix with a row per query, got shape {labels.shape}; pass qid= or group= with "
                "vectors, or [y_true] for one query"
            )
        if labels.shape[1] < least:
            raise ValueError(
                f"y_true: expected at least {plural(least, 'document')} per query, as one is always ranked well, got "
                f"{labels.shape[1]}; pass qid= or group= to allow that"
            )
    if labels.shape != scores.shape:
        raise ValueError(f"y_score: expected the shape of y_true, {labels.shape}, got {scores.shape}")
    if len(labels) == 0:
        raise ValueError("y_true: expected at least one query, got none")
    _check_labels(labels)
    return labels, scores


def _numbers(values: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected numbers in rows of equal length, got others ({error})") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected numbers, got dtype {array.dtype}")
    return array.astype(np.int32) if array.dtype.kind == "b" else array


def _has_two_values(labels: NDArray[Any]) -> bool:
    """Tell whether there are at most two different labels; a sort would be dearer than the measure."""
    return bool(((labels == labels.min()) | (labels == labels.max())).all())


def _check_labels(labels: NDArray[Any]) -> None:
    # NaN means unjudged to the kernel, which finds scores that are not finite itself.
    if labels.dtype.kind == "f" and labels.size and not np.isfinite(labels.min() + labels.max()):
        raise ValueError("y_true: expected finite values, got NaN or infinity; mend or drop such documents first")


def _relevance(
    labels: NDArray[Any], y_score: Any, pos_label: Any, has_groups: bool
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return which documents are relevant, and scores of the same shape."""
    scores = _numbers(y_score, "y_score")
    if labels.ndim not in (1, 2) or labels.size == 0:
        raise ValueError(f"y_true: expected a vector or matrix of labels, got shape {labels.shape}")
    _check_labels(labels)
    is_numeric = labels.dtype.kind in "fiub"
    classes = np.array([labels.min(), labels.max()]) if is_numeric else np.unique(labels)
    if len(classes) > 2 or (is_numeric and not _has_two_values(labels)):
        classes = np.unique(labels)
        if labels.ndim == 1 and scores.ndim == 2 and not has_groups:
            labels, classes = (labels[:, np.newaxis] == classes).astype(np.int32), np.array([0, 1])
        else:
            raise ValueError(
                f"y_true: expected two labels, got {len(classes)} ({', '.join(map(str, classes[:5]))}...); compare "
                "grades with a threshold first, or use ndcg_score"
            )
    if labels.ndim == 2 and pos_label != 1:
        raise ValueError(f"pos_label: expected 1, which it is where labels have columns, got {pos_label!r}")
    if labels.ndim == 1 and classes[0] != classes[-1] and pos_label not in classes:
        raise ValueError(f"pos_label: expected one of {', '.join(map(repr, classes.tolist()))}, got {pos_label!r}")
    if labels.shape != scores.shape:
        raise ValueError(f"y_score: expected the shape of y_true, {labels.shape}, got {scores.shape}")
    return np.asarray(labels == pos_label), scores


def _dcg(
    kind: str,
    grades: NDArray[Any],
    scores: NDArray[Any],
    k: int | None,
    ignore_ties: bool,
    qid: Any,
    group: Any,
    n_jobs: int | None,
) -> PerQuery:
    if k is not None:
        k = check_count(k, name="k")
    measure = functions.ndcg if kind == "ndcg" else functions.dcg
    if not check_bool(ignore_ties, name="ignore_ties"):
        return measure(grades, scores, qid=qid, group=group, k=k, convention="sklearn", n_jobs=n_jobs)
    if grades.ndim == 2:
        return measure(grades[:, ::-1], scores[:, ::-1], k=k, convention="sklearn", ties="index", n_jobs=n_jobs)
    rows = np.arange(len(grades))  # by which ties are broken, descending
    return measure(
        grades, scores, qid=qid, group=group, k=k, convention="sklearn", ties="docid", docid=rows, n_jobs=n_jobs
    )


def _mean(values: PerQuery, sample_weight: ArrayLike | None) -> float:
    weights = check_weights(sample_weight, len(values), name="sample_weight", per="one weight per query")
    if weights is None:
        return float(np.mean(values))
    if not weights.any():
        raise ValueError("sample_weight: expected a weight above 0, got only zeros")
    return float(np.average(values, weights=weights))
