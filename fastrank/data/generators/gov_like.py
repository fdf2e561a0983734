"""A data set like LETOR's .gov collections: long lists, hardly anything relevant."""

from __future__ import annotations

import numpy as np

from fastrank._validation import check_count, check_random_state
from fastrank.data.dataset import RankingDataset
from fastrank.data.generators._common import RandomState, dot


def make_gov_like(
    n_queries: int = 50,
    *,
    n_docs: int = 1000,
    n_features: int = 64,
    random_state: RandomState,
) -> RankingDataset:
    """Make a data set like the .gov collections of LETOR: long lists with very few relevant documents.

    The number r of relevant documents of a query is uniform on the integers from 0.1 % to 1.5 % of `n_docs`, and at
    least 1. The r documents with the largest w . x + N(0, 0.5^2) are relevant, where w is one random vector for all
    queries and w . x is scaled to unit variance in each.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_docs : int
        Documents per query, at least 2.
    n_features : int
        Number of features.
    random_state : int or numpy.random.Generator
        The seed.

    Returns
    -------
    RankingDataset
        Binary grades; float64 features scaled to 0..1 per query, as LETOR ships them. Columns differ in their share of
        zeros.

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    With fewer than 67 documents 1.5 % is less than one, so every query has exactly one relevant document.
    Cost O(n_queries * n_docs * (n_features + log(n_docs))).
    """
    n_queries = check_count(n_queries, name="n_queries")
    n_docs = check_count(n_docs, name="n_docs", least=2)
    n_features = check_count(n_features, name="n_features")
    rng = check_random_state(random_state)

    few = -(-n_docs // 1000)
    many = max(few, 15 * n_docs // 1000)
    n_relevant = rng.integers(few, many + 1, size=n_queries)
    zero_share = 0.9 * rng.random(n_features)
    weights = rng.standard_normal(n_features) + 0.5
    X = np.empty((n_queries * n_docs, n_features))
    y = np.zeros(n_queries * n_docs, dtype=np.int32)
    for query in range(n_queries):
        rows = slice(query * n_docs, (query + 1) * n_docs)
        block = X[rows]
        rng.random(out=block)
        block -= zero_share
        np.maximum(block, 0.0, out=block)
        # Division by what is left to 1 bends the uniform values into a tail before they are scaled to 0..1.
        block /= 1.05 - zero_share - block
        low = block.min(axis=0)
        extent = block.max(axis=0) - low
        extent[extent == 0.0] = 1.0
        block -= low
        block /= extent
        relevance = dot(block, weights)
        relevance /= float(relevance.std()) or 1.0
        relevance += 0.5 * rng.standard_normal(n_docs)
        y[rows.start + np.argsort(-relevance, kind="stable")[: n_relevant[query]]] = 1
    return RankingDataset(X, y, qptr=np.arange(0, n_queries * n_docs + 1, n_docs, dtype=np.int64))
