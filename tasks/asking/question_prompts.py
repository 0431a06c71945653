"""Prompts of questions: five questions with their answers, then the question (MultifacetEval, 4.1)."""

from dataclasses import dataclass

from schemas.question_stages import LETTERS

_MARK = '\nStatement: "'


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


ASK_LETTER = "Please answer with the letter of the correct option."
ASK_LETTERS = (
    "There may be one or more correct options. Please answer with the letters of all correct options."
)
ASK_REVISION = (
    "Proposed answer: {offered}\nIs the proposed answer correct? Please answer True or False, and give the "
    "letter of the correct option."
)
ASK_TRUTH = ", is the statement above true or false? Please answer True or False."
ANSWER = "\nAnswer:"
THINK = "\nLet's think step by step."
THEREFORE = "Therefore, the answer is:"
# In completion style a model would continue with a question of its own.
STOP_TEXTS = ("Question:", "Statement:")


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it is shown to a model."""

    type: str
    text: str
    options: tuple[str, ...] = ()
    offered: str | None = None

    def render(self, *, is_reasoned: bool = False) -> str:
        """Return the question without an answer.

        Args:
            is_reasoned: whether the model reasons before it answers.
        """
        return self._render_body() + (THINK if is_reasoned else ANSWER)

    def _render_body(self) -> str:
        if self.type == "TFQ":
            return quote_statement(self.text) + ASK_TRUTH
        options = (
            f"{letter}: {option.strip()}" for letter, option in zip(LETTERS, self.options, strict=False)
        )
        ask = {"MCQ": ASK_LETTER, "MAQ": ASK_LETTERS, "RQ": ASK_REVISION.format(offered=self.offered)}
        return "\n".join([f"Question: {self.text}", *options, ask[self.type]])


@dataclass(frozen=True)
class AnsweredQuestion:
    """A held-out question with its answer, and the reasoning that leads to it, if it is shown."""

    question: AskedQuestion
    answer: str
    """Written as in the stage questions."""
    reasoning: str | None = None

    def render(self) -> str:
        """Return the question with its answer."""
        said = render_answer(self.question.type, self.answer)
        if self.reasoning is None:
            return f"{self.question.render()} {said}"
        return f"{self.question.render(is_reasoned=True)} {self.reasoning} {THEREFORE} {said}"


def render_answer(question_type: str, answer: str) -> str:
    """Return an answer of the stage questions in words: `B`, `A, C`, `True`, `False. The answer is B.`."""
    if question_type == "RQ":
        judgement, letter = answer.split("|")
        return f"{_name_truth(judgement)}. The answer is {letter}."
    return _name_truth(answer) if question_type == "TFQ" else answer.replace(",", ", ")


def _name_truth(letter: str) -> str:
    return "True" if letter == "T" else "False"
