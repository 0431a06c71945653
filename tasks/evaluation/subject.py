"""Subject of an evaluation: the samples of an edition, or its questions, in a setting."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE, Setting
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import Sampling
from tasks.asking.prompts import QUESTION_STOP_TEXTS, SAMPLE_STOP_TEXTS
from tasks.evaluation.items import QUESTION_ITEMS, SAMPLE_ITEMS, UNSURE_ITEMS, ItemKind
from tasks.evaluation.requests import (
    REQUESTS_VERSION,
    Requests,
    RequestSettings,
    Shots,
    build_requests,
    select_imported,
    show_demonstrations,
)

# At the end of any of these texts, the answer of a response that begins with it (tasks.answers.judgements) is
# known. Without the character after the word it is not: "Falsehood" is no answer.
ANSWER_TEXTS = tuple(
    f"{word}{end}" for word in ("True", "False", "true", "false") for end in (" ", "\n", ".", ",", "*", '"')
)
# A parameter of vLLM: the text at which generation ends is part of the response.
KEEP_STOP_TEXT = {"include_stop_str_in_output": True}

CHAIN_TEMPERATURE = 0.8
CHAIN_TOP_P = 0.8
"""Probability of the likeliest tokens among which a chain of thought is sampled (MultifacetEval, 4.1)."""


@dataclass(frozen=True)
class Subject:
    """The items that a model is asked about, and the setting."""

    kind: ItemKind = SAMPLE_ITEMS
    setting: Setting | None = None
    """Setting of questions, or UNSURE for samples with a third answer; None: samples with two answers."""
    n_repeats: int = 1
    """Number of times that each prompt is asked."""
    max_tokens: int | None = None
    """The most tokens of an answer to a question; None: samples, whose limit is in the model's table."""
    imported: ResponseStore | None = None
    """The imported responses, of which the evaluation then consists. No model is asked."""

    @property
    def is_reasoned(self) -> bool:
        """Return whether the model reasons before it answers, after demonstrations that do so too."""
        return self.setting == "chain_of_thought"

    @property
    def asks_for_chains(self) -> bool:
        """Return whether the model itself writes the chains of thought of the demonstrations."""
        return self.is_reasoned and self.imported is None

    @property
    def requests_key(self) -> str:
        """The version of the requests, and the keys of the imported responses."""
        if self.imported is None:
            return str(REQUESTS_VERSION)
        stored = self.imported.read(["prompt_key", "repeat"]).sort("prompt_key", "repeat")
        return hash_json([REQUESTS_VERSION, stored.rows()])

    def show_demonstrations(self, items: pl.DataFrame, chains: Mapping[str, str]) -> Shots:
        """Return group -> its demonstrations, from the held-out ones of these items.

        Args:
            chains: item_id -> the chain of thought that is shown, if the model reasons.
        """
        return show_demonstrations(self.kind, items, chains if self.is_reasoned else None)

    def build_requests(self, items: pl.DataFrame, shots: Shots, settings: RequestSettings) -> Requests:
        """Return the requests about tested items of one relation."""
        if self.imported is not None:
            return select_imported(self.show_imported(items, settings), self.setting, self.imported)
        return build_requests(items, shots, settings)

    def show_imported(self, items: pl.DataFrame, settings: RequestSettings) -> Requests:
        """Return one request per tested item, without demonstrations, as an import stores it."""
        return build_requests(items, {}, replace(settings, n_repeats=1))

    def build_sampling(self, model: ModelConfig) -> Sampling:
        """Return the sampling parameters with which a model is asked; by default greedy."""
        is_completion = model.prompt_style == "completion"
        if self.max_tokens is None:
            stop: tuple[str, ...] = SAMPLE_STOP_TEXTS if is_completion else ()
            # The texts at which generation ends early do not contain Unsure.
            if model.early_stop and self.setting != UNSURE:
                stop += ANSWER_TEXTS
                model = model.model_copy(update={"extra_body": model.extra_body | KEEP_STOP_TEXT})
            return model.adapt(
                Sampling(model.max_tokens, model.temperature, model.seed, stop, model.logprobs)
            )
        stop = QUESTION_STOP_TEXTS if is_completion else ()
        if self.is_reasoned:
            return model.adapt(Sampling(self.max_tokens, CHAIN_TEMPERATURE, 0, stop, top_p=CHAIN_TOP_P))
        return model.adapt(Sampling(self.max_tokens, model.temperature, model.seed, stop))


def select_subject(config: Config, model: ModelConfig, setting: Setting | None) -> Subject:
    """Return the samples, with two answers or three, or the questions, as a model is asked about them."""
    if setting is None:
        return Subject(n_repeats=model.repeats)
    if setting == UNSURE:
        return Subject(UNSURE_ITEMS, setting, model.repeats)
    if setting == "chain_of_thought":
        chain = config.chain_of_thought
        return Subject(QUESTION_ITEMS, setting, chain.repeats, chain.max_tokens)
    return Subject(QUESTION_ITEMS, setting, max_tokens=config.questions.max_tokens)
