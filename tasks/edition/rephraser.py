"""The rephraser, a language model that rewords statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from primitives.hashing import hash_json, hash_text
from schemas.stages import DEMONSTRATION_SALT
from tasks.asking.writers import Writer, WriterPrompt
from tasks.judging.judge import Judge

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
    judge: Judge | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Name of a head or a tail -> the other names under which the gate accepts it."""

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
        aliases = {"aliases": hash_json(self.aliases, digits=16)} if self.aliases else {}
        return {
            "kind": "model",
            **self.writer.describe(),
            "instruction": self.instruction,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_attempts": self.max_attempts,
            "judge": None if self.judge is None else self.judge.describe(),
            **aliases,
        }
