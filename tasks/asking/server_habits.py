"""Habits of a server that spoil a score, as its replies show them: named on the console and beside the score.

Nothing here changes an answer. Replies without content, echoes and another model behind the same name are
remarks. Prompts that the server cuts are an error, because no answer to them is worth its price.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

import polars as pl

from schemas.exchange import Completion, Prompt
from tasks.asking.reasoning import name_ending

logger = logging.getLogger(__name__)

MIN_SHARE = 0.01
"""A smaller share of the replies is not worth a remark."""
MAX_SHOWN = 80
"""Characters of a reply that are shown."""
N_SERVED_SHOWN = 4
N_TAIL = 80
"""The characters at the end of a prompt by which an echo is found; spaces do not count."""
MIN_TAIL = 30

_ENDING = pl.col("finish_reason").map_elements(name_ending, pl.String)
_TAIL = pl.col("prompt").str.tail(4 * N_TAIL).str.replace_all(r"\s+", "").str.tail(N_TAIL)
_PACKED_RESPONSE = pl.col("response").str.replace_all(r"\s+", "")
# How a thought begins: with a tag that does not mark an answer, or with such words. A reply with a mark that
# is known (thoughts.py) is understood.
_TAGGED = r"^\s*(?:<[^<>\s/]{2,30}>|\[[A-Z_]{3,20}\]|[◁⟦⟨〔【«])"
_ANSWER_TAG = r"(?i)^\s*<(?:answer|final|response|output|b|p|i|strong|em|html|div|span|br)"
_THINKING = (
    r"(?i)^\W{0,3}(?:okay|alright|hmm|let me|let['’]s|so,|first,|wait|we need|we are|the user|i need"
    r"|i have to|got it|thought|thinking|reasoning)\b"
)
_KNOWN_MARK = r"(?i)[<\[◁][^<>\[\]◁]{0,30}(?:think|thought|reason|reflection|analysis|channel|inner_)"
_ANSWER = r"(?i)\b(?:true|false|yes|no|unsure|correct|incorrect|answer|(?-i:[A-J]))\b|\bboxed"
MIN_THOUGHT = 200
"""Characters of the shortest reply that may be a thought."""
HABITS = {
    "texts that look like a thought, in marks that are not known or without an answer": (
        (pl.col("response").str.len_chars() >= MIN_THOUGHT)
        & ~pl.col("response").str.contains(_KNOWN_MARK)
        & (
            (pl.col("response").str.contains(_TAGGED) & ~pl.col("response").str.contains(_ANSWER_TAG))
            | (
                pl.col("response").str.contains(_THINKING)
                & ~pl.col("response").str.tail(MAX_SHOWN).str.contains(_ANSWER)
            )
        ),
        pl.col("response").str.head(MAX_SHOWN),
        "If it is one, what it says is read as the answer: name the marks around it with reasoning_marks, by "
        "which stored answers are read again, and raise max_tokens if it was cut",
    ),
    "a thought and no content, although nothing was cut": (
        (pl.col("response").str.strip_chars() == "")
        & (pl.col("reasoning").str.strip_chars() != "")
        & _ENDING.is_in(["natural", "unknown"]).fill_null(True),
        pl.col("reasoning").str.strip_chars().str.tail(MAX_SHOWN),
        "So there is no answer. Probably the server's reasoning parser takes the answer for a thought, or "
        "does not fit its chat template: start the server with the parser of this model or with none, or "
        "switch thinking off, for example by extra_body = { "
        "chat_template_kwargs = { enable_thinking = false } }",
    ),
    "the prompt again beside the answer": (
        (_TAIL.str.len_chars() >= MIN_TAIL) & _PACKED_RESPONSE.str.contains(_TAIL, literal=True),
        pl.col("response").str.head(MAX_SHOWN),
        "The server returns the prompt with the answer (an echo), but not as it was sent, so that it cannot "
        "be taken off: switch the echo off at the server or in extra_body, or ask in chat style",
    ),
}
"""Habit of a server -> test of a reply, the part of the reply to show, and the likely cause with remedy."""
_MAY_HAVE_ONE = (pl.col("response").str.len_chars() >= MIN_TAIL) | (
    pl.col("response").str.strip_chars() == ""
)
"""Selects few of the replies, because most are one word, which has no habit. The tests of all replies took a
quarter of the time between the answers of an engine."""
COLUMNS = ("prompt", "response", "reasoning", "finish_reason")


def tabulate_replies(prompts: Sequence[Prompt], completions: Sequence[Completion]) -> pl.LazyFrame:
    """Return the replies with the columns that `count_habits` needs."""
    answered = [completion for completion in completions if completion.response is not None]
    pairs = zip(prompts, completions, strict=True)
    columns = {
        "prompt": [prompt.text for prompt, completion in pairs if completion.response is not None],
        **{name: [getattr(completion, name) for completion in answered] for name in COLUMNS[1:]},
    }
    return pl.LazyFrame(columns, schema=dict.fromkeys(COLUMNS, pl.String))


def count_habits(replies: pl.LazyFrame) -> dict[str, tuple[int, str]]:
    """Return habit -> the number of replies that have it, and an example; also "" -> all replies."""
    columns = []
    for name, (has_it, shown, _) in HABITS.items():
        columns += [has_it.sum().alias(name), shown.filter(has_it).first().alias(f"{name}, shown")]
    counted = (replies.select(pl.len()), replies.filter(_MAY_HAVE_ONE).select(columns))
    n_replies, found = pl.collect_all(counted, engine="streaming")
    row = found.row(0, named=True)
    return {"": (n_replies.item(), "")} | {name: (row[name], row[f"{name}, shown"] or "") for name in HABITS}


def list_remarks(counts: Mapping[str, tuple[int, str]]) -> dict[str, str]:
    """Return habit -> a remark with the share of the replies that have it, an example, and what to set."""
    n_replies, _ = counts[""]
    remarks = {}
    for name, (_, _, remedy) in HABITS.items():
        n, shown = counts[name]
        if n > 0 and n >= MIN_SHARE * n_replies:
            share = f"{100 * n / n_replies:.1f} % of {n_replies:,} replies" if n_replies > 1 else "the reply"
            remarks[name] = f"{share}: {name} ({shown!r}). {remedy}."
    return remarks


class HabitWatch:
    """Names the habits of the server of one model on the console, each once, while its replies arrive."""

    def __init__(self, name: str, *, is_endpoint: bool) -> None:
        """Begin without replies. Only of an endpoint is it told when it names another model."""
        self._name, self._is_endpoint = name, is_endpoint
        self._counts: dict[str, tuple[int, str]] = {}
        self._named: set[str] = set()
        self.served: set[str] = set()
        """Names under which the endpoint has reported itself, also in earlier runs."""

    def add(self, prompts: Sequence[Prompt], completions: Sequence[Completion]) -> None:
        """Count these replies, and warn at once if another model has given one."""
        for name, (n, shown) in count_habits(tabulate_replies(prompts, completions)).items():
            n_before, shown_before = self._counts.get(name, (0, ""))
            self._counts[name] = (n_before + n, shown_before or shown)
        names = {completion.served for completion in completions if completion.served and self._is_endpoint}
        for served in sorted(names - self.served):
            if self.served:
                before = "; ".join(sorted(self.served))
                logger.warning(
                    "model %r: the endpoint names another model or configuration: %s, before %s. %s.",
                    *(self._name, served, before, TELL_APART),
                )
            self.served.add(served)

    def warn(self) -> None:
        """Warn of each habit of which no warning was given."""
        for name, remark in list_remarks(self._counts).items() if self._counts else ():
            if name not in self._named:
                logger.warning("model %r: %s", self._name, remark)
            self._named.add(name)


def describe_change(served: Mapping[str, int]) -> str:
    """Return a remark if more than one model answered; nothing if it was one.

    Args:
        served: what the endpoint says that it is -> the number of its replies.
    """
    if len(served) < 2:
        return ""
    listed = [f"{name} ({n:,} replies)" for name, n in sorted(served.items())]
    more = f"; and {len(listed) - N_SERVED_SHOWN} more" if len(listed) > N_SERVED_SHOWN else ""
    return (
        f"The endpoint names {len(served)} models or configurations, whose replies are in one score: "
        f"{'; '.join(listed[:N_SERVED_SHOWN])}{more}. {TELL_APART}."
    )


TELL_APART = "Give each a table of its own, with another name or revision, to tell them apart"
# With so many prompts of different lengths, equal counts are no chance.
MIN_COUNTED = 8
MIN_DIFFERENCE = 40
"""Characters by which the longest prompt is longer than the shortest."""
WORDS_PER_TOKEN = 4
"""No tokenizer makes one token of so many words."""
MIN_WORDS = 40
CUT = (
    "The server cuts the prompts to its context: raise it there (max-model-len, num_ctx, ctx-size), "
    "or show fewer demonstrations"
)


def find_equal_counts(prompts: Sequence[Prompt], completions: Sequence[Completion]) -> str:
    """Return what shows that the server cut all prompts to one length; nothing if it did not.

    A count of more than half the characters shows that the server fills prompts up to a length.
    """
    counted = _pair_counts(prompts, completions)
    lengths = [len(text) for text, _ in counted]
    if len({n for _, n in counted}) != 1 or len(counted) < MIN_COUNTED:
        return ""
    n_tokens = counted[0][1]
    if max(lengths) - min(lengths) < MIN_DIFFERENCE or n_tokens > max(lengths) / 2:
        return ""
    return (
        f"the server counts {n_tokens:,} tokens in every one of {len(counted)} prompts, although they have "
        f"{min(lengths):,} to {max(lengths):,} characters"
    )


def find_low_counts(prompts: Sequence[Prompt], completions: Sequence[Completion]) -> str:
    """Return what shows that the server read only a part of every prompt; nothing if it did not."""
    counted = [(len(text.split()), n) for text, n in _pair_counts(prompts, completions)]
    if not counted or any(n_words < max(MIN_WORDS, n * WORDS_PER_TOKEN) for n_words, n in counted):
        return ""
    n_words, n_tokens = counted[0]
    return f"the server counts {n_tokens:,} tokens in a prompt of {n_words:,} words"


def _pair_counts(prompts: Sequence[Prompt], completions: Sequence[Completion]) -> list[tuple[str, int]]:
    """Return the text of each prompt whose tokens the server counts, and their number."""
    pairs = zip(prompts, completions, strict=True)
    return [(prompt.text, n) for prompt, completion in pairs if (n := completion.n_prompt_tokens)]


def make_unique(prompt: Prompt) -> Prompt:
    """Return the prompt with a beginning that no other prompt has."""
    mark = uuid4().hex
    if prompt.style == "completion":
        return replace(prompt, text=f"{mark}\n{prompt.text}")
    return replace(prompt, text=prompt.text.replace('"content":"', f'"content":"{mark} ', 1))
