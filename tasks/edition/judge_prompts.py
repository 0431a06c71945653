"""The prompts with which the judge is asked about rewordings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from gate import fold_text
from tasks.asking.writers import WriterPrompt
from tasks.judging.judge import Judge

JUDGE = "judge"
"""The reason for which an attempt is rejected that the judge denies."""
Aliases = Mapping[str, Sequence[str]]
"""Name of a head or a tail -> its other names."""


def build_judge_prompts(
    row: Mapping[str, Any], judge: Judge, aliases: Aliases
) -> tuple[WriterPrompt, WriterPrompt]:
    """Return both prompts about an attempt.

    Args:
        row: the text of the attempt, its statement, and the head and the tail of its triplet.
    """
    return judge.build_prompts(
        row["statement"],
        row["text"],
        (row["head"], *select_aliases(aliases, row["head"], row["tail"])),
        (row["tail"], *select_aliases(aliases, row["tail"], row["head"])),
    )


def select_aliases(aliases: Aliases, name: str, other: str) -> list[str]:
    """Return the aliases of a name, without those that the other name of the triplet has too."""
    others = {fold_text(spelling) for spelling in (other, *aliases.get(other, ()))}
    return [alias for alias in aliases.get(name, ()) if fold_text(alias) not in others]


def list_judge_prompts(attempts: pl.DataFrame, judge: Judge, aliases: Aliases) -> Iterator[WriterPrompt]:
    """Yield the prompts that the judge was asked about attempts of an edition.

    Args:
        attempts: the stage attempts, with the columns statement, head and tail.
    """
    for row in attempts.filter(pl.col("text").is_not_null()).iter_rows(named=True):
        if judge.is_asked(row["overruled"] or [reason for reason in row["reasons"] if reason != JUDGE]):
            yield from build_judge_prompts(row, judge, aliases)
