"""A noisy data set with the look of MSLR-WEB: ragged lists, five grades, features of mixed kinds."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from fastrank._validation import check_bool, check_count, check_float_dtype, check_random_state, check_real
from fastrank.data.dataset import RankingDataset
from fastrank.data.generators._common import BLOCK_ROWS, FloatArray, RandomState, dot

_MAX_LIST_LENGTH = 900
_MEAN_LIST_LENGTH = 120.0
_LOG_LENGTH_SD = 0.6
_MSLR_GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


@overload
def make_mslr_like(
    n_queries: int = ...,
    *,
    n_features: int = ...,
    noise: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[False] = ...,
) -> RankingDataset: ...


@overload
def make_mslr_like(
    n_queries: int = ...,
    *,
    n_features: int = ...,
    noise: float = ...,
    dtype: npt.DTypeLike = ...,
    random_state: RandomState,
    return_ranker: Literal[True],
) -> tuple[RankingDataset, npt.NDArray[np.float64]]: ...


def make_mslr_like(
    n_queries: int = 1000,
    *,
    n_features: int = 136,
    noise: float = 1.5,
    dtype: npt.DTypeLike = np.float32,
    random_state: RandomState,
    return_ranker: bool = False,
) -> RankingDataset | tuple[RankingDataset, npt.NDArray[np.float64]]:
    """Make a noisy data set that looks like MSLR-WEB: ragged lists, five grades, features of mixed kinds.

    Grades cut a latent relevance at its quantiles,

        latent = w . T(x) + noise * N(0, 1),   T(x) = sign(x) * log(1 + |x|)  entry by entry,

    where w is scaled so that w . T(x) has unit variance over the rows.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_features : int
        Number of features.
    noise : float
        Standard deviation of the noise relative to that of the noise-free relevance; 0 makes grades a function of x.
    dtype : {float32, float64}
        Type of the features; the values are the same.
    random_state : int or numpy.random.Generator
        The seed.
    return_ranker : bool
        Also return w.

    Returns
    -------
    dataset : RankingDataset
        List lengths are lognormal, clipped to 1..900, with mean about 120. Grades 0 to 4 have shares 52, 32, 13, 2 and
        1 % of all rows.
    ranker : ndarray of shape (n_features,), float64
        The vector w, only with `return_ranker=True`; it scores transformed rows T(x).

    Raises
    ------
    ValueError
        If an argument is out of range.
    TypeError
        If an argument is of the wrong kind.

    Notes
    -----
    The columns come in five blocks: 40 % counts (integers, many zeros, tail index 2), 15 % heavy-tailed values (from
    none to most of them zero, tail index 1), 25 % ratios in 0..1 with mass on 0 and 1, 10 % negative values like log
    probabilities, 10 % values that are constant within a query. A number per document enters the first four blocks
    and a number per query the first two, so that their columns are correlated.

    The law of a row depends on the ranker, so a training and a test set that belong together are the parts of one call.
    Cost O(rows * n_features); peak memory is the result plus a few numbers per row and a block of about 2048 rows.
    """
    n_queries = check_count(n_queries, name="n_queries")
    n_features = check_count(n_features, name="n_features")
    noise = check_real(noise, name="noise", zero=True)
    out_dtype = check_float_dtype(dtype)
    return_ranker = check_bool(return_ranker, name="return_ranker")
    rng = check_random_state(random_state)

    sizes = rng.lognormal(np.log(_MEAN_LIST_LENGTH) - 0.5 * _LOG_LENGTH_SD**2, _LOG_LENGTH_SD, n_queries)
    qptr = np.zeros(n_queries + 1, dtype=np.int64)
    np.cumsum(np.clip(np.rint(sizes), 1, _MAX_LIST_LENGTH).astype(np.int64), out=qptr[1:])
    n_rows = int(qptr[-1])
    columns = _MslrColumns(n_features, rng)

    X = np.empty((n_rows, n_features), dtype=out_dtype)
    relevance = np.empty(n_rows, dtype=np.float64)
    buffer = np.empty((BLOCK_ROWS + _MAX_LIST_LENGTH, n_features), dtype=np.float32)
    first_query = 0
    while first_query < n_queries:
        # As many whole queries as bring the block to BLOCK_ROWS rows; it overshoots by less than one list.
        last_query = int(np.searchsorted(qptr, min(qptr[first_query] + BLOCK_ROWS, n_rows)))
        rows = slice(int(qptr[first_query]), int(qptr[last_query]))
        scratch = buffer[: rows.stop - rows.start]
        block = X[rows] if out_dtype == np.float32 else np.empty_like(scratch)
        columns.fill(block, np.diff(qptr[first_query : last_query + 1]), rng, scratch)
        relevance[rows] = columns.relevance(block, scratch)
        if out_dtype != np.float32:
            X[rows] = block
        first_query = last_query

    scale = float(relevance.std()) or 1.0
    relevance /= scale
    if noise > 0.0:
        relevance += noise * rng.standard_normal(n_rows)
    cuts = np.quantile(relevance, np.cumsum(_MSLR_GRADE_SHARES)[:-1])
    y = np.searchsorted(cuts, relevance, side="left").astype(np.int32)
    dataset = RankingDataset(X, y, qptr=qptr)
    return (dataset, columns.weights.astype(np.float64) / scale) if return_ranker else dataset


class _MslrColumns:
    """The parameters of every column of an MSLR-like set, and how a block of rows is drawn from them.

    Values are made from uniforms by correctly rounded operations only (+, *, /, sqrt, floor), so that a seed gives the
    same features on every machine.
    """

    _SHARES = (0.40, 0.15, 0.25, 0.10, 0.10)

    def __init__(self, n_features: int, rng: np.random.Generator) -> None:
        ends = np.rint(np.cumsum(self._SHARES) * n_features).astype(int)
        ends[-1] = n_features
        self.counts, self.heavy, self.ratios, self.negative, self.constant = (
            slice(int(a), int(b)) for a, b in zip((0, *ends[:-1]), ends, strict=True)
        )
        shape = rng.random((3, n_features))
        a, b = shape[0], shape[1]
        # Scales are log-uniform: medians of MSLR's columns range from 0 to tens of thousands. Three digits are kept, so
        # that the last bit of a power cannot make the features differ between machines.
        scale = np.empty(n_features)
        scale[self.counts] = 0.3 * 300.0 ** a[self.counts]
        scale[self.heavy] = 0.1 * 1e4 ** a[self.heavy]
        scale[self.ratios] = 1.0 + a[self.ratios]
        scale[self.negative] = 10.0 * 5.0 ** a[self.negative]
        scale[self.constant] = 10.0 * 5.0 ** a[self.constant]
        self.scale = np.round(scale, 3).astype(np.float32)
        shift = np.zeros(n_features)
        shift[self.heavy] = 2.0 * b[self.heavy]
        shift[self.ratios] = 0.9 * b[self.ratios] * scale[self.ratios]
        self.shift = np.round(shift, 3).astype(np.float32)

        # Weights are per unit of the column's usual spread after T; most favour the document, some speak against it.
        spread = np.log1p(scale)
        spread[self.ratios] = 0.25
        spread[self.negative] = 0.5
        weights = (rng.standard_normal(n_features) + 0.3) / spread
        # What is constant within a query cannot order it; it only makes some queries richer than others.
        weights[self.constant] *= 0.5
        self.weights = weights.astype(np.float32)

    def fill(
        self, block: FloatArray, sizes: npt.NDArray[np.int64], rng: np.random.Generator, scratch: FloatArray
    ) -> None:
        """Overwrite `block` (float32, C-ordered) with the rows of queries of these sizes."""
        n_constant = self.constant.stop - self.constant.start
        per_query = rng.random((sizes.shape[0], 1 + n_constant), dtype=np.float32)
        per_row = rng.random((block.shape[0], 1), dtype=np.float32)
        rng.random(dtype=np.float32, out=block)
        query_factor = np.repeat(np.float32(0.5) + per_query[:, :1], sizes, axis=0)
        factor = (np.float32(0.4) + np.float32(1.2) * per_row) * query_factor

        # odds = U / (1 - U) has P(odds > x) = 1 / (1 + x). U is a multiple of 2^-24 below 1, so 1 - U is never 0.
        odds, rest = block[:, : self.heavy.stop], scratch[:, : self.heavy.stop]
        np.subtract(np.float32(1.0), odds, out=rest)
        odds /= rest
        counts = block[:, self.counts]
        np.sqrt(counts, out=counts)
        counts *= factor
        counts *= self.scale[self.counts]
        np.floor(counts, out=counts)

        heavy = block[:, self.heavy]
        heavy *= factor
        heavy -= self.shift[self.heavy]
        np.maximum(heavy, np.float32(0.0), out=heavy)
        heavy *= self.scale[self.heavy]

        ratios = block[:, self.ratios]
        ratios += np.float32(0.5) * (per_row - np.float32(0.5))
        ratios *= self.scale[self.ratios]
        ratios -= self.shift[self.ratios]
        np.clip(ratios, np.float32(0.0), np.float32(1.0), out=ratios)

        negative = block[:, self.negative]
        negative -= np.float32(1.5) + np.float32(0.5) * (np.float32(1.0) - per_row)
        negative *= self.scale[self.negative]

        block[:, self.constant] = np.repeat(per_query[:, 1:] * self.scale[self.constant], sizes, axis=0)

    def relevance(self, block: FloatArray, scratch: FloatArray) -> FloatArray:
        """Return w . T(x) of every row of `block`."""
        np.abs(block, out=scratch)
        scratch += np.float32(1.0)
        np.log(scratch, out=scratch)
        np.copysign(scratch, block, out=scratch)
        return dot(scratch, self.weights)
