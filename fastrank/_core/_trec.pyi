from typing import Any

from numpy.typing import NDArray

STATUS: dict[int, str]
UNJUDGED: int
SLACK: int

def parse_block(
    text: Any,
    start: int,
    stop: int,
    is_run: bool,
    values: NDArray[Any],
    hashes: NDArray[Any],
    id_end: NDArray[Any],
    id_bytes: NDArray[Any],
    row_line: NDArray[Any] | None,
    run_row: NDArray[Any],
    run_code: NDArray[Any],
    qids: NDArray[Any],
    qid_hash: NDArray[Any],
    slots: NDArray[Any],
) -> tuple[int, int, int, int, int, int, int, int, bool, int, int]: ...
def hash_into(data: NDArray[Any], offsets: NDArray[Any], hashes: NDArray[Any]) -> None: ...
def count_slots(qptr: NDArray[Any], first: int, last: int) -> int: ...
def find_duplicate(
    data: NDArray[Any],
    offsets: NDArray[Any],
    hashes: NDArray[Any],
    qptr: NDArray[Any],
    first: int,
    last: int,
    slots: NDArray[Any],
) -> tuple[int, int]: ...
def order_ties_into(
    data: NDArray[Any],
    offsets: NDArray[Any],
    qptr: NDArray[Any],
    scores: NDArray[Any],
    first: int,
    last: int,
    work: NDArray[Any],
    order: NDArray[Any],
) -> None: ...
def join_into(
    judged_data: NDArray[Any],
    judged_offsets: NDArray[Any],
    judged_hashes: NDArray[Any],
    judged_qptr: NDArray[Any],
    relevance: NDArray[Any],
    ranked_data: NDArray[Any],
    ranked_offsets: NDArray[Any],
    ranked_hashes: NDArray[Any],
    ranked_qptr: NDArray[Any],
    order: NDArray[Any],
    judged_query: NDArray[Any],
    ranked_query: NDArray[Any],
    first: int,
    last: int,
    list_ptr: NDArray[Any],
    missing_ptr: NDArray[Any],
    slots: NDArray[Any],
    grades: NDArray[Any],
    missing: NDArray[Any],
) -> None: ...
def gather_into(
    data: NDArray[Any],
    offsets: NDArray[Any],
    rows: NDArray[Any],
    new_offsets: NDArray[Any],
    new_data: NDArray[Any],
) -> None: ...
