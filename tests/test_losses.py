"""The losses as users meet them: any way to say which row is whose, sentences for mistakes, constants that hold."""

import copy
import gc
import math
import pickle
import sys
import threading

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import losses as reference
from reference import plan as reference_plan

import fastrank as fr
from fastrank._core._loss import Loss
from fastrank._core._losses import MaxPairLoss, SlamLoss
from fastrank.data import RankingDataset
from fastrank.losses import KernelLoss, ListNet, MaxPair, RankSVM, ScoreLoss, Slam, SquaredGain, _base
from fastrank.losses._base import dataset_kernel
from fastrank.metrics import Metric

WEIGHTS = ("ap2017", "map2014", "ap_sym", "ndcg2014", "ndcg2017", "ndcg@3")
LOSSES = (
    *(Slam(name) for name in WEIGHTS),
    Slam("ndcg@10", margin=0.25, class_average=True),
    Slam([0.5, 0.25, 0.0, 1.0], margin=2.0),
    MaxPair(),
    MaxPair(0.5),
    ListNet(),
    ListNet("gain"),
    RankSVM(),
    RankSVM(3.0),
    SquaredGain(),
)
names = pytest.mark.parametrize("loss", LOSSES, ids=str)

SCORES = np.array([0.5, -1.0, 2.0, 0.0, 1.5, 0.5, 0.25])
GRADES = np.array([1, 2, 0, 0, 1, 0, 2])
QID = np.array(["b", "a", "b", "a", "b", "c", "a"])


def slam_weights(loss, grades):
    if isinstance(loss.weights, str):
        return reference_plan.slam_weights(grades, loss.weights, class_average=loss.class_average)
    v = dict(zip(reference_plan.by_grade(grades), loss.weights, strict=False))
    return [v.get(i, 0.0) for i in range(len(grades))]


def one_query(loss, scores, grades, row_weight=None):
    """Value and gradient by the formulas."""
    scores, grades = np.asarray(scores, dtype=float).tolist(), np.asarray(grades).tolist()
    gains = [float(reference_plan.gain(grade)) for grade in grades]
    if isinstance(loss, Slam):
        return reference.slam(scores, grades, slam_weights(loss, grades), loss.margin, row_weight)
    if isinstance(loss, MaxPair):
        return reference.max_pair(scores, grades, loss.margin, row_weight)
    if isinstance(loss, ListNet):
        targets = reference.softmax(grades if loss.target == "grade" else gains)
        return reference.list_net(scores, targets, row_weight)
    if isinstance(loss, RankSVM):
        return reference.rank_svm(scores, grades, loss.margin, row_weight)
    return reference.squared_gain(scores, gains, row_weight)


def by_query(loss, scores, grades, rows, row_weight=None, query_weight=None):
    """The same of many queries, whose rows are given, in the order of the rows."""
    values, gradient = np.zeros(len(rows)), np.zeros(len(scores))
    for q, these in enumerate(rows):
        a = None if row_weight is None else row_weight[these]
        value, slopes = one_query(loss, scores[these], grades[these], a)
        weight = 1.0 if query_weight is None else query_weight[q]
        values[q] = weight * value
        gradient[these] = weight * slopes
    return values, gradient


def assert_near(found, expected):
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == np.float64
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


def assert_same_bits(one, two):
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.view(np.int64), b.view(np.int64))


def rows_of(qid):
    return [np.flatnonzero(qid == one) for one in dict.fromkeys(qid.tolist())]


def grouped_order(qid):
    return np.concatenate(rows_of(qid))


# ---------------------------------------------------------------- every way to say which row is whose


