"""Separate what a model thinks from what it answers, by the marks around the thought (method, section 3).

The marks are those of the chat templates and reasoning parsers in use: tags such as `<think>`, `[THINK]` and
`<|START_THINKING|>`, the channels of gpt-oss and Gemma, and headings. Servers that leave out special tokens
glue the channels to the text, as in "analysisIt may be true.assistantfinalFalse".

This module imports only the standard library, because the tasks for other tools (`commands/exports/`)
contain a copy of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

THOUGHT = r"(?:ant)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|monologue)"
# A tag has one of these words between its separators: <seed:think>, <|end_of_thought|>, <think_fast>.
THOUGHT_TAG = rf"(?i:<\|?/?\|?(?:[a-z0-9]+[:|_.])*{THOUGHT}(?:[:|_.][\w:.]*)?\|?>)"
BRACKETS = (
    r"\[/?(?:THINK(?:ING)?|THOUGHT|REASONING)\]|[◁⟨]/?think[▷⟩]|<\|(?:open|close)\|>\s?think\s?<\|sep\|>"
)
# An answer in XML may have a field of such a name, which is a thought only at either end of a reply.
FIELD = re.compile(r"</?(?:reason(?:ing)?|analysis)>", re.IGNORECASE)
LAST_FIELD = re.compile(r"</(?:reason(?:ing)?|analysis)>\s*\Z", re.IGNORECASE)
IS_CLOSING = re.compile(r"/|end|close", re.IGNORECASE)
CHANNEL = r"<\|channel\|>\s?"
MESSAGE = r"[^<\n]{0,80}(?:<\|constrain\|>[^<\n]{0,20})?<\|message\|>"
CLOSES_THOUGHT = (
    r"<unused95>|\[unused17\]|^\.\.\.done thinking\.$|</details>"
    rf"|<channel\|>|<\|inner_suffix\|>|{CHANNEL}final{MESSAGE}|assistant\s?final(?=\S|\s*\Z|\n)"
    r"|^\#{1,4} Final Response\b[ \t:]*$|Here(?:'s|’s| is) my response:|\[BEGIN FINAL RESPONSE\]"
)
OPENS_THOUGHT = (
    r"<unused94>(?:thought\b)?|\[unused16\]|^Thinking\.\.\.$|<details type=\"reasoning\"[^>\n]{0,80}>"
    r"|<\|channel>\s?thought\b|<\|inner_prefix\|>"
    rf"|{CHANNEL}(?:analysis|commentary){MESSAGE}|to=self<\|message\|>|\A\s*(?:analysis(?=\w)|thought\n)"
    r"|assistant(?:analysis|commentary)(?=\S)"
    r"|Here(?:(?:'s|’s| is) my thought process| are my reasoning steps):"
)
# A heading opens a thought only at the beginning, because it explains an answer above it.
HEADING = r"^(?:\#{1,4} |\*\*)(?:Thinking|Thought|Reasoning)(?: Process)?\b[ \t:*]*$"
ANSWER_HEADING = r"^(?:\#{1,4} |\*\*)(?:Final )?(?:Answer|Response|Conclusion)\b[ \t:*]*"
# After a thought, these marks begin the answer, even if the marks of the thought are missing.
BEGINS_ANSWER = r"<\|(?:START_RESPONSE|begin_of_solution|content(?:_text)?|open\|>\s?response\s?<\|sep)\|>"
MARK = re.compile(
    rf"(?P<tag>{THOUGHT_TAG}|{BRACKETS})|(?P<closing>{CLOSES_THOUGHT})"
    rf"|(?P<opening>{OPENS_THOUGHT}|(?P<heading>{HEADING}))"
    rf"|(?P<answer>{BEGINS_ANSWER}|(?P<headed>{ANSWER_HEADING}))",
    re.MULTILINE,
)
SPECIAL_TOKENS = re.compile(r"(?:<\|\w+\|>(?:assistant\b)?|\s)*")
# What stands around an answer after a thought, and is no part of it.
WRAPPING = re.compile(
    r"(?is)</?(?:response|output|solution)>|\[END FINAL RESPONSE\]"
    r"|(?<=\S)<\|(?!(?:begin|end)_of_box)\w+\|>.*\Z"
)


@dataclass(frozen=True)
class SplitReply:
    """The text of a reply in its parts."""

    answer: str | None
    """None if the last thought does not end."""
    thought: tuple[int, int] | None = None
    """Start and end of the thought in the text, without the marks around it; None if there is none."""
    is_opened: bool = True
    """False if the text closes a thought that it does not open, because the chat template opened it."""


def split_reply(response: str, marks: Sequence[str] | None = None) -> SplitReply:
    """Return the answer of a reply, which follows its last thought, and the place of the thought.

    A reply that ends with a complete thought has its answer before the thought.

    Args:
        marks: the opening and the closing mark, where the opening one is empty if the chat template opens
            every thought; empty if nothing is a mark; None for the marks of all known families.
    """
    places = _find_marks(response, marks)
    if marks and not marks[0] and not places:
        return SplitReply(None, (0, len(response)), is_opened=False)
    if not places:
        return SplitReply(response)
    first_start, first_end, is_first_closing = places[0]
    start = 0 if is_first_closing else first_end
    _, last_end, is_closed = places[-1]
    if not is_closed:
        return SplitReply(None, (start, len(response)), not is_first_closing)
    last_opening = max((k for k, mark in enumerate(places) if not mark[2]), default=-1)
    thought, answer = (start, places[last_opening + 1][0]), response[last_end:]
    if not SPECIAL_TOKENS.sub("", answer) and not is_first_closing and response[:first_start].strip():
        answer = response[:first_start]
    if marks is None:
        answer = WRAPPING.sub("", answer)
    return SplitReply(answer, thought, not is_first_closing)


def opens_thought(prompt: str, marks: Sequence[str] | None = None) -> bool:
    """Return whether a rendered prompt ends with the mark that opens a thought."""
    places = _find_marks(prompt, marks)
    return bool(places) and not places[-1][2] and not prompt[places[-1][1] :].strip()


def _find_marks(text: str, marks: Sequence[str] | None) -> list[tuple[int, int, bool]]:
    """Return where each mark begins and ends, and whether it closes a thought."""
    if marks is not None:
        places = re.finditer("|".join(re.escape(mark) for mark in marks if mark) or r"\Z(?!)", text)
        return [(place.start(), place.end(), place[0] == marks[1]) for place in places]
    found_marks: list[tuple[int, int, bool]] = []
    opening = SPECIAL_TOKENS.match(text)
    first_word = opening.end() if opening else 0
    is_headed = has_fields = False
    is_field_last = LAST_FIELD.search(text) is not None
    for place in MARK.finditer(text):
        is_first = place.start() <= first_word
        if place["heading"] and not is_first and text[place.end() :].strip():
            continue
        is_headed |= place["heading"] is not None
        is_inner = not (found_marks or is_first or is_field_last)
        if is_inner and place["tag"] and FIELD.fullmatch(place["tag"]):
            has_fields |= IS_CLOSING.search(place["tag"]) is None
            if has_fields:
                continue
        if place[0] == "</details>":
            # It also ends what an answer folds away.
            is_mark = bool(found_marks) and text.startswith("<details", found_marks[-1][0])
        elif place["headed"]:
            # The heading of an answer ends only a thought that began with a heading.
            is_mark = is_headed
        else:
            is_mark = place["answer"] is None or bool(found_marks) or not is_first
        if is_mark:
            is_closing = place["opening"] is None and (
                place["tag"] is None or IS_CLOSING.search(place["tag"]) is not None
            )
            found_marks.append((place.start(), place.end(), is_closing))
    return found_marks
