"""The tokens that the judge, the panel and the writer of llmeval used for an edition, and their prices.

The stages of an edition do not name these prompts, so they are built again. The other prompts of the
rephraser are in the stage attempts.
"""

from collections.abc import Iterable, Sequence
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
from tasks.judging.judge import list_judge_prompts

COUNTED = ("n_prompt_tokens", "n_completion_tokens")


def record_writer_tokens(edition: Edition, store: Store) -> None:
    """Write the record of a complete edition, unless it has one with the present prices.

    An edition without a judge, a panel and llmeval has no record.
    """
    if are_tokens_recorded(edition):
        return
    roles, counts = _list_roles(edition), []
    list_prompts = {
        "judge": _list_judge_prompts,
        "panel": _list_panel_prompts,
        "llmeval": _list_llmeval_prompts,
    }
    for role, writer in roles.items():
        store.sync_responses(writer.model_id)
        counts.append({"role": role, **_count_tokens(edition, writer, list_prompts[role](edition))})
    record = {"edition_id": edition.edition_id, "key": _key_tokens(edition, roles), "roles": counts}
    write_record(edition.root / writer_tokens_record(edition.edition_id), record)


def are_tokens_recorded(edition: Edition) -> bool:
    """Return whether the edition needs no record, or has one with the present prices."""
    roles = _list_roles(edition)
    found = find_record(edition.root / writer_tokens_record(edition.edition_id), "it is written again") or {}
    return not roles or found.get("key") == _key_tokens(edition, roles)


def _list_roles(edition: Edition) -> dict[str, Writer]:
    """Return role -> writer, of those whose prompts no stage names."""
    rephraser = edition.rephraser
    judge = rephraser and rephraser.judge
    roles = {} if judge is None else {"judge": judge.writer}
    roles |= {"panel": rephraser.writer} if rephraser and rephraser.is_limited_by_panel else {}
    return roles | ({} if edition.llmeval is None else {"llmeval": edition.llmeval.writer})


def _key_tokens(edition: Edition, roles: dict[str, Writer]) -> str:
    return hash_json([edition.edition_id, {role: writer.config.price for role, writer in roles.items()}])


def _list_judge_prompts(edition: Edition) -> Iterable[WriterPrompt]:
    assert edition.rephraser is not None
    assert edition.rephraser.judge is not None
    statements = _read_stage(edition, STATEMENTS).select("variant_id", "statement")
    attempts = _read_stage(edition, ATTEMPTS).join(statements, on="variant_id")
    return list_judge_prompts(attempts, edition.rephraser.judge)


def _list_panel_prompts(edition: Edition) -> Sequence[WriterPrompt]:
    assert edition.rephraser is not None
    return edition.rephraser.build_panel_prompts()


def _list_llmeval_prompts(edition: Edition) -> Sequence[WriterPrompt]:
    assert edition.llmeval is not None
    return edition.llmeval.build_prompts(_read_stage(edition, TRIPLETS))


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