@names
@pytest.mark.parametrize(
    "name", ["no queries", "empty queries between others", "one document", "all tied", "graded", "real grades",
             "shuffled rows", "interleaved rows", "none relevant", "all relevant"]
)  # fmt: skip
def test_values_and_gradients_are_those_of_the_formulas(loss, name):
    case = cases.make(name)
    scores = np.random.default_rng(3).standard_normal(len(case.y))
    rows = [np.array(these, dtype=int) for these in case.rows().values()]
    expected = by_query(loss, scores, case.y, rows)
    ways = {"qid": case.qid} if case.group is None else {"group": case.group}
    found = loss.value_and_grad(scores, case.y, **ways)
    assert_near(found, expected)
    assert_same_bits(found, (loss.value(scores, case.y, **ways), loss.grad(scores, case.y, **ways)))
    assert_same_bits(found, loss.value_and_grad(scores, case.dataset()))
    weights = np.random.default_rng(4).uniform(0, 2, len(scores)), np.arange(len(rows)) + 0.5
    options = {"sample_weight": weights[0], "query_weight": weights[1]}
    weighted = loss.value_and_grad(scores, case.y, **ways, **options)
    assert_near(weighted, by_query(loss, scores, case.y, rows, *weights))
    assert_same_bits(weighted, loss.value_and_grad(scores, case.dataset(**options)))


@names
def test_a_vector_alone_is_one_query_and_a_matrix_one_a_row(loss):
    value, gradient = loss.value_and_grad(SCORES[:6], GRADES[:6])
    assert value.shape == (1,)
    assert gradient.shape == (6,)
    values, gradients = loss.value_and_grad(SCORES[:6].reshape(2, 3), GRADES[:6].reshape(2, 3))
    flat = loss.value_and_grad(SCORES[:6], GRADES[:6], group=[3, 3])
    assert gradients.shape == (2, 3)
    assert_same_bits((values, gradients.reshape(-1)), flat)
    weight = np.arange(6.0).reshape(2, 3)
    found = loss.value_and_grad(SCORES[:6].reshape(2, 3), GRADES[:6].reshape(2, 3), sample_weight=weight)
    flat = loss.value_and_grad(SCORES[:6], GRADES[:6], group=[3, 3], sample_weight=weight.reshape(-1))
    assert_same_bits((found[0], found[1].reshape(-1)), flat)


@names
def test_columns_are_vectors(loss):
    found = loss.value_and_grad(SCORES[:, None], GRADES[:, None], qid=QID[:, None], sample_weight=np.ones((7, 1)))
    assert_same_bits(found, loss.value_and_grad(SCORES, GRADES, qid=QID, sample_weight=np.ones(7)))
    data = RankingDataset(np.zeros((7, 0)), GRADES, qid=QID)
    assert_same_bits(loss.value_and_grad(SCORES[:, None], data), loss.value_and_grad(SCORES, data))


@names
def test_group_and_qid_agree(loss):
    order = grouped_order(QID)
    by_size = loss.value_and_grad(SCORES[order], GRADES[order], group=[3, 3, 1])
    by_id = loss.value_and_grad(SCORES, GRADES, qid=QID)
    both = loss.value_and_grad(SCORES[order], GRADES[order], qid=QID[order], group=[3, 3, 1])
    assert_same_bits(by_size, both)
    assert_same_bits(by_size, (by_id[0], by_id[1][order]))


def layouts(scores):
    read_only = scores.copy()
    read_only.flags.writeable = False
    strided = np.zeros(3 * len(scores))[::3]
    strided[:] = scores
    shifted = np.zeros(scores.nbytes + 1, dtype=np.uint8)[1:].view(np.float64)
    shifted[:] = scores
    yield from (read_only, strided, scores[::-1].copy()[::-1], shifted, scores.astype(">f8"), scores.tolist())
    yield from (scores.astype(np.float32), scores.astype(np.float16), scores.astype(object))


@names
@pytest.mark.parametrize("number", range(9))
def test_scores_of_any_layout(loss, number):
    given = list(layouts(SCORES))[number]  # exact in every type
    data = RankingDataset(np.zeros((7, 0)), GRADES, qid=QID)
    expected = loss.value_and_grad(SCORES, GRADES, qid=QID)
    assert_same_bits(loss.value_and_grad(given, GRADES, qid=QID), expected)
    assert_same_bits(loss.value_and_grad(given, data), expected)


@names
def test_integers_and_labels_of_any_type(loss):
    scores = np.array([3, -1, 2, 0, 1, 5, 4])
    expected = loss.value_and_grad(scores.astype(float), GRADES, qid=QID)
    assert_same_bits(loss.value_and_grad(scores, GRADES, qid=QID), expected)
    for dtype in (np.int8, np.uint64, np.float32, object):
        assert_same_bits(loss.value_and_grad(scores, GRADES.astype(dtype), qid=QID), expected)


