"""The rephraser, a language model that rewords statements."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from primitives.hashing import hash_json, hash_text
from schemas.stages import DEMONSTRATION_SALT
from tasks.asking.writers import Writer, WriterPrompt
from tasks.judging.judge import Judge

# A greedy rephraser samples at this temperature after its first rewording was rejected.
RETRY_TEMPERATURE = 0.7
# With a larger share of rejected rewordings, a writer is weak.
WEAK_SHARE = 0.5


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
    """Whether the gate checks the rewordings; if not, the first one is used as it is."""

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

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its rewordings depend on."""
        closeness = {} if self.max_new_words is None else {"max_new_words": self.max_new_words}
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


def warn_of_weak_writer(rephraser: Rephraser, attempts: Iterable[pl.DataFrame]) -> str | None:
    """Return a warning if the gate rejects most rewordings, although it may accept any number of new words.

    Without the gate there is no warning.

    Args:
        attempts: the attempts of each relation.
    """
    if not rephraser.has_gate:
        return None
    written = [frame.filter(pl.col("text").is_not_null()) for frame in attempts]
    n_written = sum(map(len, written))
    n_rejected = sum(len(frame.filter(~pl.col("is_accepted"))) for frame in written)
    if rephraser.max_new_words is not None or n_rejected <= WEAK_SHARE * n_written:
        return None
    return (
        f"The gate rejected {n_rejected:,} of {n_written:,} rewordings by {rephraser.writer.config.name}. Of "
        "a writer that errs so often, many accepted rewordings are wrong as well: set max_new_words = 0 in "
        "[rephraser], or choose a better writer (docs/gate.md)"
    )
