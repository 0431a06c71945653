"""Prompts of evaluated models: demonstrations with their answers, then the question (method, 2.2 and 3).

A sample is asked as a true/false question. Questions have three more types (MultifacetEval, section 4.1).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pretexeval.primitives.hashing import render_canonical_json
from schemas.exchange import Prompt
from schemas.question_stages import LETTERS

SEPARATOR = "\n\n"
ASK_LETTER = "Please answer with the letter of the correct option."
ASK_LETTERS = (
    "There may be one or more correct options. Please answer with the letters of all correct options."
)
ASK_REVISION = (
    "Proposed answer: {offered}\nIs the proposed answer correct? Please answer True or False, and give the "
    "letter of the correct option."
)
ASK_TRUTH = ", is the statement above true or false? Please answer True or False."
ASK_UNSURE = f"{ASK_TRUTH.removesuffix('.')}, or Unsure if you do not know."
ANSWER = "\nAnswer:"
THINK = "\nLet's think step by step."
THEREFORE = "Therefore, the answer is:"
_MARK = '\nStatement: "'
STATEMENT_QUESTION = f'Statement: "{{}}"{ASK_TRUTH}{ANSWER}'
UNSURE_QUESTION = f'Statement: "{{}}"{ASK_UNSURE}{ANSWER}'
ASK_STATEMENT = {"TFQ": ASK_TRUTH, "TFU": ASK_UNSURE}
"""Type of a question about a statement -> the text after the statement. TFU: with the third answer Unsure."""
_NAMES = {"T": "True", "F": "False", "U": "Unsure"}
# In completion style a model would continue with a statement or a question of its own.
SAMPLE_STOP_TEXTS = ("Statement",)
QUESTION_STOP_TEXTS = ("Question:", "Statement:")


def join_case(case: str, statement: str) -> str:
    """Return the text of a true/false question: the case, and below it the statement in quotation marks.

    The statement holds no straight double quotation mark, so that :func:`quote_statement` finds its ends.
    """
    return f'{case}{_MARK}{statement}"' if case else statement


def quote_statement(text: str) -> str:
    """Return the text of a true/false question as a prompt shows it, with its statement in quotation marks.

    The prompt goes on after it: ", is the statement above true or false?"
    """
    return text if _MARK in text else f'{_MARK.lstrip()}{text}"'


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it is shown to a model. A sample is one of type TFQ, or TFU with a third answer."""

    type: str
    text: str
    options: Sequence[str] = ()
    offered: str | None = None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the question of a row with the columns type, text, options and offered."""
        return cls(row["type"], row["text"], row["options"], row["offered"])

    def render(self, *, is_reasoned: bool = False) -> str:
        """Return the question without an answer.

        Args:
            is_reasoned: whether the model reasons before it answers.
        """
        return self._render_body() + (THINK if is_reasoned else ANSWER)

    def render_answered(self, answer: str, chain: str | None = None) -> str:
        """Return the question with its answer, as a demonstration shows it.

        Args:
            answer: written as in the stage questions.
            chain: the chain of thought that leads to it; None: it is answered at once.
        """
        said = render_answer(self.type, answer)
        if chain is None:
            return f"{self.render()} {said}"
        return f"{self.render(is_reasoned=True)} {chain} {THEREFORE} {said}"

    def _render_body(self) -> str:
        if self.type in ASK_STATEMENT:
            return quote_statement(self.text) + ASK_STATEMENT[self.type]
        options = (
            f"{letter}: {option.strip()}" for letter, option in zip(LETTERS, self.options, strict=False)
        )
        ask = {"MCQ": ASK_LETTER, "MAQ": ASK_LETTERS, "RQ": ASK_REVISION.format(offered=self.offered)}
        return "\n".join([f"Question: {self.text}", *options, ask[self.type]])


def render_answer(question_type: str, answer: str) -> str:
    """Return an answer of the stage questions in words: `B`, `A, C`, `True`, `False. The answer is B.`."""
    if question_type == "RQ":
        judgement, letter = answer.split("|")
        return f"{_NAMES[judgement]}. The answer is {letter}."
    return _NAMES[answer] if question_type in ASK_STATEMENT else answer.replace(",", ", ")


@dataclass(frozen=True)
class PromptForm:
    """Form of the prompts of a model: completion or chat style, and the system prompt."""

    style: str = "completion"
    system_prompt: str | None = None

    def render(self, demonstrations: Sequence[str], question: str) -> Prompt:
        """Return the prompt with these demonstrations and the question."""
        return self.wrap(SEPARATOR.join([*demonstrations, question]))

    def wrap(self, content: str) -> Prompt:
        """Return a prompt with this content: raw text, or chat messages with all of it in one user turn."""
        if self.style == "completion":
            return Prompt(self.style, content)
        messages = [{"role": "user", "content": content}]
        if self.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        return Prompt(self.style, render_canonical_json(messages))


def fit_prompt(
    form: PromptForm,
    demonstrations: Sequence[str],
    question: str,
    n_tokens_left: int | None,
    count_tokens: Callable[[str], float],
) -> tuple[Prompt, int]:
    """Return the prompt, and how many demonstrations were dropped from its front to make it fit.

    A prompt that does not fit without any demonstration is returned all the same.

    Args:
        n_tokens_left: the tokens that the model accepts, less those that it may generate; None: no limit.
        count_tokens: counts the tokens of a prompt's text. It is called only if the number of bytes does not
            show already that the prompt fits (a token stands for at least one byte).
    """
    for n_dropped in range(len(demonstrations) + 1):
        prompt = form.render(demonstrations[n_dropped:], question)
        if n_tokens_left is None or len(prompt.text.encode()) < n_tokens_left:
            break
        if count_tokens(prompt.text) <= n_tokens_left:
            break
    return prompt, n_dropped
