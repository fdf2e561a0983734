"""The measures one by one: labels and scores in, one float64 per query out.

For several measures of the same ranking use `evaluate`, which sorts each query once for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeAlias, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from fastrank.metrics._lists import make_lists
from fastrank.metrics._program import run_lists
from fastrank.metrics.conventions import Convention, Overrides, resolve_convention, takes_convention
from fastrank.metrics.names import Metric

P = ParamSpec("P")
R = TypeVar("R")

PerQuery: TypeAlias = NDArray[np.float64]
"""A value per query, in order of first appearance."""


_PARAMETERS = """\
    Parameters
    ----------
    y_true : array-like of shape (n_rows,) or (n_queries, n_docs), RankingDataset, or Qrels
        Relevance grades, 0 and above; NaN for documents that nobody judged. A matrix has a query in each row.
    y_score : array-like of the same shape; with Qrels a Run
        Scores; the highest is ranked first. float32 and float64 arrays are used as they are.
{k}    {shared}

    Returns
    -------
    ndarray of float64, shape (n_queries,)
        In order of first appearance of the query; of Qrels ascending by query id.

    Raises
    ------
    ValueError, TypeError
        For lengths that disagree, scores that are not finite, negative grades, unknown conventions or rules.
"""

_K = """\
    k : int or None, default=None
        Ranks that count; None: the whole list, unless the convention has a default cut-off.
