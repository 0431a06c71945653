"""Two models that know what the name of a head decides, and an engine that answers as they would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schemas.exchange import Completion, Prompt, Sampling
from tests.support.stage_rows import Row, digest

LARGE, SMALL, FAILED = "reference-large", "reference-small", "unreachable"
# Of a hundred heads, those that the model knows in the first and in the second week.
KNOWN = {LARGE: (70, 50), SMALL: (40, 40)}
REFUSED = "the endpoint refused it: content_filter"
Reply = Callable[[Row, int], Completion]


def knows(model: str, head: str, edition_id: str) -> bool:
    """Return whether the model was made to know the head when it was asked in this edition."""
    return int(digest(head), 16) % 100 < KNOWN[model]["W02" in edition_id]


def answer_sample(model: str, sample: Row) -> Completion:
    """Answer from knowledge, and otherwise from the polarity (large) or with True (small).

    The large model is refused some prompts about one fact. The small one does not finish some thoughts about
    what it does not know, and says the opposite to symptoms under inv_dn.
    """
    is_known = knows(model, sample["head"], sample["edition_id"])
    draw = int(digest(sample["text"]), 16) % 100
    if model == LARGE and sample["sample_index"] == 3 and sample["head"].endswith("head 20"):
        return Completion(None, status="error", error=REFUSED)
    if model == SMALL and not is_known and draw < 5:
        return Completion("<think>Let me see", n_prompt_tokens=100, n_completion_tokens=8)
    is_affirmed = sample["label"] == sample["is_positive"]
    said = bool(sample["label"]) if is_known else (is_affirmed if model == LARGE else True)
    said = said != (
        model == SMALL and sample["relation"] == "symptoms" and sample["transformation"] == "inv_dn"
    )
    return Completion(
        f" {said}", n_prompt_tokens=100, n_completion_tokens=2, logprob_true=-0.5, logprob_false=-1.0
    )


def answer_question(model: str, question: Row, repeat: int) -> Completion:
    """Answer right from knowledge, and otherwise give the first option, in one repeat of three the second."""
    guess = {"TFQ": "T", "RQ": "T|A"}.get(question["type"], "B" if repeat == 1 else "A")
    answer = question["answer"] if knows(model, question["head"], question["edition_id"]) else guess
    judgement, _, letter = answer.rpartition("|")
    words = {"T": "True", "F": "False"}
    text = f"{words[judgement]}, {letter}" if judgement else words.get(answer, answer)
    return Completion(f" {text}", n_prompt_tokens=100, n_completion_tokens=4)


@dataclass
class Answering:
    """An engine that looks up to which row a prompt belongs, and replies to the row."""

    rows: dict[str, Row]
    reply: Reply

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: Callable[[int], None] | None = None
    ) -> list[Completion]:
        if on_progress:
            on_progress(len(prompts))
        return [self.reply(self.rows[prompt.text], sampling.repeat) for prompt in prompts]

    def close(self) -> None:
        """Close nothing."""
