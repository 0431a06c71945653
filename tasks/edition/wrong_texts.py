"""Texts of a language model that are wrong although the gate accepted them: their share, and the limit."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import polars as pl

from pretexeval.storage.files import FileRef, read_stage_files
from pretexeval.storage.records import find_manifest
from schemas.stages import ATTEMPTS, MAX_WRONG_RATE, STATEMENTS
from tasks.asking.writers import read_replies, require_replies
from tasks.edition.attempts import list_rule_reasons
from tasks.edition.edition import Edition
from tasks.judging.writer_errors import (
    Limit,
    Verdicts,
    count_lost_names,
    count_verdicts,
    estimate_wrong_rate,
    read_panel,
)

# The least share of the attempts for which a table of aliases is recommended.
MIN_LOST_NAMES = 0.05


def describe_wrong_texts(
    edition: Edition, files: Sequence[FileRef], earlier: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return how many accepted texts of the writer may be wrong, the limit on new words, and the panel.

    Args:
        earlier: a manifest of this edition, because the replies may be on another machine.

    Raises:
        InputError: a reply to a statement of the panel is missing.
    """
    if edition.rephraser is None or not edition.rephraser.has_gate:
        return {}
    if "wrong_texts" in earlier:
        return {"wrong_texts": earlier["wrong_texts"]}
    rephraser, limit, panel = edition.rephraser, edition.rephraser.max_new_words, {}
    if rephraser.is_limited_by_panel:
        replies = read_replies(edition.root, rephraser.writer)
        require_replies(rephraser.build_panel_prompts(), replies, rephraser.writer)
        texts, result = rephraser.assess_panel(replies)
        rows = zip(read_panel()["statement"], texts, result.reasons, strict=True)
        rewordings = [{"statement": s, "text": text, "reasons": reasons} for s, text, reasons in rows]
        panel = {"panel": {**_describe_estimate(result.verdicts), "rewordings": rewordings}}
        limit = result.limit
    reasons = list_rule_reasons(_read_attempts(edition, files))
    verdicts = count_verdicts(reasons, limit)
    counts = {"max_new_words": verdicts.limit, "n_only_name_lost": count_lost_names(reasons)}
    return {"wrong_texts": {**counts, **_describe_estimate(verdicts), **panel}}


def _read_attempts(edition: Edition, files: Sequence[FileRef]) -> pl.DataFrame:
    """Return the attempts in these files, with the column statement."""
    refs = {
        stage: [ref for ref in files if f"/{stage.name}/" in ref.path] for stage in (ATTEMPTS, STATEMENTS)
    }
    if not refs[ATTEMPTS]:
        return ATTEMPTS.empty.with_columns(statement=pl.lit(""))
    attempts, statements = (read_stage_files(edition.root, each, stage) for stage, each in refs.items())
    return attempts.join(statements.select("variant_id", "statement"), on="variant_id")


def _describe_estimate(verdicts: Verdicts) -> dict[str, Any]:
    counts = {name: value for name, value in asdict(verdicts).items() if name != "limit"}
    estimate = estimate_wrong_rate(verdicts)
    return counts | dict.fromkeys(("wrong_rate", "low", "high")) | (asdict(estimate) if estimate else {})


def find_new_words_limit(edition: Edition) -> Limit | Literal["unknown"]:
    """Return the limit that the writer's panel calls for; "unknown" until the writer has reworded it."""
    rephraser, manifest = edition.rephraser, find_manifest(edition.root, edition.edition_id)
    assert rephraser is not None
    if manifest is not None:
        limit: Limit = manifest["wrong_texts"]["max_new_words"]
        return limit
    replies = read_replies(edition.root, rephraser.writer)
    if any(prompt.key not in replies for prompt in rephraser.build_panel_prompts()):
        return "unknown"
    return rephraser.limit_new_words(replies).max_new_words


def warn_of_wrong_texts(root: Path, edition_id: str) -> str | None:
    """Say that the gate limits the writer of a complete edition, or that too many of its texts are wrong."""
    manifest = find_manifest(root, edition_id) or {}
    found = manifest.get("wrong_texts")
    if found is None:
        return None
    name, limit, said = manifest["rephraser"], found["max_new_words"], []
    if (panel := found.get("panel")) and limit is not None:
        said.append(
            f"The gate accepted {panel['n_passed']} of {panel['n_attempts']} rewordings of the panel by "
            f"{name}. Many accepted rewordings of a writer that errs so often are wrong, so the gate accepts "
            f"at most {limit} new words, and the other samples are statements. A better writer gives more "
            "rewordings (docs/rephrasing.md)"
        )
    n, n_lost = found.get("n_attempts", 0), found.get("n_only_name_lost", 0)
    if n_lost >= MIN_LOST_NAMES * n > 0:
        said.append(
            f"{n_lost:,} of {n:,} rewordings by {name} were rejected only because the head or the tail is "
            "missing. If they name it by a synonym, a table of synonyms saves them: set aliases in "
            "[knowledge] (docs/knowledge-bases.md)"
        )
    if found["wrong_rate"] is not None and found["wrong_rate"] > MAX_WRONG_RATE:
        share, low, high = (f"{100 * found[key]:.1f}" for key in ("wrong_rate", "low", "high"))
        remedy = "" if limit == 0 else "set max_new_words = 0 in [rephraser], or "
        said.append(
            f"About {share} % ({low} to {high} %) of the rewordings by {name} that the gate accepted are "
            f"wrong: {remedy}choose a better writer (docs/rephrasing.md)"
        )
    return "\n".join(said) or None
