"""The record of online learning: exact totals, curves that depend on the number of rounds alone."""

from __future__ import annotations

import copy
import csv
import itertools
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrank.data import make_separable
from fastrank.learners import OnlineHistory, RankingPerceptron


def rounds_of(rng, n):
    """What rounds may bring: measures, surrogate, square, moved, rates."""
    measures = rng.random((2, n)).round(1)
    moved = measures[0] < 1
    return measures, rng.exponential(size=n) * moved, rng.exponential(size=n) * moved, moved, np.full(n, 0.1)


def extended(history, rounds, begin, end):
    measures, *others = rounds
    return history.extended(measures[:, begin:end], *(values[begin:end] for values in others))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 300),
    most=st.integers(2, 40),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    seed=st.integers(0, 9),
)
def test_totals_and_curves_however_rounds_are_cut(n, most, cuts, seed):
    rounds = rounds_of(np.random.default_rng(seed), n)
    measures, surrogate, square, moved, _ = rounds
    history = OnlineHistory(["ndcg@10", "ap"], most)
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    for begin, end in itertools.pairwise(ends):
        history = extended(history, rounds, begin, end)
    loss = np.where(1 - measures[0] < 1e-12, 0.0, 1 - measures[0])
    running = {
        "cumulative_loss": np.cumsum(loss),
        "mistakes": np.cumsum(loss > 0),
        "updates": np.cumsum(moved),
        "surrogate": np.cumsum(surrogate),
        "square": np.cumsum(square),
    }
    stride = 1
    while n // stride > most:
        stride *= 2
    kept = np.unique([*range(stride, n + 1, stride), n])
    assert history.round.tolist() == kept.tolist()
    assert len(kept) <= most + 1
    for name, values in running.items():
        assert np.array_equal(getattr(history, name), values[kept - 1]), name
    for row, name in enumerate(history.measures):
        assert np.array_equal(history.measure[name], measures[row, kept - 1])
        assert np.array_equal(history.average[name], np.cumsum(measures[row])[kept - 1] / kept)
        assert history.mean[name] == np.cumsum(measures[row])[-1] / n
    assert (history.n_rounds, history.n_mistakes, history.n_updates) == (n, (loss > 0).sum(), moved.sum())
    assert (history.loss, history.surrogate_sum, history.square_sum) == tuple(
        running[name][-1] for name in ("cumulative_loss", "surrogate", "square")
    )
    assert (history.rate, history.last_rate) == (0.1, 0.1)


def test_what_is_only_rounding_is_no_mistake():
    measures = np.array([[1 - 1e-13, 1 + 1e-15, 1 - 1e-11]])
    history = OnlineHistory(["ap"]).extended(measures, np.zeros(3), np.zeros(3), np.zeros(3), np.ones(3))
    assert history.mistakes.tolist() == [0, 0, 1]
    assert history.loss == pytest.approx(1e-11, rel=1e-4)


def test_rates_that_vary(rng):
    measures, surrogate, square, moved, _ = rounds_of(rng, 6)
    for rates, rate, last in [
        ([0.1] * 6, 0.1, 0.1),
        ([0.3, 0.2, 0.2, 0.1, 0.1, 0.1], None, 0.1),
        ([0.1, 0.2, 0.1, 0.1, 0.1, 0.1], None, None),
        ([0.1] * 5 + [0.2], None, None),
        ([0.1, 0.1, 0.1, 0.2, 0.2, 0.1], None, None),
    ]:
        history = OnlineHistory(["a", "b"])
        assert (history.rate, history.last_rate) == (None, None)
        for part in (slice(0, 3), slice(3, 6)):
            history = history.extended(
                measures[:, part], surrogate[part], square[part], moved[part], np.array(rates)[part]
            )
        assert (history.rate, history.last_rate) == (rate, last)
        assert history.rate_square_sum == pytest.approx(np.dot(rates, square))


def test_a_history_is_a_value(rng):
    rounds = rounds_of(rng, 40)
    history = extended(OnlineHistory(["a", "b"], 16), rounds, 0, 10)
    before = {name: values.copy() for name, values in history.columns().items()}
    one, two = extended(history, rounds, 10, 14), extended(copy.copy(history), rounds, 20, 24)
    for other in (history, pickle.loads(pickle.dumps(history)), copy.deepcopy(history)):
        assert all(np.array_equal(other.columns()[name], values) for name, values in before.items())
    assert np.array_equal(one.measure["a"][10:], rounds[0][0, 10:14])
    assert np.array_equal(two.measure["a"][10:], rounds[0][0, 20:24])
    assert extended(history, rounds, 5, 5) is history
    history.cumulative_loss[:] = 7  # one's own copy
    assert all(np.array_equal(history.columns()[name], values) for name, values in before.items())


def test_before_the_first_round():
    history = OnlineHistory(["ndcg@10"])
    assert history.n_rounds == history.n_mistakes == history.loss == 0
    assert np.isnan(history.mean["ndcg@10"])
    assert history.round.shape == history.surrogate.shape == (0,)
    with pytest.raises(ValueError, match="max_records: expected an integer of at least 2, got 1"):
        OnlineHistory(["ndcg@10"], 1)


def test_csv_reads_back_exactly(tmp_path):
    history = RankingPerceptron(max_records=50).fit(make_separable(333, random_state=0)).history_
    path = tmp_path / "record.csv"
    history.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:3] == ["round", "ndcg@10", "ap"]
    assert [int(row["round"]) for row in rows] == history.round.tolist()
    assert rows[-1]["round"] == "333"
    for name, values in history.columns().items():
        assert [float(row[name]) for row in rows] == values.tolist()
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        history.to_csv(tmp_path / "absent" / "record.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.csv"]


def test_plot(monkeypatch):
    history = RankingPerceptron().fit(make_separable(20, random_state=0)).history_

    class Axes:
        def __init__(self):
            self.lines = {}

        def plot(self, x, y, label):
            self.lines[label] = (x, y)

        def set_xlabel(self, text): ...

        def set_ylabel(self, text): ...

        def legend(self): ...

    axes = Axes()
    assert history.plot(axes) is axes
    assert list(axes.lines) == ["ndcg@10", "ap"]
    assert np.array_equal(axes.lines["ap"][1], history.average["ap"])
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"expected matplotlib to be installed; pip install 'fastrank-ltr\[plot\]'"):
        history.plot()


def test_plot_makes_a_figure_of_its_own():
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = RankingPerceptron().fit(make_separable(20, random_state=0)).history_.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["ndcg@10", "ap"]
    pyplot.close(axes.figure)


def test_a_line_about_it():
    history = RankingPerceptron().fit(make_separable(20, random_state=0)).history_
    assert repr(history).startswith("OnlineHistory(20 rounds, ")
    assert "mean ndcg@10 0." in repr(history)
