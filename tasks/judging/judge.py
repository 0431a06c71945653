"""The judge: a model that says whether one text follows from another, asked in both directions."""

import json
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pretexeval.config.tables import JudgeConfig
from pretexeval.primitives.hashing import hash_json, render_canonical_json
from schemas.exchange import Prompt, Sampling, find_entailment, hash_prompt
from tasks.asking.answer_extraction import extract_answer
from tasks.asking.writers import Reply, Writer, WriterPrompt

PLACEHOLDERS = ("X", "Y")


def mask_names(texts: Sequence[str], heads: Sequence[str], tails: Sequence[str]) -> tuple[str, ...]:
    """Return the texts with X for the head and Y for the tail, each only if every text has one of its names.

    Case, hyphens, a possessive and a plural may differ. The longer name is replaced first, because it may
    contain the other one.

    Args:
        heads, tails: the name in the statement, and its aliases.
    """
    masked = tuple(texts)
    sides = sorted(zip((heads, tails), PLACEHOLDERS, strict=True), key=lambda side: -len(side[0][0]))
    for names, placeholder in sides:
        pattern = _compile_names(tuple(names))
        if names[0] and all(pattern.search(text) for text in masked):
            masked = tuple(pattern.sub(placeholder, text) for text in masked)
    return masked


@lru_cache(4096)
def _compile_names(names: tuple[str, ...]) -> re.Pattern[str]:
    spelled = (
        r"[\s-]+".join(re.escape(word) for word in re.split(r"[\s-]+", name.strip()) if word)
        for name in sorted(names, key=len, reverse=True)
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(spelled)})(?:['’]s|e?s)?(?!\w)", re.IGNORECASE)


JUDGE_TOKENS = 8
DEFAULT_THRESHOLD = 0.5
ANSWERS = ("Yes", "No")
# The reasons of the rules that a calibrated judge may overrule. The others are facts about the text alone, or
# polarity: a text with the wrong polarity turns a true statement into a false one.
LIFTABLE = frozenset({"head lost", "tail lost", "other entity", "modality", "roles", "predicate", "addition"})
# An entailment model generates nothing.
CLASSIFICATION = Sampling(max_tokens=0)


@dataclass(frozen=True)
class Thresholds:
    """The scores from which a judge decides."""

    accept: float = DEFAULT_THRESHOLD
    """Score from which an answer is a yes."""
    lift: float | None = None
    """Score from which a rewording that the rules reject is accepted; null if the judge only rejects."""

    def is_lifted(self, score: float | None) -> bool:
        """Return whether a rewording with this score is accepted although the rules reject it."""
        return self.lift is not None and score is not None and score >= self.lift


@dataclass(frozen=True)
class Judge:
    """A model that is asked whether one text follows from another: a writer, or an entailment model."""

    writer: Writer
    """The model and its id."""
    config: JudgeConfig
    """How it is asked."""
    thresholds: Thresholds = Thresholds()
    calibration: str | None = None
    """Checksum of the calibration that the thresholds come from."""

    @property
    def is_binding(self) -> bool:
        """Whether a rewording that the judge denies is rejected, and not only recorded."""
        return self.config.is_binding

    def is_asked(self, reasons: Collection[str]) -> bool:
        """Return whether it is asked about a rewording that the rules reject for these reasons."""
        may_lift = self.is_binding and self.thresholds.lift is not None
        return not reasons or (may_lift and LIFTABLE.issuperset(reasons))

    @property
    def has_scores(self) -> bool:
        """Whether its scores are more than a yes or a no, so that they are stored."""
        return self.config.model is not None or self.config.logprobs

    def build_prompts(
        self, statement: str, text: str, heads: Sequence[str], tails: Sequence[str]
    ) -> tuple[WriterPrompt, WriterPrompt]:
        """Return the prompts that ask whether the text follows from the statement, and the reverse.

        Args:
            heads, tails: the name in the statement, and its aliases.
        """
        if self.config.mask_names:
            statement, text = mask_names((statement, text), heads, tails)
        return self._build_prompt(statement, text), self._build_prompt(text, statement)

    def _build_prompt(self, premise: str, conclusion: str) -> WriterPrompt:
        config = self.config
        if config.model is None:
            content = _fill(config.instruction, premise, conclusion)
            answers = ANSWERS if config.logprobs else ()
            return self.writer.build_prompt(content, config.max_tokens, answers=answers)
        prompt = Prompt("pair", render_canonical_json([premise, conclusion]))
        return WriterPrompt(hash_prompt(self.writer.model_id, prompt, CLASSIFICATION), prompt, CLASSIFICATION)

    def read_score(self, reply: Reply) -> float | None:
        """Return how sure the judge is that the conclusion follows, 0 to 1; null if it gave no answer."""
        if reply.text is None:
            return None
        if self.config.model is None:
            return _read_answer(reply)
        probabilities = json.loads(reply.text)
        position = find_entailment(list(probabilities))
        return None if position is None else float(list(probabilities.values())[position])

    def decide(self, score: float | None) -> bool | None:
        """Return the verdict of a score; null without an answer."""
        return None if score is None else score >= self.thresholds.accept

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what its verdicts depend on."""
        accept = self.thresholds.accept
        threshold = {} if accept == DEFAULT_THRESHOLD else {"threshold": accept}
        calibration = {} if self.calibration is None else {"calibration": self.calibration}
        return {**self.describe_asking(), "is_binding": self.is_binding, **threshold, **calibration}

    def describe_asking(self) -> dict[str, object]:
        """Return, as JSON, what its scores depend on."""
        config = self.config
        if config.model is not None:
            return {"model_id": self.writer.model_id, "mask_names": config.mask_names}
        # Verdicts had a fixed number of tokens once. Editions with this number keep their names.
        max_tokens = {} if config.max_tokens == JUDGE_TOKENS else {"max_tokens": config.max_tokens}
        logprobs = {"logprobs": True} if config.logprobs else {}
        return {**self.writer.describe(), "instruction": config.instruction, **max_tokens, **logprobs}

    @cached_property
    def judge_id(self) -> str:
        """The model's id, and a hash of how it is asked: scores of one judge can be compared."""
        return f"{self.writer.model_id}/{hash_json(self.describe_asking(), digits=8)}"


def combine_scores(implied: float | None, implying: float | None) -> float | None:
    """Return the score of a rewording, the smaller of both directions; null if one has no answer."""
    return None if implied is None or implying is None else min(implied, implying)


def _read_answer(reply: Reply) -> float | None:
    yes, no = reply.logprobs
    if yes is not None and no is not None:
        return 1 / (1 + math.exp(min(no - yes, 700.0)))
    answer = extract_answer(reply.text)
    return None if answer is None else float(answer)


def _fill(template: str, premise: str, conclusion: str) -> str:
    return template.replace("{premise}", premise).replace("{conclusion}", conclusion)
