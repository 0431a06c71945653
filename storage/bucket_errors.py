"""Error messages of object storage."""

import re

from primitives.errors import InputError


def explain_error(address: str, error: Exception) -> InputError:
    """Return an InputError that says what failed at this address and what to check."""
    return InputError(
        f"[storage] shared {address}: {render_reason(error)}; check the address and the keys in the "
        "environment (docs/object-storage.md). Files made on this host are kept, and the next run sends them"
    )


def render_reason(error: Exception) -> str:
    """Return the library's message in one line, without URL queries, because they may hold signatures."""
    text = str(error).split("\n\nDebug source")[0]
    return re.sub(r"\?\S+", "", " ".join(text.split()))[:300]
