"""Withdrawn editions: a record of its own, as editions never change, says when and why one was withdrawn."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import withdrawal_record
from pretexeval.storage.publication import is_evaluated_now
from pretexeval.storage.records import read_record, write_record


def find_withdrawal(root: Path, edition_id: str) -> dict[str, Any] | None:
    """Return `withdrawn_at` and `reason` of a withdrawn edition; None for any other.

    Raises:
        InputError: the record is damaged. The edition counts neither as withdrawn nor as published.
    """
    return read_record(root / withdrawal_record(edition_id), edition_id=edition_id)


def require_published(root: Path, edition_id: str) -> None:
    """Check that an edition was not withdrawn.

    Raises:
        InputError: it was; the message says when, why, and what to do.
    """
    if withdrawal := find_withdrawal(root, edition_id):
        day, path = withdrawal["withdrawn_at"][:10], root / withdrawal_record(edition_id)
        raise InputError(
            f"{edition_id} was withdrawn on {day} ({withdrawal['reason']}): correct what was wrong, which "
            f"gives it another name, or delete {path} to publish it again"
        )


def withdraw_edition(root: Path, edition_id: str, reason: str) -> None:
    """Write the record that an edition is withdrawn.

    Raises:
        InputError: there is no reason, the edition was withdrawn before, or a model is being evaluated on it.
    """
    if not reason.strip():
        raise InputError("the reason is empty: tell readers of the pages why the edition is withdrawn")
    require_published(root, edition_id)
    if is_evaluated_now(root, edition_id):
        raise InputError(
            f"a model is being evaluated on {edition_id}: wait for the end of the run or cancel it, then "
            "withdraw the edition"
        )
    when = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"edition_id": edition_id, "withdrawn_at": when, "reason": reason.strip()}
    write_record(root / withdrawal_record(edition_id), record)
