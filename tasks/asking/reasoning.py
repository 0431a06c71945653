"""Read how replies ended, and what of them is the answer (method, section 3).

A thought comes in three ways: an endpoint or an engine returns it apart from the answer; the response
contains it between marks; or the chat template opens it, so that the response contains only the closing mark.
Stored responses stay as they came: they are read when they are scored.
"""

import re
from collections.abc import Sequence
from typing import Literal, get_args

import polars as pl

from pretexeval.engines.thoughts import SplitReply, split_reply
from schemas.exchange import REFUSED_ERROR
from schemas.stages import RESPONSES

Ending = Literal["natural", "cut", "refused", "filtered", "failed", "unknown"]
# Parts of the finish reasons of servers, vendors and tools, in the order in which they are tried: "stop" is a
# natural end, but "userStopped" and "stopped_limit" are none.
REASONS: dict[Ending, str] = {
    "refused": "refus",
    "filtered": "filter|safety|recitation|block|spii|prohibit|guardrail|sensitive|toxic|moderat|policy|langu"
    "|armor",
    "cut": "length|max|(?<!rate_)limit|context|truncat|incomplete|not_finished|budget|repetition",
    "failed": "error|abort|cancel|fail|timeout|timed_?out|too_many|missing|user_?stop|unload"
    "|insufficient|malformed|unexpected",
    "natural": "stop|(?:^|_)end|eos|complete|finish|done|success|natural|normal|word|tool|function",
}
READ_COLUMNS = ["response", "error", "finish_reason", "n_completion_tokens"]
# A reply without marks whose end is unknown, and that is longer, may be a cut thought.
N_SHORT = 200


def name_ending(finish_reason: str | None) -> Ending:
    """Return how a reply ended, from the finish reason of any server or tool; without one it is unknown."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", finish_reason or "").casefold()
    words = re.sub(r"^_?finish_?reason_", "", words)
    return next((ending for ending, parts in REASONS.items() if re.search(parts, words)), "unknown")


def read_answers(
    responses: pl.DataFrame,
    marks: Sequence[str] | None,
    *,
    is_chat: bool,
    max_tokens: int | None = None,
) -> pl.DataFrame:
    """Return the responses with what was read of them.

    The added columns are ``answer``, the response without its thought (null if the prompt failed, if the
    thought did not end, or if the model refused); ``is_unfinished_reasoning`` and ``is_refused``, which say
    why there is no answer; and ``thought_start`` and ``thought_end``, the place of the thought in the
    response. A response that failed while it was written is null, with an error.

    Args:
        responses: all responses of one evaluation, or a large part of them; columns response and
            finish_reason, and if known error and n_completion_tokens.
        marks: `reasoning_marks` of the model.
        is_chat: whether the prompts were chat messages. A chat reply that was cut and has no text is a
            thought that the endpoint returned apart from it, or hid.
        max_tokens: the tokens that a reply may have. A reply of so many was cut, whatever its reason says.
    """
    responses = pl.concat([RESPONSES.empty.select(READ_COLUMNS), responses], how="diagonal")
    replies = {text: split_reply(text, marks) for text in responses["response"].drop_nulls().unique()}
    rows = responses.join(_tabulate(replies), on="response", how="left", maintain_order="left")
    endings = {reason: name_ending(reason) for reason in rows["finish_reason"].unique()}
    ending = pl.col("finish_reason").replace_strict(endings, return_dtype=pl.Enum(get_args(Ending)))
    is_long = (pl.col("n_completion_tokens") >= max_tokens).fill_null(False) if max_tokens else pl.lit(False)
    is_cut = (ending == "cut") | is_long
    is_plain = pl.col("thought_start").is_null() & (pl.col("answer").str.strip_chars() != "")
    is_blocked = pl.col("error").str.contains(REFUSED_ERROR).fill_null(False)
    is_refused = ending.is_in(["refused", "filtered"]).fill_null(False) | is_blocked
    is_failed = (ending == "failed") & pl.col("response").is_not_null()

    is_unfinished = pl.col("answer").is_null()
    if is_chat:
        is_unfinished |= is_cut & (pl.col("answer").str.strip_chars() == "")
    n_characters = pl.col("response").str.len_chars()
    is_complete = ~is_cut & ((ending == "natural") | (n_characters <= N_SHORT))
    n_closing, n_plain = rows.select(
        (~pl.col("is_opened")).sum().alias("closing"), (is_plain & is_complete).sum().alias("plain")
    ).row(0)
    if n_closing > n_plain:
        # The chat template opens the thoughts, so that one which does not end has no mark at all.
        is_unfinished |= is_plain
    is_unfinished &= pl.col("response").is_not_null() & ~is_refused & ~is_failed
    has_no_mark = is_unfinished & pl.col("thought_start").is_null()
    reason = pl.format("the answer was cut short (finish_reason {})", "finish_reason")
    return rows.with_columns(
        answer=pl.when(~is_unfinished & ~is_refused & ~is_failed).then("answer"),
        is_unfinished_reasoning=is_unfinished,
        is_refused=is_refused,
        thought_start=pl.when(has_no_mark).then(0).otherwise("thought_start").cast(pl.Int32),
        thought_end=pl.when(has_no_mark).then(n_characters).otherwise("thought_end").cast(pl.Int32),
        response=pl.when(~is_failed).then("response"),
        error=pl.when(is_failed).then(reason).otherwise("error"),
    ).drop("is_opened")


def _tabulate(replies: dict[str, SplitReply]) -> pl.DataFrame:
    """Return one row per reply: the columns response, answer, is_opened, thought_start and thought_end."""
    rows = [
        (text, reply.answer, reply.is_opened, *(reply.thought or (None, None)))
        for text, reply in replies.items()
    ]
    types = {"response": pl.String, "answer": pl.String, "is_opened": pl.Boolean}
    return pl.DataFrame(rows, types | {"thought_start": pl.Int32, "thought_end": pl.Int32}, orient="row")