"""


def _measure(function: Callable[P, R]) -> Callable[P, R]:
    """Complete the docstring and the signature of a measure."""
    if function.__doc__ is not None:
        parameters = _PARAMETERS.replace("{k}", _K if "k" in inspect.signature(function).parameters else "")
        function.__doc__ = function.__doc__.replace("    {parameters}\n", parameters)
    return takes_convention(function)


def _per_query(
    kind: str,
    k: int | None,
    y_true: Any,
    y_score: Any,
    qid: Any,
    group: Any,
    convention: str | Convention | None,
    docid: Any,
    n_jobs: int | None,
    overrides: Overrides,
) -> PerQuery:
    metric = Metric(kind, k)
    rules = resolve_convention(convention, overrides)
    names = ("y_true", "y_score")
    lists = make_lists(y_true, y_score, qid, group, docid, convention=rules, names=names, n_jobs=n_jobs)
    values: PerQuery = run_lists(lists, [metric], rules, n_jobs)[0][0]
    return values


@_measure
def dcg(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the discounted cumulative gain of each query.

    DCG@k = sum over ranks i <= k of gain(grade_i) discount(i),

    by default with gain 2^grade - 1 and discount 1 / log2(1 + i).

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents, or a sort. Tied scores: expected value over their orders. No query is
    empty: without a relevant document the sum is 0.

    References
    ----------
    K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002. The gain:
    C. Burges et al., "Learning to rank using gradient descent", ICML 2005.

    Examples
    --------
    >>> dcg([3, 0, 1], [0.3, 0.2, 0.1]).tolist()
    [7.5]
    >>> dcg([3, 0, 1], [0.3, 0.2, 0.1], gain="linear", k=1).tolist()
    [3.0]
    """
    return _per_query("dcg", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def ndcg(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the normalised discounted cumulative gain of each query.

    NDCG@k = DCG@k / (the largest DCG@k that any order of the documents has),

    with DCG@k = sum over ranks i <= k of gain(grade_i) discount(i), by default gain 2^grade - 1 and discount
    1 / log2(1 + i).

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents, or a sort. Tied scores: expected value over their orders. Empty is a query
    whose largest DCG@k is 0; it counts 0.

    References
    ----------
    K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20, 2002. Ties:
    F. McSherry and M. Najork, "Computing information retrieval performance measures efficiently in the presence of tied
    scores", ECIR 2008.

    Examples
    --------
    >>> ndcg([2, 1, 0, 0, 1], [0.1, 0.3, 0.2, 0.8, 0.9], qid=["a", "a", "a", "b", "b"]).round(4).tolist()
    [0.6885, 1.0]

    A constant scorer gets the mean over all orders, not the order of the rows:

    >>> ndcg([1, 0], [0.5, 0.5]).round(4).tolist(), ndcg([1, 0], [0.5, 0.5], convention="lightgbm").tolist()
    ([0.8155], [1.0])
    """
    return _per_query("ndcg", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def ap(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the average precision of each query; its mean over queries is MAP.

    AP@k = (1 / R) sum over ranks i <= k of a relevant document of (relevant documents in the first i) / i,

    R being the number of relevant documents of the query. ap_norm="min" divides by min(R, k) instead, ap_norm="found"
    by the number of relevant documents in the first k.

    {parameters}

    Notes
    -----
    Cost: a sort of each query, or the ranks of its relevant documents where these are few. Tied scores: expected value
    over their orders. Empty is a query without a relevant document; it counts 0.

    References
    ----------
    C. Buckley and E. Voorhees, "Retrieval system evaluation", in: TREC, MIT Press, 2005. Ties: F. McSherry and
    M. Najork, ECIR 2008.

    Examples
    --------
    >>> ap([1, 0, 1], [0.3, 0.2, 0.1]).round(4).tolist()
    [0.8333]
    >>> ap([1, 1, 1], [3, 2, 1], k=2).round(4).tolist(), ap([1, 1, 1], [3, 2, 1], k=2, ap_norm="min").tolist()
    ([0.6667], [1.0])
    """
    return _per_query("ap", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def rr(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the reciprocal rank of each query; its mean over queries is MRR.

    RR@k = 1 / (rank of the first relevant document), 0 if that rank is beyond k.

    {parameters}

    Notes
    -----
    Cost: one or two passes over the scores. Tied scores: expected value over their orders. Empty is a query without a
    relevant document; it counts 0.

    References
    ----------
    E. Voorhees, "The TREC-8 question answering track report", TREC 1999.

    Examples
    --------
    >>> rr([[0, 1, 1], [0, 0, 1]], [[3, 2, 1], [3, 2, 1]]).round(4).tolist()
    [0.5, 0.3333]
    """
    return _per_query("rr", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def precision(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the precision of each query.

    P@k = (relevant documents in the first k) / k

    also where the list has fewer than k documents (short="shrink" divides by their number). Without k: the share of
    relevant documents in the list.

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents. Tied scores: expected value over their orders. Empty is a query without a
    relevant document; it counts 0.

    Examples
    --------
    >>> precision([1, 0, 1], [0.3, 0.2, 0.1], k=2).tolist()
    [0.5]
    >>> precision([1, 1], [0.2, 0.1], k=10).tolist(), precision([1, 1], [0.2, 0.1], k=10, short="shrink").tolist()
    ([0.2], [1.0])
    """
    return _per_query("precision", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def recall(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the recall of each query.

    R@k = (relevant documents in the first k) / (relevant documents of the query)

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents. Tied scores: expected value over their orders. Empty is a query without a
    relevant document; it counts 0.

    Examples
    --------
    >>> recall([1, 0, 1, 1], [4, 3, 2, 1], k=3).round(4).tolist()
    [0.6667]
    """
    return _per_query("recall", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def success(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the success of each query, also called hit rate.

    success@k = 1 if a relevant document is among the first k, else 0.

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents. Tied scores: expected value over their orders, the chance of success.
    Empty is a query without a relevant document; it counts 0.

    Examples
    --------
    >>> success([0, 0, 1], [3, 2, 1], k=2).tolist(), success([0, 0, 1], [3, 2, 1], k=3).tolist()
    ([0.0], [1.0])
    """
    return _per_query("success", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def wta(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return whether the winner takes all: 1 if the first document has the highest grade of its query, else 0.

    {parameters}

    Notes
    -----
    Cost: one pass over the scores. Tied scores: expected value over their orders. Empty is a query without a grade
    above 0; it counts 0. `rel` does not matter.

    References
    ----------
    C. Burges, R. Ragno and Q. Le, "Learning to rank with nonsmooth cost functions", NIPS 2006.

    Examples
    --------
    >>> wta([[1, 2, 0], [2, 1, 0]], [[3, 2, 1], [3, 2, 1]]).tolist()
    [0.0, 1.0]
    """
    return _per_query("wta", None, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def err(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    k: int | None = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the expected reciprocal rank of each query, at which a user who reads down the list stops satisfied.

    ERR@k = sum over ranks i <= k of (1 / i) s_i product over ranks j < i of (1 - s_j),

    where a document of grade g satisfies with the chance s = (2^g - 1) / 2^max_grade; `stop` sets other chances.

    {parameters}

    Notes
    -----
    Cost: selection of the first k documents, or a sort. `max_grade` is the largest grade of the data unless it is
    given; give it, to compare figures between data sets. Tied scores: expected value over their orders. Empty is a
    query without a grade above 0; it counts 0. `gain` and `rel` do not matter.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009.

    Examples
    --------
    >>> err([1, 0, 1], [0.3, 0.2, 0.1]).round(4).tolist()
    [0.5833]
    >>> err([1, 0, 1], [0.3, 0.2, 0.1], max_grade=4).tolist()
    [0.08203125]
    """
    return _per_query("err", k, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def bpref(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return bpref of each query: how rarely judged documents that are not relevant come before relevant ones.

    bpref = (1 / R) sum over relevant documents of 1 - min(n, R) / min(N, R),

    n being the number of documents judged not relevant above it, N and R those judged not relevant and relevant in all.
    Documents without a judgement (NaN labels) do not matter.

    {parameters}

    Notes
    -----
    Cost: a sort of each query. Tied scores: expected value over their orders. Empty is a query without a relevant
    document; it counts 0.

    References
    ----------
    C. Buckley and E. Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004, with the denominator of
    trec_eval.

    Examples
    --------
    >>> bpref([float("nan"), 1, 0, 1, 0], [5, 4, 3, 2, 1]).tolist()
    [0.75]
    """
    return _per_query("bpref", None, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def r_precision(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return the R-precision of each query: precision at R, the number of its relevant documents.

    {parameters}

    Notes
    -----
    Cost: selection of the first R documents. Tied scores: expected value over their orders. Empty is a query without a
    relevant document; it counts 0.

    References
    ----------
    C. Buckley and E. Voorhees, "Retrieval system evaluation", in: TREC, MIT Press, 2005.

    Examples
    --------
    >>> r_precision([1, 0, 1, 0], [4, 3, 2, 1]).tolist()
    [0.5]
    """
    return _per_query("rprec", None, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)


@_measure
def kendall_tau(
    y_true: Any,
    y_score: Any,
    *,
    qid: Any = None,
    group: Any = None,
    convention: str | Convention | None = None,
    docid: Any = None,
    n_jobs: int | None = None,
    **overrides: Unpack[Overrides],
) -> PerQuery:
    """Return Kendall's tau-b of each query: the rank correlation of labels and scores.

    tau_b = (concordant - discordant pairs) / sqrt((pairs - pairs tied in labels) (pairs - pairs tied in scores))

    {parameters}

    Notes
    -----
    Cost: O(n log n) for a list of n documents. Labels may be any finite numbers here, negative ones too; documents
    without a judgement (NaN) are left out. Ties need no rule. Empty is a query where tau is not defined, because all
    labels or all scores are equal; it counts 0.

    References
    ----------
    M. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945.

    Examples
    --------
    >>> kendall_tau([2, 1, 0, 0], [0.9, 0.2, 0.7, 0.1]).round(4).tolist()
    [0.5477]
    """
    return _per_query("tau", None, y_true, y_score, qid, group, convention, docid, n_jobs, overrides)
