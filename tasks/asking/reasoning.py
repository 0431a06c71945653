"""Separate what a model thinks from what it answers (method, section 3).

Reasoning comes in three ways: an endpoint or an engine returns it apart from the answer; the response
contains it between two marks; or the chat template opens the thought, so that the response contains only the
closing mark. Stored responses stay as they came: their marks are read when they are scored.
"""

import polars as pl

from pretexeval.config.engines import EngineConfig
from tasks.asking.thoughts import NO_MARKS, ReasoningMarks, remove_reasoning

# What engines say of an answer that ended because no token was left.
CUT_REASONS = ("length", "max_tokens")


def find_marks(config: EngineConfig) -> ReasoningMarks:
    """Return the marks that the configuration of a model names."""
    return ReasoningMarks(*config.reasoning_marks) if config.reasoning_marks else NO_MARKS


def read_answers(responses: pl.DataFrame, marks: ReasoningMarks, *, is_chat: bool) -> pl.DataFrame:
    """Return the responses with the columns ``answer`` and ``is_unfinished_reasoning``.

    ``answer`` is the response without its reasoning; null if the prompt failed or the thought did not end.
    ``is_unfinished_reasoning`` says whether there is no answer because the thought did not end.

    Args:
        responses: all responses of one evaluation; columns response and finish_reason.
        is_chat: whether the prompts were chat messages. A chat reply that was cut and has no text is a
            thought that the endpoint returned apart from it, or hid.
    """
    texts = responses["response"].drop_nulls().unique()
    answers = {text: remove_reasoning(text, marks) for text in texts}
    answer = pl.col("response").replace_strict(answers, default=None, return_dtype=pl.String)
    is_cut = pl.col("finish_reason").is_in(CUT_REASONS).fill_null(False)
    is_unfinished = answer.is_null()
    if is_chat:
        is_unfinished |= is_cut & (answer.str.strip_chars() == "")
    if _is_opened_by_template(responses, marks):
        is_unfinished |= is_cut & ~_contains(marks.closing)
    is_unfinished &= pl.col("response").is_not_null()
    return responses.with_columns(
        pl.when(~is_unfinished).then(answer).alias("answer"), is_unfinished.alias("is_unfinished_reasoning")
    )


def _is_opened_by_template(rows: pl.DataFrame, marks: ReasoningMarks) -> bool:
    """Return whether most responses that ended by themselves close a thought that they did not open.

    A response that was cut has no mark at all then, although all of it is a thought.
    """
    if not marks.opening or not marks.closing:
        return False
    ended = rows.filter(pl.col("finish_reason") == "stop")
    n_closing = ended.select((_contains(marks.closing) & ~_contains(marks.opening)).sum()).item()
    return bool(2 * n_closing > ended.height)


def _contains(mark: str) -> pl.Expr:
    return pl.col("response").str.contains(mark, literal=True)
