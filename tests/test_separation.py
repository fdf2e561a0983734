"""Margins by brute force over all pairs, and the best direction against a linear program and known answers."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import fastrank as fr
from fastrank.bounds import separation
from fastrank.bounds.separation import margin_of, separating_direction
from fastrank.data.adversary import MinimaxAdversary
from fastrank.data.dataset import RankingDataset
from fastrank.data.generators import make_separable

examples = settings(max_examples=120, deadline=None, derandomize=True)


def differences(data: RankingDataset) -> np.ndarray:
    """x_i - x_j of all pairs with R_i > R_j."""
    found = []
    for query in data:
        X = query.X.toarray() if sparse.issparse(query.X) else np.asarray(query.X, dtype=np.float64)
        found += [X[i] - X[j] for i in range(len(X)) for j in range(len(X)) if query.y[i] > query.y[j]]
    return np.array(found).reshape(-1, data.n_features)


def separable_by_lp(data: RankingDataset) -> bool:
    """Whether some u in a box has a gap above 0 on every pair."""
    D = differences(data)
    A = np.hstack([-D, np.ones((len(D), 1))])
    c = np.r_[np.zeros(D.shape[1]), -1.0]
    found = linprog(c, A_ub=A, b_ub=np.zeros(len(D)), bounds=[(-1, 1)] * D.shape[1] + [(0, None)], method="highs")
    assert found.status == 0
    return bool(found.x[-1] > 1e-7)


def make(seed: int, n_queries: int, n_features: int, noise: float, *, kind: str = "dense") -> RankingDataset:
    rng = np.random.default_rng(seed)
    n_rows = 5 * n_queries
    X = rng.standard_normal((n_rows, n_features))
    y = np.clip(np.round(X @ rng.standard_normal(n_features) + noise * rng.standard_normal(n_rows)), 0, 3)
    qid = rng.integers(0, n_queries, n_rows)
    if kind == "csr":
        return RankingDataset(sparse.csr_array(X * (np.abs(X) > 0.7)), y, qid=qid)
    return RankingDataset(X.astype(np.float32) if kind == "float32" else X, y, qid=qid)


@examples
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["dense", "float32", "csr"]))
def test_margin_is_the_least_of_all_pairs(seed, n_queries, kind):
    data = make(seed, n_queries, 3, 0.5, kind=kind)
    w = np.random.default_rng(seed + 1).standard_normal(3) * 7
    D = differences(data)
    expected = (D @ w).min() / np.linalg.norm(w) if len(D) else math.inf
    assert margin_of(data, w) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@examples
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6), st.sampled_from([0.0, 0.1, 1.0]))
def test_separable_exactly_where_the_linear_program_says_so(seed, n_queries, n_features, noise):
    data = make(seed, n_queries, n_features, noise)
    found = separating_direction(data)
    if found.margin == math.inf:
        assert len(differences(data)) == 0
        return
    assert (found.direction is not None) == (found.margin > 0) == separable_by_lp(data)
    if found.direction is None:
        assert found.margin == 0.0
        return
    assert np.linalg.norm(found.direction) == pytest.approx(1.0)
    assert found.margin == margin_of(data, found.direction)
    # the largest: no convex combination of the differences is shorter, and the best direction is one of them
    D = differences(data)
    binding = D[D @ found.direction <= found.margin * (1 + 1e-4)]
    weights = np.linalg.lstsq(
        np.vstack([binding.T, np.ones(len(binding))]), np.r_[found.margin * found.direction, 1.0], rcond=None
    )[0]
    assert np.allclose(binding.T @ weights, found.margin * found.direction, atol=1e-4 * np.abs(D).max())
    others = found.direction + 0.05 * np.random.default_rng(seed).standard_normal((50, n_features))
    assert max(margin_of(data, other) for other in others) <= found.margin * (1 + 1e-5)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_any_row_order_gives_the_same_margin(rng, kind):
    data = make(7, 4, 12, 0.0, kind=kind)
    order = rng.permutation(data.n_rows)
    X = data.X[order]
    shuffled = RankingDataset(X, data.y[order], qid=data.row_qid()[order])
    found, again = separating_direction(data), separating_direction(shuffled)
    assert found.margin > 0
    assert again.margin == pytest.approx(found.margin, rel=1e-5)


def test_sparse_and_dense_agree():
    data = make(11, 6, 15, 0.0, kind="csr")
    dense = data.with_X(data.X.toarray())
    assert separating_direction(data).margin == pytest.approx(separating_direction(dense).margin, rel=1e-5)


def test_known_answers():
    game = MinimaxAdversary(0.2)
    game.play(lambda X: np.zeros(len(X)))
    found = separating_direction(game.dataset(sparse_features=True))
    # two documents per round, R apart from 0 on both sides: the differences are orthogonal and 2 R long
    assert found.margin == pytest.approx(2 / math.sqrt(game.n_rounds), rel=1e-6)

    stream = fr.data.generators.SeparableStream(200, random_state=3)
    data = make_separable(200, random_state=3)
    data = data[0] if isinstance(data, tuple) else data
    found = separating_direction(data)
    assert found.margin >= margin_of(data, stream.ranker) >= stream.margin


def test_identical_documents_of_different_grades_are_not_separable():
    data = RankingDataset([[1.0, 2.0], [1.0, 2.0], [5.0, 0.0]], [0, 1, 2], group=[3])
    assert separating_direction(data) == (None, 0.0)
    assert separating_direction(RankingDataset(np.zeros((3, 2)), [0, 1, 2], group=[3])) == (None, 0.0)


def test_nothing_to_separate():
    data = RankingDataset([[1.0, 2.0], [3.0, 4.0]], [1, 1], group=[2])
    found = separating_direction(data)
    assert found.margin == margin_of(data, [1.0, 1.0]) == math.inf
    assert np.linalg.norm(found.direction) == 1.0
    empty = RankingDataset(np.empty((0, 2)), [], group=[])
    assert margin_of(empty, [1.0, 0.0]) == math.inf
    assert separating_direction(empty).margin == math.inf
    hollow = RankingDataset([[0.0], [1.0]], [0, 1], group=[0, 2, 0])
    assert separating_direction(hollow).margin == margin_of(hollow, [2.0]) == 1.0
    assert separating_direction(RankingDataset(np.empty((2, 0)), [0, 1], group=[2])) == (None, 0.0)


def test_sizes_of_features_do_not_matter(rng):
    data = make(5, 3, 9, 0.0)
    found = separating_direction(data)
    for factor in (1e-120, 1e-6, 1e9):
        scaled = separating_direction(data.with_X(data.X * factor))
        assert scaled.margin == pytest.approx(found.margin * factor, rel=1e-5)
    # one feature a million times the others, of no use: the margin is what the others give
    wide = separating_direction(data.with_X(np.hstack([data.X, 1e6 * rng.standard_normal((data.n_rows, 1))])))
    assert wide.margin == pytest.approx(found.margin, rel=0.2)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1e308])
def test_sizes_of_vectors_do_not_matter(size):
    data = RankingDataset([[1.0, 2.0], [0.0, 0.0]], [1, 0], group=[2])
    assert margin_of(data, [size, size]) == pytest.approx(3.0 / math.sqrt(2.0))


def test_many_grades():
    X = np.linspace(0, 1, 400)[:, None] * [[3.0, 4.0]]
    data = RankingDataset(X, np.arange(400), group=[400])
    assert separating_direction(data).margin == pytest.approx(5 / 399)
    assert margin_of(data, [-3.0, -4.0]) == pytest.approx(-5)


def test_bad_input():
    data = RankingDataset([[1.0, 2.0], [3.0, 5.0]], [0, 1], group=[2])
    with pytest.raises(ValueError, match="w: expected a vector other than 0"):
        margin_of(data, [0.0, 0.0])
    with pytest.raises(ValueError, match="w: expected 2 values"):
        margin_of(data, [1.0])
    with pytest.raises(
        ValueError, match="max_entries: expected at least 2 for differences of 2 features, got 1; raise"
    ):
        separating_direction(data, max_entries=1)
    missing = RankingDataset([[1.0, np.nan], [3.0, 5.0]], [0, 1], group=[2], allow_nan=True)
    for call in (lambda: margin_of(missing, [1.0, 1.0]), lambda: separating_direction(missing)):
        with pytest.raises(ValueError, match="X: expected features whose scores are finite, got NaN"):
            call()


def test_a_solver_that_gives_up_is_not_silent(monkeypatch):
    def stop(*args, **kwargs):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(separation.scipy.optimize, "nnls", stop)
    with pytest.warns(RuntimeWarning, match="the solver stopped early .*scale the features"):
        found = separating_direction(make(5, 3, 9, 0.0))
    assert found == (None, 0.0)


def test_real_data(data_room):
    data = fr.load_letor(data_room / "letor4-mq2008" / "Fold1" / "train.txt.gz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert separating_direction(data).direction is None
        separable = [separating_direction(data[query]).margin > 0 for query in range(40)]
    for query in range(0, 40, 4):
        if len(differences(data[query])):
            assert separable[query] == separable_by_lp(data[query])


@pytest.mark.parametrize("find", [separating_direction, lambda data: margin_of(data, [1.0])])
def test_arrays_are_no_data_set(find):
    with pytest.raises(TypeError, match="data: expected a RankingDataset, got ndarray; make one of X, y and qid"):
        find(np.ones((2, 1)))
