"""The rephraser, a language model that rewords statements."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from pretexeval.gate import clean_reply
from pretexeval.primitives.hashing import hash_json, hash_text
from schemas.stages import DEMONSTRATION_SALT, SAMPLES
from schemas.transformations import NAMES
from tasks.asking.writers import Replies, Writer, WriterPrompt
from tasks.edition.statements import write_on_one_line
from tasks.judging.judge import Judge
from tasks.judging.writer_errors import PanelResult, identify_basis, judge_panel, read_panel

PANEL = "panel"
"""The role of the rephraser in its first step, in which it rewords the panel."""
# A greedy rephraser samples at this temperature after its first rewording was rejected.
RETRY_TEMPERATURE = 0.7


@dataclass(frozen=True)
class Rephraser:
    """A model that rewords statements, and how it is asked."""

    writer: Writer
    instruction: str
    temperature: float
    max_tokens: int
    max_attempts: int
    seed: int
    max_new_words: int | None = None
    """The most words of its statement that a rewording may change; None for any number."""
    judge: Judge | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Name of a head or a tail -> the other names under which the gate accepts it."""
    has_gate: bool = True
    """True if the gate checks the rewordings; otherwise the first one is used as it is."""
    is_limited_by_panel: bool = False
    """True if the writer's rewordings of the panel decide on max_new_words."""

    @property
    def writers(self) -> dict[str, Writer]:
        """Role (`panel`, `rephraser`, `judge`) -> the model that is asked in it."""
        panel = {PANEL: self.writer} if self.is_limited_by_panel else {}
        judge = {} if self.judge is None else {"judge": self.judge.writer}
        return {**panel, "rephraser": self.writer, **judge}

    def build_prompt(self, statement: str, attempt: int, split: str) -> WriterPrompt:
        """Return the prompt of one attempt (1, 2, …).

        Prompts of demonstrations do not depend on the edition's seed.
        """
        salt = DEMONSTRATION_SALT if split == "demonstration" else str(self.seed)
        seed = int(hash_text("rephrase", salt, str(attempt), digits=8), 16) % 2**31
        content = self.instruction.replace("{statement}", statement)
        if self.temperature == 0 and attempt == 1:
            return self.writer.build_prompt(content, self.max_tokens)
        return self.writer.build_prompt(content, self.max_tokens, self.temperature or RETRY_TEMPERATURE, seed)

    def build_panel_prompts(self) -> list[WriterPrompt]:
        """Return the prompts of the panel. They are the same in every edition that asks the writer so."""
        return [self.build_prompt(statement, 1, "demonstration") for statement in read_panel()["statement"]]

    def assess_panel(self, replies: Replies) -> tuple[list[str | None], PanelResult]:
        """Return the writer's rewordings of the panel, and what follows from them."""
        texts = [replies[prompt.key].text for prompt in self.build_panel_prompts()]
        cleaned = [None if text is None else clean_reply(text) for text in texts]
        return cleaned, judge_panel(tuple(cleaned))

    def limit_new_words(self, replies: Replies) -> "Rephraser":
        """Return the rephraser with the limit that its rewordings of the panel call for."""
        limit = self.assess_panel(replies)[1].limit
        return replace(self, max_new_words=limit, is_limited_by_panel=False)

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its rewordings depend on."""
        closeness: dict[str, object] = {}
        if self.is_limited_by_panel:
            closeness = {"max_new_words": "auto", "panel": identify_basis()}
        elif self.max_new_words is not None:
            closeness = {"max_new_words": self.max_new_words}
        aliases = {"aliases": hash_json(dict(self.aliases), digits=16)} if self.aliases else {}
        return {
            "kind": "model",
            **self.writer.describe(),
            "instruction": self.instruction,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_attempts": self.max_attempts,
            "judge": None if self.judge is None else self.judge.describe(),
            **closeness,
            **aliases,
        }


N_STATEMENTS = len(NAMES)
# The number or bullet of a line in a list.
ENUMERATION = re.compile(r"^(?:\(?\d{1,2}[.):]|[-*•–])\s+")
MIN_WORDS = 3
"""Words of the shortest line that counts as a statement."""
LLMEVAL_TOKENS = 512
"""Maximum number of tokens in a reply with the statements of a triplet."""


@dataclass(frozen=True)
class Llmeval:
    """The writer of the statements, and how it is asked."""

    writer: Writer
    instruction: str

    def build_prompt(self, relation: str, head: str, tail: str) -> WriterPrompt:
        """Return the prompt of one triplet."""
        triplet = f"({head}, {relation.replace('_', ' ')}, {tail})"
        return self.writer.build_prompt(self.instruction.replace("{triplet}", triplet), LLMEVAL_TOKENS)

    def build_prompts(self, triplets: pl.DataFrame) -> list[WriterPrompt]:
        """Return the prompts of triplets, in their order."""
        rows = triplets.select("relation", "head", "tail").iter_rows()
        return [self.build_prompt(*row) for row in rows]

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what the statements depend on."""
        return {
            **self.writer.describe(),
            "instruction": self.instruction,
            "max_tokens": LLMEVAL_TOKENS,
        }


def build_llmeval_samples(triplets: pl.DataFrame, llmeval: Llmeval, replies: Replies) -> pl.DataFrame:
    """Return up to eight samples per triplet, all with the label of the triplet.

    Args:
        replies: the writer's replies; every triplet must have one.
    """
    rows = []
    columns = triplets.select("triplet_id", "pair_id", "relation", "split", label="is_positive")
    prompts = llmeval.build_prompts(triplets)
    for prompt, values in zip(prompts, columns.iter_rows(named=True), strict=True):
        for index, text in enumerate(list_statements(replies[prompt.key].text or "")):
            sample_id = hash_text("sample", "llmeval", values["triplet_id"], str(index), text)
            rows.append({**values, "sample_id": sample_id, "sample_index": index, "text": text})
    return pl.DataFrame(rows, schema=SAMPLES.empty.schema).with_columns(
        method=pl.lit("llmeval"),
        rephraser=pl.lit(llmeval.writer.model_id),
        status=pl.lit("as_is"),
        attempts=pl.lit(0, pl.Int16),
        reasons=pl.lit([], pl.List(pl.String)),
    )


def list_statements(reply: str) -> list[str]:
    """Return the usable lines of a reply, at most eight: no short lines, headings or repeated lines.

    Numbers and bullets are removed from the lines.
    """
    lines = (write_on_one_line(ENUMERATION.sub("", line.strip())) for line in reply.splitlines())
    usable = [line for line in lines if len(line.split()) >= MIN_WORDS and not line.endswith(":")]
    return list(dict.fromkeys(usable))[:N_STATEMENTS]