@names
def test_empty_inputs(loss):
    for y in ([], RankingDataset(np.zeros((0, 2)), [], group=[])):
        options = {"group": []} if isinstance(y, list) else {}
        values, gradient = loss.value_and_grad([], y, **options)
        assert values.shape == gradient.shape == (0,)
    values, gradient = loss.value_and_grad([], [], group=[0, 0])
    assert values.tolist() == [0.0, 0.0]
    assert gradient.shape == (0,)
    assert loss.value([], []).tolist() == [0.0]
    values, gradient = loss.value_and_grad(np.zeros((2, 0)), np.zeros((2, 0)))
    assert values.tolist() == [0.0, 0.0]
    assert gradient.shape == (2, 0)


@names
def test_inputs_stay_as_they_are(loss):
    scores, grades, weight = SCORES.copy(), GRADES.copy(), np.arange(7.0)
    loss.value_and_grad(scores, grades, qid=QID, sample_weight=weight, query_weight=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(scores, SCORES)
    np.testing.assert_array_equal(grades, GRADES)
    np.testing.assert_array_equal(weight, np.arange(7.0))


@names
def test_same_bits_for_any_number_of_threads(loss):
    case = cases.make("shuffled rows in many blocks")
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(len(case.y))
    data = case.dataset(sample_weight=rng.uniform(0, 2, len(scores)))
    one = loss.value_and_grad(scores, data, n_jobs=1)
    for n_jobs in (2, 3, 4, -1):
        assert_same_bits(loss.value_and_grad(scores, data, n_jobs=n_jobs), one)
    assert_same_bits((loss.value(scores, data, n_jobs=3),), one[:1])


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_that_are_not_finite(bad, dtype):
    scores = SCORES.astype(dtype)
    scores[4] = bad
    sentence = rf"scores: expected finite {dtype.__name__} values, got {bad} in row 4 \(query 'b'\)"
    with pytest.raises(ValueError, match=sentence):
        MaxPair().value(scores, GRADES, qid=QID)
    with pytest.raises(ValueError, match=sentence):
        MaxPair().value_and_grad(scores, RankingDataset(np.zeros((7, 0)), GRADES, qid=QID))
    with pytest.raises(ValueError, match=rf"got {bad} in row 1, column 1"):
        MaxPair().grad(scores[:6].reshape(2, 3), GRADES[:6].reshape(2, 3))


@pytest.mark.parametrize(
    ("y", "options", "sentence"),
    [
        ([1, -2, 0], {}, r"y: expected finite grades of 0 \(not relevant\) and above, got -2 in row 1 \(query 0\)"),
        ([1, np.nan, 0], {"qid": [5, 6, 5]}, r"got nan in row 1 \(query 6\); shift the grades, or drop unjudged"),
        ([1, 0, np.inf], {"qid": [5, 6, 5]}, r"got inf in row 2 \(query 5\)"),
        ([1, 2000, 0], {}, "y: expected grades of at most 1000"),
        ([1, 0], {}, r"scores: expected 2 values \(the shape of y\), got 3"),
        ([[1, 0, 0]], {}, r"scores: expected shape \(1, 3\)"),
        ([1, 0, 0], {"qid": [1, 2]}, r"qid: expected 3 ids \(one per row\), got 2"),
        ([1, 0, 0], {"group": [2, 2]}, "group: expected sizes that add up to the 3 rows"),
        ([1, 0, 0], {"sample_weight": [1, 2]}, r"sample_weight: expected 3 values \(one per score\), got 2"),
        ([1, 0, 0], {"sample_weight": [1, -2, 0]}, "sample_weight: expected weights of 0 and above, got -2 at"),
        ([1, 0, 0], {"sample_weight": [1, np.nan, 0]}, "sample_weight: expected finite values"),
        ([1, 0, 0], {"query_weight": [1, 2]}, r"query_weight: expected 1 values \(one per query\), got 2"),
        ([1, 0, 0], {"query_weight": [-1]}, "query_weight: expected weights of 0 and above"),
        ([1, 0, 0], {"n_jobs": 0}, "n_jobs: expected a positive number of threads"),
    ],
)
def test_mistakes_are_sentences(y, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Slam().value_and_grad([1.0, 2.0, 3.0], y, **options)


def test_what_a_data_set_has_is_not_given_again():
    data = RankingDataset(np.zeros((7, 0)), GRADES, qid=QID)
    for name in ("qid", "group", "sample_weight", "query_weight"):
        with pytest.raises(ValueError, match=f"{name}: expected None with a RankingDataset, which has its own"):
            Slam().value(SCORES, data, **{name: np.ones(7)})
    with pytest.raises(ValueError, match=r"scores: expected 7 values \(the shape of y\), got 6"):
        Slam().value(SCORES[:6], data)


def test_judgements_are_not_grades():
    with pytest.raises(TypeError, match="y: expected grades or a RankingDataset, got Qrels"):
        Slam().value([1.0], fr.Qrels.from_dict({"q": {"d": 1}}))
    with pytest.raises(TypeError, match="y: expected a data set, labels or Qrels, got a dict"):
        Slam().value([1.0], {"q": 1})
    with pytest.raises(TypeError, match="scores: expected numbers, one per document, got dtype <U1"):
        Slam().value(["a"], [1])


@pytest.mark.parametrize("kind", [Slam, MaxPair, RankSVM])
def test_margins(kind):
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="margin: expected a finite number greater than 0"):
            kind(margin=bad)
    with pytest.raises(TypeError, match="margin: expected a finite number"):
        kind(margin="1")
    assert isinstance(kind(margin=np.float32(2)).margin, float)


@pytest.mark.parametrize(
    ("weights", "error", "sentence"),
    [
        ("nonsense", ValueError, "weights: expected one of ap2017, map2014, .*ndcg@k, the measures 'ndcg' and 'ap'"),
        ("ndcg@0", ValueError, "weights: expected one of"),
        ("p@10", ValueError, "got 'p@10'"),
        ("ap@10", ValueError, "got 'ap@10'"),
        (Metric("ap", rel=2), ValueError, "weights: expected one of"),
        (Metric("ndcg", gain="linear"), ValueError, "weights: expected one of"),
        ([], ValueError, "weights: expected at least one weight"),
        (None, ValueError, "weights: expected at least one weight, or a name such as 'ndcg@10', got None"),
        ([0.5, -0.1], ValueError, "weights: expected weights of 0 and above, got -0.1 at position 1"),
        ([0.5, np.inf], ValueError, "weights: expected finite values"),
        ([[0.5, 0.5]], ValueError, r"weights: expected a vector .* got an array of shape \(1, 2\)"),
        (["a"], TypeError, "weights: expected numbers"),
    ],
)
def test_weights_that_are_none(weights, error, sentence):
    with pytest.raises(error, match=sentence):
        Slam(weights)


def test_other_arguments():
    with pytest.raises(TypeError, match="class_average: expected True or False, got 1"):
        Slam(class_average=1)
    with pytest.raises(ValueError, match="target: expected one of 'grade', 'gain', got 'rank'"):
        ListNet("rank")
    with pytest.raises(ValueError, match="norm: expected one of 'linf', 'l2', got 'l1'"):
        RankSVM().lipschitz("l1")
    with pytest.raises(ValueError, match="n_docs: expected an integer of at least 0, got -1"):
        RankSVM().lipschitz(n_docs=-1)
    with pytest.raises(TypeError, match=r"core: expected an object of a class that extends .*Loss, got 3 of type int"):
        KernelLoss(3)


# ---------------------------------------------------------------- what a loss is


@names
def test_equal_parameters_make_equal_losses(loss):
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss == copy.deepcopy(loss)
    assert hash(again) == hash(loss)
    assert [other for other in LOSSES if other == loss] == [loss]
    assert_same_bits(again.value_and_grad(SCORES, GRADES, qid=QID), loss.value_and_grad(SCORES, GRADES, qid=QID))


@names
def test_losses_do_not_change(loss):
    with pytest.raises(AttributeError):
        loss.margin = 3.0


def test_names_of_weights():
    assert Slam() == Slam("ndcg") == Slam("ndcg2017") == Slam(Metric("ndcg")) == Slam("NDCG", margin=1)
    assert Slam("map") == Slam("ap") == Slam("ap2017") != Slam("map2014")
    assert Slam("ndcg_cut_10") == Slam("nDCG@10") == Slam(Metric("ndcg", 10)) == Slam("ndcg@10")
    assert Slam("ndcg(gain=exp2)@10") == Slam("ndcg@10")
    assert Slam([1, 0.5]) == Slam(np.array([1.0, 0.5], dtype=np.float32)) == Slam((1.0, 0.5))
    assert Slam([1, 0.5]) != Slam([1, 0.5, 0])
    assert MaxPair() != RankSVM()


def test_they_print_their_formula():
    assert repr(Slam("ndcg@10")) == ("Slam('ndcg@10', margin=1)  sum_i v_i max(0, margin + max{s_j : R_j < R_i} - s_i)")
    assert str(Slam("ap", margin=0.5, class_average=True)) == "Slam('ap2017', margin=0.5, class_average=True)"
    assert str(Slam([0.5, 0.25])) == "Slam((0.5, 0.25), margin=1)"
    assert str(Slam(np.full(100, 0.5))) == "Slam((0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ... 100 weights), margin=1)"
    assert repr(MaxPair(2)) == "MaxPair(margin=2)  max(0, max{margin + s_j - s_i : R_i > R_j})"
    assert repr(ListNet("gain")) == "ListNet(target='gain')  -sum_i P_i(2^R - 1) log P_i(s), P = softmax"
    assert repr(RankSVM()) == "RankSVM(margin=1)  sum over R_i > R_j of max(0, margin + s_j - s_i)"
    assert repr(SquaredGain()) == "SquaredGain()  1/2 sum_i (s_i - (2^R_i - 1))^2"
    core = MaxPairLoss(None, 1.0)
    assert repr(KernelLoss(core)) == "KernelLoss(MaxPairLoss)  max(0, max{a_i (margin + s_j - s_i) : R_i > R_j})."


def test_a_kernel_of_ones_own():
    core = MaxPairLoss(None, 1.0)
    loss = KernelLoss(core)
    assert loss == KernelLoss(core) != KernelLoss(MaxPairLoss(None, 1.0))
    assert hash(loss) == hash(KernelLoss(core))
    data = RankingDataset(np.zeros((7, 0)), GRADES, qid=QID, query_weight=[1.0, 2.0, 0.5])
    assert_same_bits(loss.value_and_grad(SCORES, data), MaxPair().value_and_grad(SCORES, data))
    with pytest.raises(ValueError, match="sample_weight: expected None with a KernelLoss"):
        loss.value(SCORES, GRADES, qid=QID, sample_weight=np.ones(7))
    assert loss.lipschitz() == math.inf
    assert loss.metric is None


def test_a_kernel_made_for_other_rows_is_refused():
    loss = KernelLoss(MaxPairLoss(np.ones(3), 1.0))
    with pytest.raises(ValueError, match="expected a loss made for 7 rows, got one made for 3"):
        loss.value(SCORES, GRADES, qid=QID)


def test_a_subclass_needs_a_kernel_and_a_formula():
    with pytest.raises(TypeError, match="abstract"):
        ScoreLoss()

    class Nothing(ScoreLoss):
        formula = "0"

        def kernel(self, plan, sample_weight=None):
            return SlamLoss(np.zeros(len(plan.by_grade)), 1.0)

    values, gradient = Nothing().value_and_grad(SCORES, GRADES, qid=QID)
    assert not values.any()
    assert not gradient.any()
    assert repr(Nothing()) == "Nothing()  0"
    assert Nothing().bound_scale is None


class InPython(Loss):
    def evaluate(self, scores, query, work, gradient):
        return 1.0


@pytest.mark.parametrize("kernel", [Loss, InPython])
def test_a_kernel_without_evaluate_is_refused(kernel):
    with pytest.raises(TypeError, match=f"implements evaluate, got {kernel.__name__}, which does not; .* in Cython"):
        KernelLoss(kernel()).value(SCORES, GRADES, qid=QID)


# ---------------------------------------------------------------- what depends on grades is computed once


def test_kernels_of_a_data_set_are_made_once(monkeypatch):
    data = RankingDataset(np.zeros((7, 2)), GRADES, qid=QID, sample_weight=np.arange(7.0))
    made = []
    plain = Slam.kernel
    monkeypatch.setattr(Slam, "kernel", lambda *args: made.append(args) or plain(*args))
    for _ in range(3):
        Slam("ndcg@10").value_and_grad(SCORES, data)
    assert len(made) == 1
    other = data.with_X(np.ones((7, 1)))  # shares the plan and the weights
    Slam("ndcg@10").value(SCORES, other)
    assert len(made) == 1
    Slam("ndcg@3").value(SCORES, data)
    assert len(made) == 2


def test_row_weights_of_data_sets_that_share_a_plan():
    data = RankingDataset(np.zeros((7, 2)), GRADES, qid=QID)
    shared = data.plan
    weighted = data.with_X(np.ones((7, 1)))
    assert weighted.plan is shared
    weighted._sample_weight = np.arange(7.0)
    for _ in range(2):
        plain = Slam().value(SCORES, data)
        assert_same_bits(
            (Slam().value(SCORES, weighted),), (Slam().value(SCORES, GRADES, qid=QID, sample_weight=np.arange(7.0)),)
        )
        assert_same_bits((plain,), (Slam().value(SCORES, GRADES, qid=QID),))


def test_few_kernels_are_kept_and_none_outlives_its_data():
    gc.collect()
    n_plans = len(_base._kernels)
    data = RankingDataset(np.zeros((7, 2)), GRADES, qid=QID)
    for number in range(20):
        Slam(margin=1.0 + number).value(SCORES, data)
    kept = _base._kernels[data.plan]
    assert list(kept) == [Slam(margin=1.0 + number) for number in range(12, 20)]
    del data, kept
    gc.collect()
    assert len(_base._kernels) == n_plans


def test_threads_may_share_a_data_set():
    case = cases.make("graded")
    data, scores = case.dataset(), np.random.default_rng(2).standard_normal(len(case.y))
    expected = [loss.value_and_grad(scores, case.dataset()) for loss in LOSSES]
    failures = []

    def work(start):
        try:
            for turn in range(2 * len(LOSSES)):
                number = (start + turn) % len(LOSSES)
                assert_same_bits(LOSSES[number].value_and_grad(scores, data, n_jobs=2), expected[number])
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(3 * number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures, failures[0]


# ---------------------------------------------------------------- constants


def test_constants_of_the_papers():
    root = math.sqrt(2)
    for loss in (*(Slam(name, margin=3.0) for name in WEIGHTS), MaxPair(), ListNet()):
        assert (loss.lipschitz(), loss.lipschitz("l2")) == (2.0, root)
    assert Slam([0.5, 0.25, 2.0]).lipschitz("linf") == 5.5
    assert Slam([0.5, 0.25, 2.0]).lipschitz("l2") == pytest.approx(2.75 * root)
    assert [RankSVM().lipschitz(n_docs=m) for m in range(7)] == [0, 0, 2, 4, 8, 12, 18]
    assert [RankSVM().lipschitz("l2", n_docs=m) ** 2 for m in range(5)] == pytest.approx([0, 0, 2, 8, 20])
    assert RankSVM().lipschitz() == RankSVM().lipschitz("l2") == SquaredGain().lipschitz() == math.inf
    assert ListNet().smoothness() == 1.0


@pytest.mark.parametrize("m", [2, 3, 6, 7])
def test_constants_of_ranksvm_are_attained(m):
    gradient = RankSVM().grad(np.zeros(m), np.arange(m))
    assert np.abs(gradient).sum() == RankSVM().lipschitz(n_docs=m)
    assert np.linalg.norm(gradient) == pytest.approx(RankSVM().lipschitz("l2", n_docs=m))
    two_grades = RankSVM().grad(np.zeros(m), np.arange(m) < m // 2)
    assert np.abs(two_grades).sum() == RankSVM().lipschitz(n_docs=m)


def test_rounding_makes_no_loss_negative():
    """Scores a hair above their margin, far from 0."""
    scores = [17132.82938410631, 5e-324, 8566.46469205316, 17132.82938410631, 17132.829384106317, 0.09999999999999999]
    assert 0.0 <= RankSVM(0.1).value(scores, [1, 0, 1, 1, 1, 1])[0] < 1e-11


def test_constants_of_slam_and_max_pair_are_attained():
    for loss in (Slam("ap"), Slam("ndcg"), MaxPair()):
        gradient = loss.grad([0.0, 1.0], [1, 0])
        assert np.abs(gradient).sum() == loss.lipschitz()
        assert np.linalg.norm(gradient) == pytest.approx(loss.lipschitz("l2"))


@st.composite
def queries(draw, largest=12):
    m = draw(st.integers(1, largest))
    scale = draw(st.sampled_from([1e-3, 1.0, 100.0]))
    whole = hnp.arrays(np.int64, m, elements=st.integers(-3, 3))
    real = hnp.arrays(np.float64, m, elements=st.floats(-1, 1))
    scores = draw(st.one_of(whole, real)) * scale
    return scores, draw(hnp.arrays(np.int64, m, elements=st.integers(0, draw(st.integers(1, 6)))))


@settings(max_examples=150, deadline=None)
@given(queries(), st.sampled_from(LOSSES))
def test_gradients_never_exceed_the_constants(query, loss):
    scores, grades = query
    gradient, m = loss.grad(scores, grades), len(scores)
    assert np.abs(gradient).sum() <= loss.lipschitz("linf", n_docs=m) * (1 + 1e-12)
    assert np.linalg.norm(gradient) <= loss.lipschitz("l2", n_docs=m) * (1 + 1e-12)
    weight = np.linspace(3.0, 0.0, m)
    gradient = loss.grad(scores, grades, sample_weight=weight)
    assert np.abs(gradient).sum() <= weight.max() * loss.lipschitz("linf", n_docs=m) * (1 + 1e-12)
    assert np.linalg.norm(gradient) <= weight.max() * loss.lipschitz("l2", n_docs=m) * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(queries(), st.integers(0, 10**6))
def test_smoothness_of_listnet(query, seed):
    scores, grades = query
    other = scores + np.random.default_rng(seed).uniform(-1, 1, len(scores))
    change = np.abs(ListNet().grad(scores, grades) - ListNet().grad(other, grades)).sum()
    assert change <= ListNet().smoothness() * np.abs(scores - other).max() + 1e-12


# ---------------------------------------------------------------- measures


def test_the_measure_that_a_loss_bounds():
    assert Slam("ndcg@10").metric == Metric("ndcg", 10)
    assert Slam("ndcg2014").metric == Slam().metric == MaxPair().metric == Metric("ndcg")
    assert Slam("map2014").metric == Slam("ap_sym").metric == Slam("map").metric == Metric("ap")
    assert Slam([1.0]).metric is ListNet().metric is RankSVM().metric is SquaredGain().metric is None
    assert Slam(margin=0.5).bound_scale == MaxPair(0.5).bound_scale == 2.0
    assert Slam([1.0]).bound_scale is ListNet().bound_scale is RankSVM().bound_scale is None


def test_which_measures_a_loss_bounds():
    assert Slam("ndcg@10").bounds("ndcg@10")
    assert Slam("ndcg@10").bounds(Metric("ndcg", 10, gain="exp2"))
    for other in ("ndcg", "ndcg@5", "ap", Metric("ndcg", 10, gain="linear")):
        assert not Slam("ndcg@10").bounds(other)
    assert Slam("ap_sym").bounds("map")
    assert not Slam("ap_sym").bounds("ap(rel=2)")
    assert not Slam([1.0]).bounds("ndcg")
    assert all(map(MaxPair().bounds, ("ndcg", "ndcg@3", "ap", "rr", "mrr@10", "hit@1", "wta", "rprec", "bpref")))
    assert not any(map(MaxPair().bounds, ("ap@10", "p@5", "recall@3", "err", "err@5", "dcg", "tau")))
    assert not ListNet().bounds("ndcg")
    with pytest.raises(ValueError, match="metric: expected one of"):
        ListNet().bounds("nonsense")


@settings(max_examples=150, deadline=None)
@given(queries(), st.sampled_from([loss for loss in LOSSES if loss.bound_scale is not None]))
def test_losses_bound_their_measures(query, loss):
    scores, grades = query
    bounded = (loss.metric, "ndcg@2", "ap", "rr", "success@1", "wta", "rprec", "bpref", "ap(rel=2)", "rr@2")
    metrics = [metric for metric in bounded if loss.bounds(metric)]
    found = fr.evaluate(grades, scores, metrics, ties="worst", empty=1.0).values
    assert (1 - found <= loss.bound_scale * loss.value(scores, grades) + 1e-12).all()


# ---------------------------------------------------------------- weights of SLAM


@pytest.mark.parametrize("class_average", [False, True])
@pytest.mark.parametrize(
    "name", ["graded", "empty queries between others", "shuffled rows", "real grades", "no queries"]
)
def test_a_vector_of_ones_own_goes_by_grade(name, class_average):
    case, vector = cases.make(name), (0.4, 0.3, 0.0, 0.2, 0.7)
    data = case.dataset()
    found = Slam(vector, class_average=class_average).row_weights(data.plan)
    expected = np.zeros(len(case.y))
    for rows in case.rows().values():
        grades = case.y[rows]
        order = reference_plan.by_grade(grades.tolist())
        v = np.zeros(len(rows))
        v[order[: len(vector)]] = vector[: len(rows)]
        if class_average:
            v = np.array([v[grades == grade].mean() for grade in grades])
        expected[rows] = v
    np.testing.assert_allclose(data.to_rows(found), expected, rtol=1e-14)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if isinstance(loss, Slam)], ids=str)
@pytest.mark.parametrize(
    "name", ["graded", "empty queries between others", "shuffled rows", "all tied", "none relevant", "no queries"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_weight_statistics(loss, name, weighted):
    case = cases.make(name)
    weight = np.random.default_rng(8).integers(0, 3, len(case.y)) + 0.0 if weighted else np.ones(len(case.y))
    data = case.dataset()
    v_max = support = total = constant = 0
    for rows in case.rows().values():
        grades = case.y[rows]
        v = np.array(slam_weights(loss, grades.tolist())) * weight[rows]
        positive = v[v > 0]
        if len(set(grades.tolist())) > 1 and len(positive):
            ratio = positive.max() / positive.min()
            v_max, support, total = max(v_max, ratio), max(support, len(positive)), max(total, v.sum())
            constant = max(constant, ratio * len(positive) * v.sum())
    found = loss.weight_statistics(data.plan, data.to_grouped(weight) if weighted else None)
    assert found == pytest.approx((v_max, support, total, constant))
    assert isinstance(found.support, int)


@settings(max_examples=150, deadline=None)
@given(queries(), st.sampled_from([loss for loss in LOSSES if isinstance(loss, Slam) and loss.metric]))
def test_gradients_are_self_bounding(query, loss):
    """||z||^2 <= A phi in score space, where rows are unit vectors: ||z||_1^2 <= 4 constant phi / margin."""
    scores, grades = query
    data = RankingDataset(np.zeros((len(grades), 0)), grades, group=[len(grades)])
    measure = fr.evaluate(grades, scores, loss.metric, ties="worst", empty=1.0).values[0, 0]
    if 1 - measure >= 1e-12:
        value, gradient = loss.value_and_grad(scores, data)
        A = 4 * loss.weight_statistics(data.plan).constant / loss.margin
        assert np.abs(gradient).sum() ** 2 <= A * value[0] * (1 + 1e-12)


# ---------------------------------------------------------------- as others use them


def test_a_boosting_objective_improves(rng):
    """The loop that boosted trees run: scores move against the gradient, and the loss falls."""
    grades = rng.integers(0, 4, 300)
    data = RankingDataset(np.zeros((300, 0)), grades, group=[30] * 10)
    for loss in (Slam("ndcg@10"), ListNet(), RankSVM(), SquaredGain()):
        scores = np.zeros(300)
        start = loss.value(scores, data).sum()
        for _ in range(30):
            scores -= 0.02 * loss.grad(scores, data)
        assert loss.value(scores, data).sum() < start


def test_dataset_kernel_is_the_kernel_of_the_data():
    data = RankingDataset(np.zeros((7, 2)), GRADES, qid=QID)
    assert dataset_kernel(MaxPair(), data) is dataset_kernel(MaxPair(), data)
    assert dataset_kernel(MaxPair(), data) is not dataset_kernel(MaxPair(2.0), data)
