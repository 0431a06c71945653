"""Load the record of the tokens that the judge and the writer of llmeval used for an edition."""

from pathlib import Path

import duckdb

from storage.layout import writer_tokens_record
from storage.records import find_record
from warehouse.catalogue import insert_row
from warehouse.records import read_price

REMEDY = "`pretexeval publish` with the configuration of the edition writes it again"
COUNTS = ("n_prompts", "n_unknown", "n_prompt_tokens", "n_completion_tokens")


def load_writer_tokens(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row per role, if the edition has a record. A damaged record is set aside."""
    record = find_record(root / writer_tokens_record(edition_id), REMEDY, edition_id=edition_id) or {}
    for role in record.get("roles", []):
        counts = [role[name] for name in COUNTS]
        row = [edition_id, role["role"], role["model_id"], *counts, *read_price(role)]
        insert_row(connection, "writer_tokens", row)
