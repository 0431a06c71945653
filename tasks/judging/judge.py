"""The judge: a language model that says whether a rewording and its statement follow from each other."""

import logging
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import polars as pl

from pretexeval.config.file import Config
from tasks.answers.reading import read_statement
from tasks.asking.writers import Replies, Reply, Writer, WriterPrompt, identify_writer

logger = logging.getLogger(__name__)

INSTRUCTION = (
    'Text 1: "{premise}"\nText 2: "{conclusion}"\nIf text 1 is true, must text 2 be true as well? '
    "Answer Yes or No.\nAnswer:"
)
# The reasons for which the judge rejects a rewording that the rules accepted.
NOT_IMPLIED, NOT_IMPLYING, NO_VERDICT = "not implied", "not implying", "no verdict"
VERDICTS = frozenset({NOT_IMPLIED, NOT_IMPLYING, NO_VERDICT})
MAX_UNREAD_RATE = 0.01
"""A warning is given if a larger share of the judged rewordings has no verdict."""


@dataclass(frozen=True)
class Judge:
    """A writer that is asked whether one text follows from another."""

    writer: Writer
    max_tokens: int
    """Limit of the tokens of a verdict."""

    def build_prompts(self, statement: str, text: str) -> tuple[WriterPrompt, WriterPrompt]:
        """Return the prompts that ask whether the text follows from the statement, and the reverse."""
        return self._build_prompt(statement, text), self._build_prompt(text, statement)

    def _build_prompt(self, premise: str, conclusion: str) -> WriterPrompt:
        content = INSTRUCTION.replace("{premise}", premise).replace("{conclusion}", conclusion)
        return self.writer.build_prompt(content, self.max_tokens)

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its verdicts depend on."""
        return {
            **self.writer.describe(),
            "instruction": INSTRUCTION,
            "max_tokens": self.max_tokens,
        }


def plan_judge(config: Config) -> Judge | None:
    """Return the judge of a configuration without loading it; None if there is none.

    Raises:
        InputError: there is no such model.
    """
    name = config.judge.writer
    if name is None:
        return None
    return Judge(identify_writer(config.find_writer(name)), config.judge.max_tokens)


def read_verdict(reply: Reply) -> bool | None:
    """Return whether the judge says that the conclusion follows; None if it says neither Yes nor No."""
    return None if reply.text is None else read_statement(reply.text)


def judge_rewordings(
    rows: Iterable[dict[str, Any]], judge: Judge
) -> Generator[dict[str, list[WriterPrompt]], dict[str, Replies], None]:
    """Ask the judge about each rewording that the gate accepted, and add the reasons of its denials."""
    accepted = [row for row in rows if not row["reasons"]]
    if not accepted:
        return
    prompts = [judge.build_prompts(row["statement"], row["text"]) for row in accepted]
    replies = (yield {"judge": [prompt for both in prompts for prompt in both]})["judge"]
    for row, both in zip(accepted, prompts, strict=True):
        verdicts = [read_verdict(replies[prompt.key]) for prompt in both]
        judged = zip((NOT_IMPLIED, NOT_IMPLYING), verdicts, strict=True)
        denials = [reason for reason, verdict in judged if verdict is False]
        row["reasons"] = (*denials, *([NO_VERDICT] if None in verdicts else []))


def drop_verdicts(reasons: Iterable[str]) -> list[str]:
    """Return the reasons of the rules."""
    return [reason for reason in reasons if reason not in VERDICTS]


def warn_of_missing_verdicts(attempts: Sequence[pl.DataFrame], judge: Judge) -> None:
    """Warn if replies of the judge hold neither Yes nor No, because these reject their rewordings."""
    listed = chain.from_iterable(frame["reasons"].to_list() for frame in attempts)
    judged = [reasons for reasons in listed if not drop_verdicts(reasons)]
    n_unread = sum(NO_VERDICT in reasons for reasons in judged)
    if n_unread > MAX_UNREAD_RATE * len(judged):
        logger.warning(
            "the judge %r: replies about %s of %s rewordings hold neither Yes nor No, so that these are "
            "rejected; see max_tokens in [judge], and its thoughts (reasoning_marks)",
            judge.writer.config.name,
            f"{n_unread:,}",
            f"{len(judged):,}",
        )
