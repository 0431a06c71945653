"""Parallel transfers between a host and the bucket."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

N_AT_ONCE = 8
Item = TypeVar("Item")
Result = TypeVar("Result")


def transfer_all(transfer: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Transfer the items, several at once, and return the results in order; raise the first error."""
    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        return list(pool.map(transfer, items))
