"""The learners room: linear models learned online, with a record of every round and what theory says of it."""

from fastrank.learners._estimator import NotFittedError
from fastrank.learners._warnings import (
    DivergenceWarning,
    DocumentNormWarning,
    LearningWarning,
    NothingToLearnWarning,
)
from fastrank.learners.binary import BinaryPerceptron
from fastrank.learners.history import OnlineHistory
from fastrank.learners.online import OnlineRanker
from fastrank.learners.perceptron import RankingPerceptron

__all__ = [
    "BinaryPerceptron",
    "DivergenceWarning",
    "DocumentNormWarning",
    "LearningWarning",
    "NotFittedError",
    "NothingToLearnWarning",
    "OnlineHistory",
    "OnlineRanker",
    "RankingPerceptron",
]
