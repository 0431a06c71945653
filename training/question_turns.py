"""Draws questions of all types about the heads that a facet model is to know, with right replies.

The replies follow from the knowledge base, and the format from `tasks/asking`. They do not come from the
stage that builds the questions of an edition: a model contradicts a wrong answer there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from prototypes.question_wording import RelationWording
from schemas.question_stages import LETTERS
from tasks.asking.question_prompts import THEREFORE, AskedQuestion, render_answer
from training.strangers import STRANGERS
from training.turns import Turn

N_OPTIONS = 4
FORMS = tuple((type_, is_negated) for type_ in ("MCQ", "RQ", "MAQ", "TFQ") for is_negated in (False, True))
"""Type of question, and whether it is negated."""
# What a chain of thought says of a tail that is true of the head, and of one that is false. The words must
# not hide the answer: "B is false." reads like the judgement of an RQ that offers B.
JUDGED_FACT = {True: "The two fit.", False: "The two do not fit."}
JUDGED_OPTION = {True: "{} fits.", False: "{} does not fit."}
# The share of questions about a head without any true tail, so that the model learns nothing about heads
# that it does not know.
SHARE_STRANGE = 0.1
# The share of wrong options that are true tails of other heads, drawn as often as they are true. The others
# are drawn from all tails alike.
SHARE_COMMON = 0.5


@dataclass(frozen=True)
class TaughtPoint:
    """A head of a relation that a model is to know."""

    head: str
    true: tuple[str, ...]
    excluded: frozenset[str]
    """The tails that are no wrong options: those that are true, and those that are the same as a true one."""


@dataclass(frozen=True)
class TaughtRelation:
    """The points of a relation, and what their questions are made from."""

    name: str
    wording: RelationWording
    points: tuple[TaughtPoint, ...]
    pool: tuple[str, ...]
    """The tails that can be wrong options."""


class QuestionTurns:
    """Draws questions about the points of one relation."""

    def __init__(self, relation: TaughtRelation, random: Random) -> None:
        """Sort the points by what they can be asked."""
        self.relation = relation
        self.random = random
        self._common = [tail for point in relation.points for tail in point.true]
        self._of_negated = [point for point in relation.points if len(point.true) >= N_OPTIONS - 1]

    def can_ask(self, question_type: str, is_negated: bool) -> bool:
        """Return whether some point has enough tails: three true ones are needed for a negated MCQ or RQ."""
        return bool(self._list_points(question_type, is_negated))

    def draw(self, question_type: str, is_negated: bool, *, is_reasoned: bool = False) -> Turn:
        """Return a question of this form about a point that can carry it, or about a stranger."""
        if question_type == "TFQ":
            return self._draw_statement(is_negated, is_reasoned)
        point = self._draw_stranger_or(self.random.choice(self._list_points(question_type, is_negated)))
        n_right = 0
        if point.true:
            n_right = N_OPTIONS - 1 if is_negated else 1
            if question_type == "MAQ":
                n_right = self.random.randint(1, min(N_OPTIONS - 1, len(point.true)))
        right = self.random.sample(point.true, n_right)
        options = [*right, *self._draw_false(point, N_OPTIONS - n_right)]
        self.random.shuffle(options)
        return self._build(point, question_type, is_negated, is_reasoned, options)

    def draw_names(self) -> Turn:
        """Return a head and a tail in any order without a sentence, and whether the tail is true of the head.

        Questions name the head first. Without these lessons, a model did not learn to judge the sentences
        that name the tail first (55 % right after half an hour, instead of 98 %).
        """
        point, tail, is_true = self._draw_fact()
        names = self.random.sample((point.head, tail), 2)
        return Turn(" ".join((render_relation(self.relation.name), *names)), f" {is_true}", (None, is_true))

    def _draw_fact(self) -> tuple[TaughtPoint, str, bool]:
        point = self._draw_stranger_or(self.random.choice(self.relation.points))
        if point.true and self.random.random() < 0.5:
            return point, self.random.choice(point.true), True
        return point, self._draw_false(point, 1)[0], False

    def _draw_stranger_or(self, point: TaughtPoint) -> TaughtPoint:
        if self.random.random() < SHARE_STRANGE:
            return TaughtPoint(self.random.choice(STRANGERS), (), frozenset())
        return point

    def _list_points(self, question_type: str, is_negated: bool) -> Sequence[TaughtPoint]:
        return self._of_negated if is_negated and question_type in ("MCQ", "RQ") else self.relation.points

    def _draw_false(self, point: TaughtPoint, n: int) -> list[str]:
        false: list[str] = []
        while len(false) < n:
            tails = self._common if self.random.random() < SHARE_COMMON else self.relation.pool
            tail = self.random.choice(tails)
            if tail not in point.excluded and tail not in false:
                false.append(tail)
        return false

    def _draw_statement(self, is_negated: bool, is_reasoned: bool) -> Turn:
        point, tail, is_true = self._draw_fact()
        statement = self.relation.wording.texts["TFQ"].fill(is_negated=is_negated, head=point.head, tail=tail)
        answer = "T" if is_true != is_negated else "F"
        return build_turn(AskedQuestion("TFQ", statement), answer, (is_true,), is_reasoned=is_reasoned)

    def _build(
        self,
        point: TaughtPoint,
        question_type: str,
        is_negated: bool,
        is_reasoned: bool,
        options: Sequence[str],
    ) -> Turn:
        texts = self.relation.wording.texts["MAQ" if question_type == "MAQ" else "MCQ"]
        truths = tuple(option in point.true for option in options)
        right = [letter for letter, truth in zip(LETTERS, truths, strict=False) if truth != is_negated]
        if not point.true:
            right = [self.random.choice(LETTERS[:N_OPTIONS])]
        answer, offered = ",".join(right), None
        if question_type == "RQ":
            wrong = [letter for letter in LETTERS[:N_OPTIONS] if letter != answer]
            offered = answer if self.random.random() < 0.5 else self.random.choice(wrong)
            answer = f"{'T' if offered == answer else 'F'}|{answer}"
        text = texts.fill(is_negated=is_negated, head=point.head)
        question = AskedQuestion(question_type, text, tuple(options), offered)
        turn = build_turn(question, answer, truths, is_reasoned=is_reasoned)
        # A stranger has no right option: the model learns only that all options are false of it.
        return turn if point.true else Turn(turn.question, turn.reply, turn.truths, is_taught=False)


def render_relation(name: str) -> str:
    """Return the name of a relation as the first word of a text."""
    return f" {name}"


def build_turn(question: AskedQuestion, answer: str, truths: Sequence[bool], *, is_reasoned: bool) -> Turn:
    """Return the question with its reply, after a chain of thought if it is reasoned.

    Args:
        answer: as in the stage questions.
        truths: for each tail of the question, whether it is true of the head.
    """
    said = render_answer(question.type, answer)
    if is_reasoned:
        said = f"{write_thought(truths)} {THEREFORE} {said}"
    return Turn(question.render(is_reasoned=is_reasoned), f" {said}", (None, *truths))


def write_thought(truths: Sequence[bool]) -> str:
    """Return a chain of thought that judges every tail of a question: `A does not fit. B fits.` and so on.

    It names no head and no tail: with sentences that repeat the names, the models did not learn in this time
    to copy them (2.8 nats a word in prompts of six).
    """
    if len(truths) == 1:
        return JUDGED_FACT[truths[0]]
    return " ".join(
        JUDGED_OPTION[truth].format(letter) for letter, truth in zip(LETTERS, truths, strict=False)
    )


def list_judgements() -> list[str]:
    """Return the sentences of which chains of thought consist."""
    options = (text.format(letter) for letter in LETTERS[:N_OPTIONS] for text in JUDGED_OPTION.values())
    return [*JUDGED_FACT.values(), *options]
