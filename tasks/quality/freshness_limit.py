"""The least share of new texts that an edition must have, as a record, so that checks can be published."""

from datetime import UTC, datetime
from pathlib import Path

from storage.layout import freshness_record
from storage.records import find_record, write_record


def record_freshness_limit(root: Path, edition_id: str, min_new_texts: float | None) -> None:
    """Write the share that the configuration requires; without one, remove the record of an earlier one."""
    path = root / freshness_record(edition_id)
    if min_new_texts is None:
        path.unlink(missing_ok=True)
        return
    known = find_record(path, "it is written again", edition_id=edition_id) or {}
    if known.get("min_new_texts") != min_new_texts:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        write_record(path, {"edition_id": edition_id, "min_new_texts": min_new_texts, "checked_at": when})
