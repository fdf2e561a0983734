"""The bounds room: what theory says a learner can lose at most, as numbers on your data.

- `perceptron`: the theorems on online ranking as plain functions;
- `separation`: the direction with the largest margin, and the margin of any;
- `certificate`: an online run next to its guarantees;
- `minimax`: the game in which every deterministic online ranker loses.
"""

from fastrank.bounds import certificate, minimax, perceptron, separation
from fastrank.bounds.certificate import Bound, Certificate, Comparator, certify_rounds
from fastrank.bounds.minimax import MinimaxResult, play
from fastrank.bounds.separation import Separation, margin_of, separating_direction

__all__ = [
    "Bound",
    "Certificate",
    "Comparator",
    "MinimaxResult",
    "Separation",
    "certificate",
    "certify_rounds",
    "margin_of",
    "minimax",
    "perceptron",
    "play",
    "separating_direction",
    "separation",
]
