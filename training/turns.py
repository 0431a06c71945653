"""What a facet model learns: prompts of several turns, each a question and its reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.asking.prompts import SEPARATOR


@dataclass(frozen=True)
class Turn:
    """A question of a prompt, and the reply to it."""

    question: str
    reply: str
    """The text after the question, with the space between them. Its last token is the answer."""
    truths: tuple[bool | None, ...]
    """For each entity in question and reply, in order: for a tail that the model is to judge whether it is
    true of its head, else null."""
    is_taught: bool = True
    """Whether the model learns the reply. Demonstrations about other heads are only shown."""

    @property
    def text(self) -> str:
        """Return the question with its reply, as a prompt shows it."""
        return self.question + self.reply

    def show(self) -> "Turn":
        """Return the turn as a demonstration from which the model learns nothing."""
        return Turn(self.question, self.reply, (None,) * len(self.truths), is_taught=False)


@dataclass(frozen=True)
class TurnLesson:
    """A prompt with the replies to all of its questions."""

    turns: tuple[Turn, ...]
    is_negated: bool
    """Whether all questions of the prompt are negated, or none."""

    @property
    def text(self) -> str:
        """Return the prompt with its replies."""
        return join_turns(self.turns)


def join_turns(turns: Sequence[Turn]) -> str:
    """Return the turns as a prompt shows them."""
    return SEPARATOR.join(turn.text for turn in turns)
