from typing import Any

from numpy.typing import NDArray

def codes_direct_into(keys: NDArray[Any], least: int, table: NDArray[Any], codes: NDArray[Any]) -> int: ...
def codes_hashed_into(
    keys: NDArray[Any],
    start: int,
    n_codes: int,
    slot_keys: NDArray[Any],
    slot_codes: NDArray[Any],
    codes: NDArray[Any],
) -> tuple[int, int]: ...
def rehash_into(
    old_keys: NDArray[Any], old_codes: NDArray[Any], slot_keys: NDArray[Any], slot_codes: NDArray[Any]
) -> None: ...
def is_grouped(codes: NDArray[Any]) -> bool: ...
def order_into(codes: NDArray[Any], next_row: NDArray[Any], order: NDArray[Any]) -> None: ...
