"""What a model is asked about in an evaluation, and what is made of its answers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.config.engines import ModelConfig
from schemas.columns import Stage
from schemas.exchange import Sampling
from schemas.stages import PREDICTIONS, REQUESTS, SAMPLES
from tasks.asking.prompts import STOP_TEXTS
from tasks.asking.sampling import build_sampling
from tasks.evaluation.predictions import PREDICTIONS_VERSION, Scoring, score_samples
from tasks.evaluation.requests import REQUESTS_VERSION, Requests, RequestSettings, build_sample_requests

# At the end of any of these texts, the answer that is read (tasks.asking.answer_extraction) is known. Without
# the character after the word it is not: "Falsehood" is no answer.
ANSWER_TEXTS = tuple(
    f"{word}{end}" for word in ("True", "False", "true", "false") for end in (" ", "\n", ".", ",", "*", '"')
)
# A parameter of vLLM: the text at which generation ends is part of the response.
KEEP_STOP_TEXT = {"include_stop_str_in_output": True}

ReadRows = Callable[[], pl.DataFrame]
"""Reads the rows of one relation that the model was asked about."""


@dataclass(frozen=True)
class Subject:
    """What a model is asked about."""

    rows: Stage
    """The stage of the edition that is put to the model."""
    requests: Stage
    results: tuple[Stage, ...]
    """The stages that are made of the answers; the last one holds the predictions."""
    build_sampling: Callable[[ModelConfig], Sampling]
    build_requests: Callable[[pl.DataFrame, RequestSettings, int | None], Requests]
    """Takes the rows of one relation, how the model is asked, and how many pairs or points it is asked."""
    score: Callable[[pl.DataFrame, ReadRows, pl.DataFrame, Scoring], tuple[pl.DataFrame, ...]]
    """Takes the requests of one relation, its rows, and the answers; returns one frame per result stage."""
    requests_version: int
    """The version of `build_requests`."""
    results_version: int
    """The version of `score`."""
    setting: str | None = None
    """How questions are asked; samples are asked in one way only."""
    n_repeats: int = 1
    """How often each prompt is asked."""
    is_reasoned: bool = False
    """Whether the model reasons before it answers, after demonstrations that do so too."""
    chains: Path | None = None
    """The file of the chains of thought of the demonstrations; None: the model writes them."""

    @property
    def asks_for_chains(self) -> bool:
        """Whether the model itself writes the chains of thought of the demonstrations."""
        return self.is_reasoned and self.chains is None

    @property
    def requests_key(self) -> str:
        """The version of the function that builds the requests, and what they depend on besides the rows."""
        return str(self.requests_version)


def _build_sample_sampling(model: ModelConfig) -> Sampling:
    """Return the sampling parameters for samples: by default greedy, for few tokens."""
    stop: tuple[str, ...] = STOP_TEXTS if model.prompt_style == "completion" else ()
    if model.early_stop:
        stop += ANSWER_TEXTS
        model = model.model_copy(update={"extra_body": model.extra_body | KEEP_STOP_TEXT})
    return build_sampling(
        model,
        max_tokens=model.max_tokens,
        temperature=model.temperature,
        seed=model.seed,
        stop=stop,
        logprobs=model.logprobs,
    )


OF_SAMPLES = Subject(
    SAMPLES,
    REQUESTS,
    (PREDICTIONS,),
    _build_sample_sampling,
    build_sample_requests,
    score_samples,
    REQUESTS_VERSION,
    PREDICTIONS_VERSION,
)
