"""Numbers from outside: of the type and in the range of their column, or null."""

import math


def read_count(value: object) -> int | None:
    """Return a count that a column of 32 bits can hold; None for anything else."""
    number = read_float(value)
    is_count = number is not None and number.is_integer() and 0 <= number < 2**31
    return int(number) if number is not None and is_count else None


def read_float(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
