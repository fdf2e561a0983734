from typing import Any

from numpy.typing import NDArray

STATUS: dict[int, str]
COMMENTS: dict[str | None, int]
TEXT_PAD: int
LONGEST_NUMBER: int

def parse_number(text: bytes) -> float | None: ...
def count_rows(text: Any, start: int, stop: int) -> tuple[int, int]: ...
def parse_block(
    text: Any,
    start: int,
    stop: int,
    values: NDArray[Any],
    columns: NDArray[Any] | None,
    row_end: NDArray[Any] | None,
    grades: NDArray[Any],
    runs: NDArray[Any],
    comment_bytes: NDArray[Any],
    comment_end: NDArray[Any],
    n_columns: int,
    fixed_columns: bool,
    index_base: int,
    with_qid: bool,
    allow_missing: bool,
    missing: float,
    comments: int,
) -> tuple[int, int, int, int, int, int, int, int]: ...
def format_row_into(
    values: NDArray[Any], columns: NDArray[Any] | None, index_base: int, decimals: int, out: Any
) -> int: ...
