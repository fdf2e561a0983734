"""Learning from streams: the same bits as from a data set, and what was learned survives what goes wrong."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import fastrank as fr
from fastrank._progress import Progress
from fastrank.bounds import margin_of
from fastrank.data import SeparableStream, make_mslr_like, make_separable
from fastrank.learners import DivergenceWarning, NotFittedError, OnlineRanker, RankingPerceptron
from fastrank.losses import MaxPair, Slam, SquaredGain


@pytest.fixture(scope="module")
def data() -> fr.RankingDataset:
    return make_mslr_like(40, random_state=0)[:25]


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "train.txt"
    fr.save_letor(data, path)
    return path


LEARNERS = [
    RankingPerceptron(learning_rate=1e-9, average=True),
    RankingPerceptron(MaxPair(), metric="ap"),
    OnlineRanker(learning_rate=1e-9, schedule="invsqrt", ball=1e-6),
]


def fresh(learner, **parameters):
    return type(learner)(**(learner.get_params() | parameters))


def assert_same(one, two):
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.last_coef_, two.last_coef_)
    ours, theirs = one.history_.columns(), two.history_.columns()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours.keys() | theirs.keys())
    assert (one.history_.loss, one.history_.mean) == (two.history_.loss, two.history_.mean)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_chunks_do_not_matter(data, file, learner):
    whole = fresh(learner, shuffle=False).fit(data)
    assert whole.history_.n_updates > 5
    for chunk_rows in (1, 200, 10**6):
        assert_same(fresh(learner).fit_stream(data, chunk_rows=chunk_rows), whole)
        assert_same(fresh(learner).fit_stream(((query.X, query.y) for query in data), chunk_rows=chunk_rows), whole)
        assert_same(fresh(learner).fit_stream(file, chunk_rows=chunk_rows), whole)
    rows = data.with_X(sparse.csr_array(data.X))
    assert_same(fresh(learner).fit_stream(rows), fresh(learner, shuffle=False).fit(rows))
    parts = fresh(learner)
    for query in data:
        parts.partial_fit(query.X, query.y, group=[len(query.y)])
    assert_same(parts, whole)


def test_a_stream_starts_anew_and_partial_fit_goes_on(data):
    learner = RankingPerceptron(learning_rate=1e-9).fit_stream(data).fit_stream(data)
    assert learner.history_.n_rounds == 25
    learner.partial_fit(data[:5])
    assert learner.history_.n_rounds == 30


def test_certificate_of_a_file_is_that_of_its_data(data, file):
    from_file = RankingPerceptron(learning_rate="theory", shuffle=False).fit(data)
    from_data = from_file.certificate_
    streamed = RankingPerceptron(learning_rate=from_file.learning_rate_).fit_stream(str(file), chunk_rows=300)
    found = streamed.certificate_
    assert (found.observed_loss, found.constant, found.radius) == (
        from_data.observed_loss,
        from_data.constant,
        from_data.radius,
    )
    assert found.paper_constant == from_data.paper_constant
    assert found.holds
    # a vector is tried at a few lengths only, and at all of them for data at hand
    assert from_data.bounds[0].value <= found.bounds[0].value <= 1.5 * from_data.bounds[0].value
    assert streamed.certify(data).bounds[0].value == pytest.approx(from_data.bounds[0].value, rel=1e-6)
    given = streamed.certify(file, comparator=streamed.coef_)
    assert given.bounds == tuple(
        type(bound)(**(vars(bound) | {"comparator": "given vector"})) if "weights" in bound.comparator else bound
        for bound in found.bounds
    )


def test_certificate_of_a_file_that_learning_did_not_reach_the_end_of(data, file):
    learner = OnlineRanker(SquaredGain(), learning_rate=1e4)
    with pytest.warns(DivergenceWarning):
        learner.fit_stream(file, chunk_rows=200)
    assert 0 < learner.history_.n_rounds < 25
    assert learner.certificate_.n_rounds == learner.history_.n_rounds
    assert learner.certificate_.holds


def test_certificate_of_a_stream_needs_a_comparator(data):
    learner = RankingPerceptron(learning_rate=1e-9).fit_stream(iter(data))
    with pytest.raises(NotFittedError, match="give fit_stream a comparator"):
        learner.certificate_  # noqa: B018
    with pytest.raises(ValueError, match="certify: expected a run whose rounds were counted"):
        learner.certify(data)
    u = learner.coef_
    learner.fit_stream(iter(data), comparator=u, chunk_rows=100)
    certificate = learner.certificate_
    assert certificate.holds
    assert certificate.n_rounds == 25
    # the sums are those of the vector over the data
    kept = RankingPerceptron(learning_rate=1e-9, shuffle=False).fit(data)
    scores = data.X.astype(np.float64) @ u
    expected = Slam("ndcg@10").value(scores * certificate.comparator_norm / np.linalg.norm(u), data)
    assert certificate.comparator_surrogate == pytest.approx(expected.sum())
    assert certificate.comparator_surrogate_steps <= certificate.comparator_surrogate
    assert certificate.bounds[0].value == pytest.approx(kept.certify(data, comparator=u).bounds[0].value, rel=0.5)


def test_separable_streams_are_certified_on_the_way():
    stream = SeparableStream(2000, random_state=0)
    learner = RankingPerceptron(MaxPair()).fit_stream(stream, comparator=stream.ranker)
    certificate = learner.certificate_
    whole = make_separable(2000, random_state=0)
    assert certificate.margin == pytest.approx(margin_of(whole, stream.ranker), rel=1e-12)
    assert margin_of(whole[-100:], stream.ranker) > certificate.margin > stream.margin
    assert certificate.holds
    assert not certificate.vacuous


def test_sparse_streams_may_grow(rng):
    queries = []
    for width in (3, 3, 5, 4, 9):
        X = sparse.csr_array(rng.standard_normal((6, width)) * (rng.random((6, width)) < 0.6))
        queries.append((X, rng.integers(0, 3, 6)))
    X = sparse.vstack([sparse.csr_array((X.data, X.indices, X.indptr), (6, 9)) for X, _ in queries], format="csr")
    whole = fr.RankingDataset(X, np.concatenate([y for _, y in queries]), group=[6] * 5)
    for learner in (RankingPerceptron(average=True), OnlineRanker()):
        fitted = fresh(learner, shuffle=False).fit(whole)
        for chunk_rows in (1, 12, 100):
            assert_same(fresh(learner).fit_stream(queries, chunk_rows=chunk_rows), fitted)
            assert_same(fresh(learner).fit_stream(queries, chunk_rows=chunk_rows, n_features=9), fitted)
    certificate = RankingPerceptron().fit_stream(queries, chunk_rows=1, comparator=np.ones(4)).certificate_
    assert certificate.holds
    with pytest.raises(ValueError, match="query 5 of the stream: expected 5 features, as .* n_features says, got 9"):
        RankingPerceptron().fit_stream(queries, n_features=5)


def test_queries_that_do_not_fit_are_named(data):
    good = [(query.X[:, :4].astype(np.float64), query.y) for query in data[:3]]
    learner = RankingPerceptron()
    for bad, kind, message in [
        ((np.ones((2, 5)), [0, 1]), ValueError, "query 4 of the stream: expected 4 features, .* got 5"),
        ((np.ones((2, 4)), [0, 1, 1]), ValueError, "query 4 of the stream: expected X with a row per entry of y"),
        ((sparse.csr_array(np.ones((2, 4))), [0, 1]), TypeError, "query 4 of .* all queries dense or all sparse"),
        (7, TypeError, "query 4 of the stream: expected a Query or a pair .X, y., got int"),
        (
            (np.full((2, 4), np.nan), [0, 1]),
            ValueError,
            r"X: expected finite .* \(rows of queries 4 to 4 of the stream",
        ),
        ((np.ones((2, 4)), [0, -1]), ValueError, r"y: expected grades of 0 .*rows of queries 4 to 4"),
    ]:
        with pytest.raises(kind, match=message):
            learner.fit_stream([*good, bad], chunk_rows=1)
        assert learner.history_.n_rounds == 3  # what came before is kept
        assert_same(learner, RankingPerceptron(shuffle=False).fit_stream(good))


def test_sources_that_hold_nothing(tmp_path):
    learner = RankingPerceptron()
    with pytest.raises(ValueError, match="source: expected at least one query, got none"):
        learner.fit_stream([])
    with pytest.raises(TypeError, match="source: expected the path of a LETOR file or an iterable"):
        learner.fit_stream(3)
    with pytest.raises(FileNotFoundError):
        learner.fit_stream(tmp_path / "absent.txt")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(fr.DataFormatError, match="empty.txt"):
        learner.fit_stream(tmp_path / "empty.txt")
    with pytest.raises(ValueError, match="chunk_rows: expected"):
        learner.fit_stream([], chunk_rows=0)
    assert not hasattr(learner, "coef_")
    # empty lists among others are rounds without a loss
    queries = [(np.zeros((0, 1)), []), ([[1.0], [0.0]], [1, 0]), (np.zeros((0, 1)), [])]
    data = fr.RankingDataset([[1.0], [0.0]], [1, 0], group=[0, 2, 0])
    for learner in (RankingPerceptron(average=True), OnlineRanker()):
        streamed = learner.fit_stream(queries, chunk_rows=1)
        assert streamed.history_.n_rounds == 3
        assert_same(streamed, fresh(learner, shuffle=False).fit(data))
        assert learner.fit_stream(queries, chunk_rows=1, comparator=[1.0]).certificate_.holds


def test_a_broken_file_keeps_what_came_before(data, file, tmp_path):
    lines = file.read_text().splitlines()
    n_before = int(data.qptr[20])
    lines[n_before + 3] = lines[n_before + 3].replace(" 2:", " 2:x", 1)
    broken = tmp_path / "broken.txt"
    broken.write_text("\n".join(lines) + "\n")
    learner = RankingPerceptron(learning_rate=1e-9).fit(data)
    with pytest.raises(fr.DataFormatError, match=rf"broken.txt:{n_before + 4}:"):
        learner.fit_stream(broken)
    # lines are parsed in blocks: what came before is in the blocks before
    n_rounds = learner.history_.n_rounds
    assert 10 < n_rounds <= 20
    assert_same(learner, RankingPerceptron(learning_rate=1e-9, shuffle=False).fit(data[:n_rounds]))
    assert learner.certify(data[:n_rounds]).holds

    def queries():
        yield from data[:20]
        raise fr.DataFormatError("expected a number", path="elsewhere.txt", line=7)

    for chunk_rows in (1, 10**6):
        with pytest.raises(fr.DataFormatError, match="elsewhere.txt:7: expected a number"):
            learner.fit_stream(queries(), chunk_rows=chunk_rows)
        assert_same(learner, RankingPerceptron(learning_rate=1e-9, shuffle=False).fit(data[:20]))


def test_interrupts_leave_a_whole_model(data, monkeypatch):
    def queries():
        yield from data[:10]
        raise KeyboardInterrupt

    learner = RankingPerceptron(learning_rate=1e-9)
    with pytest.raises(KeyboardInterrupt):
        learner.fit_stream(queries(), chunk_rows=1)
    assert_same(learner, RankingPerceptron(learning_rate=1e-9, shuffle=False).fit(data[:10]))

    monkeypatch.setattr("fastrank.learners._rounds._ROWS_PER_CALL", 500)

    class Impatient(Progress):
        def update(self, fraction):
            if fraction > 0.5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.fit_stream(list(data), progress=Impatient("", enabled=False))
    n_rounds = learner.history_.n_rounds
    assert 12 < n_rounds < 25
    assert_same(learner, RankingPerceptron(learning_rate=1e-9, shuffle=False).fit(data[:n_rounds]))

    # a fit too: its certificate is of the rounds that were played
    class Bar:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def played(self, n_played):
            if n_played > 30:
                raise KeyboardInterrupt

    monkeypatch.setattr("fastrank.learners._ranking.Bar", Bar)
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(n_epochs=2).fit(data)
    assert 30 < learner.history_.n_rounds < 50
    assert learner.certificate_.n_rounds == learner.history_.n_rounds
    assert learner.certificate_.holds


def test_a_bar_on_a_terminal_only(data, capsys, monkeypatch):
    RankingPerceptron().fit(data)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    RankingPerceptron().fit(data)
    assert capsys.readouterr().err == ""  # soon done
    monkeypatch.setattr("fastrank.learners._bar._PATIENCE", 0.0)
    RankingPerceptron().fit(data)
    assert "RankingPerceptron [############################] 100%" in capsys.readouterr().err
    RankingPerceptron(verbose=False).fit(data)
    assert capsys.readouterr().err == ""


def test_a_bar_moves_as_a_file_is_read(file):
    class Record(Progress):
        def __init__(self):
            super().__init__("", enabled=False)
            self.fractions = []

        def update(self, fraction):
            self.fractions.append(fraction)

    bar = Record()
    RankingPerceptron().fit_stream(file, progress=bar)
    assert bar.fractions
    assert bar.fractions == sorted(bar.fractions)
    assert 0 < bar.fractions[0] <= bar.fractions[-1] == 1.0


def test_memory_does_not_grow_with_the_stream():
    def peak(n_queries):
        tracemalloc.start()
        RankingPerceptron(MaxPair(), max_records=64).fit_stream(SeparableStream(n_queries, random_state=0))
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return held

    assert peak(6000) < 1.1 * peak(1500)


def test_real_files_in_chunks(data_room):
    path = data_room / "letor3-ohsumed" / "QueryLevelNorm" / "Fold1" / "train.txt.gz"
    data = fr.load_letor(path)
    learner = RankingPerceptron(average=True).fit_stream(path, chunk_rows=700)
    assert_same(learner, RankingPerceptron(average=True, shuffle=False).fit(data))
    assert learner.certificate_.holds
    assert_same(
        OnlineRanker().fit_stream(fr.iter_letor(path, sparse=True, n_features=45)),
        OnlineRanker(shuffle=False).fit(fr.load_letor(path, sparse=True, n_features=45)),
    )
