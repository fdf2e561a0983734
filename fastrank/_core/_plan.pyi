from typing import Any

from numpy.typing import NDArray

SLAM_KINDS: dict[str, int]

def discounts_into(discounts: NDArray[Any]) -> None: ...
def gains_into(grades: NDArray[Any], gains: NDArray[Any]) -> None: ...
def count_levels_into(
    level: NDArray[Any], qptr: NDArray[Any], first: int, last: int, seen: NDArray[Any], n_query_levels: NDArray[Any]
) -> None: ...
def by_grade_into(
    level: NDArray[Any],
    qptr: NDArray[Any],
    first: int,
    last: int,
    level_ptr: NDArray[Any],
    counts: NDArray[Any],
    by_grade: NDArray[Any],
    level_end: NDArray[Any],
    level_of: NDArray[Any],
) -> None: ...
def ideal_dcg_into(
    qptr: NDArray[Any],
    first: int,
    last: int,
    level_ptr: NDArray[Any],
    level_end: NDArray[Any],
    level_of: NDArray[Any],
    level_gain: NDArray[Any],
    discounts: NDArray[Any],
    k: int,
    ideal: NDArray[Any],
) -> None: ...
def slam_weights_into(
    qptr: NDArray[Any],
    first: int,
    last: int,
    by_grade: NDArray[Any],
    level_ptr: NDArray[Any],
    level_end: NDArray[Any],
    level_of: NDArray[Any],
    level_gain: NDArray[Any],
    discounts: NDArray[Any],
    n_relevant: NDArray[Any],
    ideal: NDArray[Any],
    kind: int,
    k: int,
    class_average: bool,
    place_weight: NDArray[Any],
    weights: NDArray[Any],
) -> None: ...
