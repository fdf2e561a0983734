"""What learners warn of. Filter them by class: `warnings.simplefilter("error", DivergenceWarning)`."""

from __future__ import annotations


class LearningWarning(UserWarning):
    """The model was learned, but it may not be what was hoped for."""


class DivergenceWarning(LearningWarning):
    """Scores or gradients left the range of numbers; the weights are those before that round."""


class NothingToLearnWarning(LearningWarning):
    """The data do not tell any document from another: no query has two grades, or features never differ."""


class DocumentNormWarning(LearningWarning):
    """A document is longer than `document_norm`, so bounds that rest on it do not hold."""
