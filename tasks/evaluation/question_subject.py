"""The questions of an edition in one setting, as what a model is asked about."""

from functools import partial

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import ChainOfThoughtConfig, Setting
from schemas.exchange import Sampling
from schemas.question_stages import QUESTION_PREDICTIONS, QUESTION_READINGS, QUESTION_REQUESTS, QUESTIONS
from tasks.asking.question_prompts import STOP_TEXTS
from tasks.asking.sampling import build_sampling
from tasks.evaluation.question_predictions import QUESTION_PREDICTIONS_VERSION, QuestionScorer
from tasks.evaluation.question_requests import QUESTION_REQUESTS_VERSION, QuestionRequestBuilder
from tasks.evaluation.subject import Subject


def build_question_subject(config: Config, setting: Setting) -> Subject:
    """Return the questions in a setting: answered at once, or after a chain of thought, by a majority."""
    chain = config.chain_of_thought
    is_reasoned = setting == "chain_of_thought"
    n_repeats = chain.repeats if is_reasoned else 1
    sampling = (
        partial(_build_reasoned_sampling, chain)
        if is_reasoned
        else partial(_build_sampling, config.questions.max_tokens)
    )
    return Subject(
        QUESTIONS,
        QUESTION_REQUESTS,
        (QUESTION_READINGS, QUESTION_PREDICTIONS),
        sampling,
        QuestionRequestBuilder(n_repeats, is_reasoned),
        QuestionScorer(is_reasoned),
        QUESTION_REQUESTS_VERSION,
        QUESTION_PREDICTIONS_VERSION,
        setting,
        n_repeats,
        is_reasoned,
        chain.demonstrations,
    )


def _build_sampling(max_tokens: int, model: ModelConfig) -> Sampling:
    """Return the parameters of the setting answer_only: by default greedy."""
    return build_sampling(
        model,
        max_tokens=max_tokens,
        temperature=model.temperature,
        seed=model.seed,
        stop=_list_stops(model),
    )


def _build_reasoned_sampling(chain: ChainOfThoughtConfig, model: ModelConfig) -> Sampling:
    return build_sampling(
        model,
        max_tokens=chain.max_tokens,
        temperature=chain.temperature,
        seed=0,
        stop=_list_stops(model),
        top_p=chain.top_p,
    )


def _list_stops(model: ModelConfig) -> tuple[str, ...]:
    return STOP_TEXTS if model.prompt_style == "completion" else ()
