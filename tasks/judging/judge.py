"""The judge: a model that says whether one text follows from another, asked in both directions."""

import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from pretexeval.config.tables import JudgeConfig
from pretexeval.primitives.hashing import hash_json, render_canonical_json
from schemas.exchange import Prompt, Sampling, find_entailment, hash_prompt
from tasks.answers.reading import read_statement
from tasks.asking.writers import Reply, Writer, WriterPrompt

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

    def is_asked(self, reasons: Collection[str]) -> bool:
        """Return whether it is asked about a rewording that the rules reject for these reasons."""
        return not reasons or (self.thresholds.lift is not None and LIFTABLE.issuperset(reasons))

    @property
    def has_scores(self) -> bool:
        """Whether its scores are more than a yes or a no, so that they are stored."""
        return self.config.model is not None or self.config.logprobs

    def build_prompts(self, statement: str, text: str) -> tuple[WriterPrompt, WriterPrompt]:
        """Return the prompts that ask whether the text follows from the statement, and the reverse."""
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
        return {**self.describe_asking(), **threshold, **calibration}

    def describe_asking(self) -> dict[str, object]:
        """Return, as JSON, what its scores depend on."""
        config = self.config
        if config.model is not None:
            return {"model_id": self.writer.model_id}
        logprobs = {"logprobs": True} if config.logprobs else {}
        return {
            **self.writer.describe(),
            "instruction": config.instruction,
            "max_tokens": config.max_tokens,
            **logprobs,
        }

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
    answer = read_statement(reply.text)
    return None if answer is None else float(answer)


def _fill(template: str, premise: str, conclusion: str) -> str:
    return template.replace("{premise}", premise).replace("{conclusion}", conclusion)
