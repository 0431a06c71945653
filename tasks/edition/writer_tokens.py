"""The tokens of writers' prompts that no stage of an edition names, and their prices.

These prompts (of the judge, the panel and llmeval) are built again. The other prompts of the rephraser are in
the stage attempts.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import read_stage_files
from pretexeval.storage.layout import writer_tokens_record
from pretexeval.storage.records import find_record, read_manifest_files, write_record
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.columns import Stage
from schemas.stages import ATTEMPTS, STATEMENTS, TRIPLETS
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.rephraser import PANEL
from tasks.judging.judge import list_judge_prompts

COUNTED = ("n_prompt_tokens", "n_completion_tokens")


def record_writer_tokens(edition: Edition, store: Store) -> None:
    """Write the record of a complete edition, unless it has one with the present prices.

    An edition whose stages name every prompt has no record.
    """
    if are_tokens_recorded(edition):
        return
    counts = []
    for role, writer in _list_roles(edition).items():
        store.sync_responses(writer.model_id)
        counts.append({"role": role, **_count_tokens(edition, writer, _list_prompts(edition, role))})
    record = {"edition_id": edition.edition_id, "key": _key_tokens(edition), "roles": counts}
    write_record(edition.root / writer_tokens_record(edition.edition_id), record)


def are_tokens_recorded(edition: Edition) -> bool:
    """Return whether the edition needs no record, or has one with the present prices."""
    found = find_record(edition.root / writer_tokens_record(edition.edition_id), "it is written again") or {}
    return not _list_roles(edition) or found.get("key") == _key_tokens(edition)


def _list_roles(edition: Edition) -> dict[str, Writer]:
    """Return role -> writer, of those whose prompts no stage names."""
    return {role: writer for role, writer in edition.writers.items() if role != "rephraser"}


def _key_tokens(edition: Edition) -> str:
    prices = {role: writer.config.price for role, writer in _list_roles(edition).items()}
    return hash_json([edition.edition_id, prices])


def _list_prompts(edition: Edition, role: str) -> Iterable[WriterPrompt]:
    """Build the prompts of a role again."""
    if role == "llmeval" and edition.llmeval is not None:
        return edition.llmeval.build_prompts(_read_stage(edition, TRIPLETS))
    assert edition.rephraser is not None
    if role == PANEL:
        return edition.rephraser.build_panel_prompts()
    assert edition.rephraser.judge is not None
    statements = _read_stage(edition, STATEMENTS).select("variant_id", "statement")
    attempts = _read_stage(edition, ATTEMPTS).join(statements, on="variant_id")
    return list_judge_prompts(attempts, edition.rephraser.judge)


def _read_stage(edition: Edition, stage: Stage) -> pl.DataFrame:
    refs = list(read_manifest_files(edition.root, edition.edition_id, stage.name).values())
    return read_stage_files(edition.root, refs, stage)


def _count_tokens(edition: Edition, writer: Writer, prompts: Iterable[WriterPrompt]) -> dict[str, Any]:
    """Return the number of distinct prompts, and the tokens of their stored replies."""
    keys = {prompt.key for prompt in prompts}
    stored = ResponseStore(edition.root, writer.model_id).read(["prompt_key", "repeat", *COUNTED])
    used = stored.filter(pl.col("prompt_key").is_in(sorted(keys)), repeat=0)
    sums = used.select(pl.col(COUNTED).sum()).row(0, named=True)
    n_known = used["n_prompt_tokens"].count()
    return {
        "model_id": writer.model_id,
        "n_prompts": len(keys),
        "n_unknown": len(keys) - n_known,
        **sums,
        "price": writer.config.price,
    }
