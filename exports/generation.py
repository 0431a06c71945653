"""How much the tasks for other tools let a model generate: as much as an evaluation by default."""

from config.engines import ModelConfig
from config.questions import QuestionsConfig
from tasks.asking.prompts import STOP_TEXTS
from tasks.asking.question_prompts import STOP_TEXTS as QUESTION_STOP_TEXTS

__all__ = ["QUESTION_STOP_TEXTS", "QUESTION_TOKENS", "SAMPLE_TOKENS", "STOP_TEXTS"]

SAMPLE_TOKENS: int = ModelConfig.model_fields["max_tokens"].default
QUESTION_TOKENS: int = QuestionsConfig.model_fields["max_tokens"].default
