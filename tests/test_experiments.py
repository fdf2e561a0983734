"""The experiments: what they claim is recomputed here, from other calls or by hand."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import inspect
import math
import sys

import numpy as np
import pytest

import fastrank as fr
from fastrank._progress import Progress
from fastrank.data import make_separable
from fastrank.experiments import EXPERIMENTS, experiment, minimax, online_letor, perceptron_simulation
from fastrank.losses import ListNet, MaxPair, Slam

QUERIES = 2000


@pytest.fixture(scope="module")
def simulation():
    return perceptron_simulation.run(queries=QUERIES, seed=3)


@pytest.fixture(scope="module")
def games():
    return minimax.run(margin=0.2, docs=4)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_options_are_the_arguments_of_run(name):
    module = experiment(name)
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    parameters = dict(inspect.signature(module.run).parameters)
    assert parameters.pop("progress").default is None
    needed = [key for key, value in parameters.items() if value.default is inspect.Parameter.empty]
    options = vars(parser.parse_args(["somewhere"] * len(needed)))
    assert {str(options.pop(key)) for key in needed} <= {"somewhere"}
    assert options == {key: value.default for key, value in parameters.items() if key not in needed}
    assert module.__doc__


def test_unknown_experiment():
    with pytest.raises(
        ValueError, match="name: expected one of 'perceptron-simulation', 'minimax', 'online-letor', got 'figure-1'"
    ):
        experiment("figure-1")


# The simulation.


def test_simulation_is_fit_on_the_same_queries(simulation):
    data = make_separable(QUERIES, random_state=3)
    common = {"metric": "ndcg@10", "shuffle": False}
    slam, best_slam, max_pair, listnet = simulation.curves
    for curve, learner in (
        (slam, fr.RankingPerceptron(Slam("ndcg@10"), learning_rate=slam.rate, **common)),
        (best_slam, fr.RankingPerceptron(Slam("ndcg@10"), learning_rate=best_slam.rate, **common)),
        (max_pair, fr.RankingPerceptron(MaxPair(), learning_rate=7.0, **common)),  # any rate: the same mistakes
        (listnet, fr.OnlineRanker(ListNet(), learning_rate=listnet.rate, schedule="invsqrt", **common)),
    ):
        history = learner.fit(data).history_
        assert (history.n_rounds, history.n_mistakes) == (QUERIES, curve.history.n_mistakes), curve.name
        assert history.loss == pytest.approx(curve.history.loss, rel=1e-12)
        if curve is not max_pair:  # its surrogate grows with the rate
            assert history.surrogate_sum == pytest.approx(curve.history.surrogate_sum, rel=1e-12)


def test_best_rate_loses_least_in_the_first_rounds(simulation):
    data = make_separable(1000, random_state=3)

    def loss(rate):
        learner = fr.RankingPerceptron(Slam("ndcg@10"), learning_rate=rate, shuffle=False)
        return learner.fit(data).history_.loss

    assert simulation.curves[1].rate == min((0.01, 0.1, 1.0, 10.0, 100.0), key=loss)


def test_bounds_by_hand(simulation):
    slam, best_slam, max_pair, listnet = simulation.curves
    square = 1 + (4.5 * 0.1) ** 2
    assert simulation.radius == pytest.approx(math.sqrt(square))
    constant = 4 * 10 * 15 * math.log2(11) * square
    assert slam.rate == pytest.approx(1 / constant)
    assert slam.bound == pytest.approx(constant / 0.01)
    assert max_pair.bound == pytest.approx(4 * square / 0.01)
    assert best_slam.bound == listnet.bound == listnet.bound_after == math.inf
    for curve in (slam, best_slam):
        regret = 100 / (2 * curve.rate) + curve.rate / 2 * curve.history.square_sum
        assert curve.bound_after == pytest.approx(regret)
    assert max_pair.bound_after == pytest.approx(10 * math.sqrt(max_pair.history.square_sum))


def test_perceptrons_reach_1_within_the_bound(simulation):
    for curve in simulation.curves[:3]:
        history = curve.history
        assert curve.within is True
        assert history.surrogate_sum <= min(curve.bound, curve.bound_after)
        assert (history.average["ndcg@10"] >= 1 - min(curve.bound, curve.bound_after) / history.round - 1e-9).all()
    assert simulation.curves[3].within is None
    assert simulation.curves[2].history.mean["ndcg@10"] > 0.99


def test_no_mistake_after_the_round_that_says_so(simulation):
    for curve in simulation.curves:
        history = curve.history
        at = int(np.searchsorted(history.round, curve.perfect_from))
        assert history.mistakes[at] == history.n_mistakes
        assert at == 0 or history.mistakes[at - 1] < history.n_mistakes


def test_seed_and_margin_matter_and_runs_repeat(simulation):
    again = perceptron_simulation.run(queries=300, seed=3)
    assert again.columns() == perceptron_simulation.run(queries=300, seed=3).columns()
    assert again.columns() != perceptron_simulation.run(queries=300, seed=4).columns()
    wide = perceptron_simulation.run(queries=300, seed=3, margin=0.5)
    assert wide.curves[2].bound < again.curves[2].bound
    assert f"margin 0.5, no document longer than {math.hypot(1, 2.25):.4g}, seed 3" in wide.table()


def test_table_of_the_simulation(simulation):
    lines = simulation.table().splitlines()
    assert lines[0].startswith("2,000 rounds of SeparableStream: margin 0.1")
    header = "learner rate rounds mistakes none after loss bound bound after within the bound"
    assert " ".join(lines[2].split()) == header
    assert " 249,598 " in lines[3]
    assert " 481.0 " in lines[5]
    lost = [line.split("  ")[-1].strip() for line in lines[3:7]]
    assert lost == ["yes", "yes", "yes", "no bound"]
    assert lines[8].split()[-3:] == ["100", "1,000", "2,000"]
    shown = float(lines[11].split()[-1])
    assert shown == pytest.approx(simulation.curves[2].history.mean["ndcg@10"], abs=1e-6)
    assert "guaranteed: at least 1 - 249,598 / t, which says nothing in so few rounds" in lines[14]
    assert "guaranteed: at least 1 - 481 / t, here 0.759500" in lines[16]


def test_a_broken_bound_would_be_said(simulation):
    broken = dataclasses.replace(simulation.curves[2], bound=0.5)
    text = dataclasses.replace(simulation, curves=(*simulation.curves[:2], broken, simulation.curves[3])).table()
    assert text.splitlines()[5].endswith("  NO")
    assert "MORE than its bound allows" in text


def test_paper_s_order_is_judged_by_the_losses(simulation):
    slam, best, _, listnet = simulation.curves
    assert listnet.history.loss < best.history.loss
    assert "here it is not" in simulation.table()
    behind = dataclasses.replace(simulation, curves=(slam, listnet, listnet, slam))
    assert "so it is here" in behind.table()


def test_csv_of_the_simulation(simulation, tmp_path):
    simulation.to_csv(tmp_path / "curves.csv")
    rows = read(tmp_path / "curves.csv")
    by_learner = {name: [row for row in rows if row["learner"] == name] for name in {row["learner"] for row in rows}}
    assert set(by_learner) == {curve.name for curve in simulation.curves}
    for curve in simulation.curves:
        own = by_learner[curve.name]
        rounds = np.array([int(row["round"]) for row in own])
        assert (np.diff(rounds) > 0).all()
        assert (rounds[0], rounds[-1]) == (1, QUERIES)
        assert {1, 10, 100, 1000} <= set(rounds.tolist())
        loss = np.array([float(row["cumulative_loss"]) for row in own])
        average = np.array([float(row["average ndcg@10"]) for row in own])
        assert np.allclose(average, 1 - loss / rounds, atol=1e-12)
        assert loss[-1] == curve.history.loss  # reads back exactly
        assert int(own[-1]["mistakes"]) == curve.history.n_mistakes
        guaranteed = [float(row["guaranteed average ndcg@10"]) for row in own]
        assert guaranteed == np.maximum(0, 1 - curve.bound / rounds).tolist()


def test_thinned_record(monkeypatch):
    monkeypatch.setattr(perceptron_simulation, "_MAX_RECORDS", 64)
    result = perceptron_simulation.run(queries=1000, seed=0)
    assert len(result.curves[0].history.round) <= 65
    assert result.table().splitlines()[8].split()[-2:] == ["after", "1,000"]  # 100 is no multiple of 16
    exact = perceptron_simulation.run(queries=1000, seed=0, tuning_queries=1000)
    assert result.curves[2].history.loss == exact.curves[2].history.loss


def test_one_round():
    result = perceptron_simulation.run(queries=1, seed=0)
    assert [curve.history.n_rounds for curve in result.curves] == [1] * 4
    assert "time-averaged NDCG@10 after" in result.table()
    assert len(set(result.columns()["learner"])) == 4


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"queries": 0}, ValueError, "queries: expected an integer of at least 1, got 0"),
        ({"queries": 10.0}, TypeError, "queries: expected an integer of at least 1, got 10.0"),
        ({"seed": -1}, ValueError, "seed: expected an integer of at least 0, got -1"),
        ({"seed": np.random.default_rng(0)}, TypeError, "seed: expected an integer"),
        ({"tuning_queries": 0}, ValueError, "tuning_queries: expected an integer of at least 1, got 0"),
        ({"margin": 0.0}, ValueError, "margin: expected a finite number greater than 0, got 0.0"),
        ({"margin": math.nan}, ValueError, "margin: expected a finite number greater than 0, got nan"),
    ],
)
def test_arguments_of_the_simulation(arguments, error, said):
    with pytest.raises(error, match=said):
        perceptron_simulation.run(**{"queries": 10, **arguments})


def test_progress_moves_to_the_end():
    class Recorded(Progress):
        def __init__(self):
            super().__init__("", enabled=False)
            self.seen = []

        def update(self, fraction):
            self.seen.append(fraction)

    bar = Recorded()
    perceptron_simulation.run(queries=1024, tuning_queries=256, progress=bar)
    assert bar.seen == sorted(bar.seen)
    assert (bar.seen[0], bar.seen[-1]) == (256 / (2560 + 4096), 1.0)
    bar = Recorded()
    minimax.run(margin=0.5, progress=bar)
    assert bar.seen[-1] == 1.0


# The picture.


def test_picture(simulation, tmp_path):
    pytest.importorskip("matplotlib")
    before = "matplotlib.pyplot" in sys.modules
    figure = simulation.plot(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert ("matplotlib.pyplot" in sys.modules) == before  # no window, no global state
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    labels = [line.get_label() for line in axes.lines]
    assert labels[:4] == [curve.name for curve in simulation.curves]
    for line, curve in zip(axes.lines, simulation.curves, strict=False):
        assert line.get_xdata()[-1] == QUERIES
        assert line.get_ydata()[-1] == curve.history.mean["ndcg@10"]
    bounds = {line.get_label(): line for line in axes.lines[4:]}
    assert not any("249,598" in label for label in bounds)  # not to be seen in 2,000 rounds
    longer = perceptron_simulation.run(queries=3000, seed=3, tuning_queries=10).plot().axes[0]
    assert longer.lines[4].get_label() == "guaranteed: 1 - 481 / t"
    assert longer.lines[4].get_ydata()[-1] == pytest.approx(1 - simulation.curves[2].bound / 3000)


def test_without_matplotlib(simulation, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'fastrank-ltr\[plot\]'"):
        simulation.plot(tmp_path / "curve.png")
    said = simulation.save(tmp_path)
    assert said[0] == f"wrote {tmp_path / 'perceptron-simulation.csv'}"
    assert said[1].endswith("matplotlib is not installed; pip install 'fastrank-ltr[plot]'")
    assert [path.name for path in tmp_path.iterdir()] == ["perceptron-simulation.csv"]


# The game.


def test_games_lie_between_the_bounds(games):
    per_round = 1 - 1 / math.log2(3)
    assert list(games.games) == ["SLAM perceptron", "max-pair perceptron", "online ListNet"]
    for name, game in games.games.items():
        assert game.n_rounds == 24
        assert game.lower_bound == pytest.approx(24 * per_round)
        assert game.loss >= game.lower_bound - 1e-9
        assert game.upper_bound == pytest.approx(4 / 0.04)
        if "perceptron" in name:
            assert game.loss <= game.upper_bound_here <= game.upper_bound
    lines = games.table().splitlines()
    assert lines[0].startswith("24 rounds, margin 0.2, no document longer than 1; loss: the sum of 1 - NDCG@10")
    assert all(line.endswith("  yes") for line in lines[3:])
    assert lines[5].split()[-2] == f"{24 * per_round:.2f}"  # ListNet has no upper bound


def test_a_game_outside_of_its_bounds_would_be_said(games):
    name, game = "max-pair perceptron", games.games["max-pair perceptron"]
    for loss in (game.lower_bound / 2, game.upper_bound_here * 2):
        assert minimax.Minimax({name: dataclasses.replace(game, loss=loss)}).table().endswith("  NO")


def test_csv_of_the_games(games, tmp_path):
    assert games.save(tmp_path) == [f"wrote {tmp_path / 'minimax.csv'}"]
    rows = read(tmp_path / "minimax.csv")
    assert [row["learner"] for row in rows] == list(games.games)
    for row, game in zip(rows, games.games.values(), strict=True):
        assert (float(row["loss"]), int(row["n_rounds"]), row["metric"]) == (game.loss, 24, "ndcg@10")


@pytest.mark.parametrize("metric", ["ap", "ndcg"])
def test_other_measures(metric):
    result = minimax.run(margin=0.4, metric=metric)
    assert {game.metric for game in result.games.values()} == {metric}
    assert "NO" not in result.table()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"metric": "err"}, "metric: expected one of 'ndcg@10', 'ndcg', 'ap', got 'err'"),
        ({"docs": 1}, "^docs: expected an integer of at least 2, got 1"),
        ({"margin": 2.0}, "margin: expected at most 0.707107"),
    ],
)
def test_arguments_of_the_game(arguments, said):
    with pytest.raises(ValueError, match=said):
        minimax.run(**arguments)


def test_a_table_has_no_picture(games):
    pytest.importorskip("matplotlib")
    with pytest.raises(NotImplementedError, match="expected an experiment with a curve, got minimax"):
        games.plot()


def test_learners_on_folds(tmp_path):
    parts = fr.split_queries(make_separable(60, random_state=0), [0.5, 0.2, 0.3], random_state=0)
    for number in (1, 2):
        (tmp_path / f"Fold{number}").mkdir()
        for role, part in zip(("train", "vali", "test"), parts, strict=True):
            fr.save_letor(part, tmp_path / f"Fold{number}" / f"{role}.txt")
    fractions = []

    class Record(Progress):
        def update(self, fraction):
            fractions.append(fraction)

    result = online_letor.run(tmp_path, seeds=3, progress=Record("", enabled=False))
    assert fractions == [(step + 1) / 6 for step in range(6)]
    train, test = (fr.load_letor(tmp_path / "Fold1" / f"{role}.txt") for role in ("train", "test"))
    learner = fr.RankingPerceptron(MaxPair(), average=True, random_state=2).fit(train)
    wanted = fr.evaluate(test, learner.predict(test), ["ndcg@10", "ap"]).mean
    found = result.values["max-pair perceptron, averaged"]
    assert found.shape == (3, 2, 2)
    assert found[2].tolist() == [list(wanted.values())] * 2  # the folds are the same
    assert f"max-pair perceptron, averaged  {found[..., 0].mean():8.4f}".split() == next(
        line.split()[:4] for line in result.table().splitlines() if line.startswith("max-pair perceptron, av")
    )
    result.save(tmp_path)
    rows = read(tmp_path / "online-letor.csv")
    assert len(rows) == 5 * 3 * 2
    row = next(row for row in rows if row["learner"].endswith("pair perceptron, averaged") and row["seed"] == "2")
    assert (row["fold"], float(row["ndcg@10"]), float(row["ap"])) == ("1", wanted["ndcg@10"], wanted["ap"])
    assert "1 seeds" not in online_letor.run(tmp_path, seeds=1).table()


def test_folds_of_nothing(tmp_path):
    with pytest.raises(fr.DataFormatError, match="expected folders Fold1, Fold2, ..., got none"):
        online_letor.run(tmp_path)
    with pytest.raises(ValueError, match="seeds: expected an integer of at least 1, got 0"):
        online_letor.run(tmp_path, seeds=0)
