"""The tables of the configuration about questions, the second method.

The string below a field is the text of docs/configuration.md (`pretexeval.config.reference`).
"""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from pretexeval.config.engines import ConfigTable
from schemas.choices import QuestionSetting

Setting = Literal[QuestionSetting, "true_false_unsure"]
"""A way in which a model is asked questions, or samples with a third answer."""
UNSURE: Final = "true_false_unsure"
"""The setting in which samples are asked with the third answer Unsure (docs/models.md)."""


class QuestionsConfig(ConfigTable):
    """The questions of an edition: every knowledge point asked from four sides."""

    settings: tuple[QuestionSetting, ...] = ()
    """How models are asked (docs/multifaceteval.md#a-run). An edition has questions if a setting is given.
    `answer_only`: at once. `chain_of_thought`: after reasoning, several times; the majority counts."""
    wording: str = "bundled"
    """Wording of the questions: `bundled`, or the path of a TOML file like `prototypes/questions.toml`."""
    synonyms: Path | None = None
    """Only with `knowledge.format = "medqa"`: table of synonyms of right answers, from which questions with
    several right options are made."""
    max_tokens: Annotated[int, Field(ge=1)] = 32
    """Maximum number of tokens in an answer of the setting `answer_only`, including what the model
    thinks."""

    @model_validator(mode="after")
    def _require_distinct_settings(self) -> Self:
        if len(set(self.settings)) < len(self.settings):
            raise ValueError("settings names a setting twice")
        return self


class ChainOfThoughtConfig(ConfigTable):
    """The setting `chain_of_thought` (MultifacetEval, 4.1), with self-consistency (Wang et al. 2022)."""

    repeats: Annotated[int, Field(ge=1, le=100)] = 5
    """Number of times that each question is asked."""
    max_tokens: Annotated[int, Field(ge=1)] = 512
    """Maximum number of tokens in a chain of thought and its answer."""
