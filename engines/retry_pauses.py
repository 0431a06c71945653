"""How long to wait before a request is sent again: what the endpoint asks for, or longer every time."""

import math
import random
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 8.0
# An endpoint that fails and asks for a longer pause counts as unavailable.
MAX_REQUESTED_S = 60.0
# An endpoint that limits the rate (429) is given as much time as one that has gone. Before its first answer
# it is given less, because its limit may be a quota that is used up.
MAX_LIMITED_S = 600.0
MAX_LIMITED_AT_START_S = 60.0
# Of 32 concurrent prompts of which the endpoint takes 10 a minute, each is taken within so many attempts.
MIN_LIMITED_ATTEMPTS = 30


def read_requested_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the endpoint asks to wait (Retry-After-Ms, Retry-After), or None."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        pause = _parse_number(text)
        if pause is not None:
            return pause / divisor
        if divisor == 1.0 and (date := _parse_date(text)) is not None:
            return max(0.0, date - time.time())
    return None


def find_pause(requested_s: float | None, n_failures: int) -> float | None:
    """Return the pause after the n-th failure in a row; None if the endpoint asks for too long a one."""
    if requested_s is not None:
        return requested_s if requested_s <= MAX_REQUESTED_S else None
    longest = min(FIRST_PAUSE_S * 2.0 ** min(n_failures - 1, 10), MAX_PAUSE_S)
    return longest * random.uniform(0.75, 1)


def find_pause_of_limit(
    requested_s: float | None, n_limited: int, waited_s: float, max_attempts: int, *, has_answered: bool
) -> float | None:
    """Return the pause after the n-th 429 in a row; None if the prompt has waited long enough.

    Args:
        waited_s: seconds since the first of them.
        has_answered: whether the endpoint has answered any prompt of this run.
    """
    patience_s, n_min = (
        (MAX_LIMITED_S, MIN_LIMITED_ATTEMPTS) if has_answered else (MAX_LIMITED_AT_START_S, max_attempts)
    )
    if (requested_s or 0) > MAX_LIMITED_S or (waited_s > patience_s and n_limited >= n_min):
        return None
    if requested_s is None:
        return find_pause(None, n_limited)
    # An endpoint that asks for 0 s again and again is not asked without a pause.
    return max(requested_s, min(0.01 * 2.0 ** min(n_limited, 10), MAX_PAUSE_S))


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _parse_date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
