"""The losses room: losses in score space, over ragged queries.

A loss maps the scores s and grades R of one query to a number and its derivatives d loss / d s; it has never heard of
X. So the same object serves linear learners (`fastrank.objectives`), boosted trees and neural networks.
"""

from fastrank.losses._base import ScoreLoss
from fastrank.losses.kernel import KernelLoss
from fastrank.losses.listnet import ListNet
from fastrank.losses.max_pair import MaxPair
from fastrank.losses.ranksvm import RankSVM
from fastrank.losses.slam import Slam, SlamStatistics
from fastrank.losses.squared_gain import SquaredGain

__all__ = ["KernelLoss", "ListNet", "MaxPair", "RankSVM", "ScoreLoss", "Slam", "SlamStatistics", "SquaredGain"]
