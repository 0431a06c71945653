"""The curriculum of a facet model: which lessons it gets, in which share, and how it learns them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from knowledge.base import KnowledgeBase
from prototypes.pool import Pool
from schemas.stages import N_DEMONSTRATIONS
from schemas.transformations import POSITIVE_OF
from tasks.asking.prompts import QUESTION
from tasks.evaluation.demonstrations import draw_demonstrations
from training.curriculum import FIRST_SEED, draw_samples
from training.question_turns import FORMS, QuestionTurns
from training.strangers import Unit
from training.turns import Turn, TurnLesson

STEPS_PER_PART = 50
# How many turns a batch has, by kind.
SIZES = {"names": 512, "question": 192, "reasoned": 144, "statement": 96}
# The most editions whose statements a part of the training can use.
EDITIONS_PER_PART = 100
# How often a prompt opens with the demonstrations that the evaluation uses, and how often with some of them.
SHARE_EVALUATED = 0.3
SHARE_FEWER = 0.3

Form = tuple[str, bool]


@dataclass(frozen=True)
class FacetPhase:
    """A phase of the curriculum, in parts of STEPS_PER_PART steps."""

    name: str
    n_parts: int
    is_alone: bool
    """Whether a lesson is a single question instead of a prompt of up to six."""
    n_times: float
    """How many times as large as in SIZES the batches are."""
    rate: float
    """The full learning rate."""
    shares: Mapping[str, float]
    """Kind of lesson -> how often it is drawn."""


PHASES = (
    FacetPhase("facts", 8, True, 1.25, 3e-3, {"names": 0.5, "question": 0.5}),
    FacetPhase(
        "alone", 12, True, 1, 3e-3, {"names": 0.1, "question": 0.25, "reasoned": 0.25, "statement": 0.4}
    ),
    FacetPhase(
        "prompts", 40, False, 1, 2e-3, {"names": 0.05, "question": 0.25, "reasoned": 0.25, "statement": 0.45}
    ),
)


@dataclass(frozen=True)
class EvaluatedTurns:
    """The demonstrations of the evaluation: form -> turns, answered at once and with a chain of thought."""

    plain: Mapping[Form, tuple[Turn, ...]]
    reasoned: Mapping[Form, tuple[Turn, ...]]


class FacetLessons:
    """Draws the lessons of a facet model."""

    def __init__(
        self,
        base: KnowledgeBase,
        pool: Pool,
        known: frozenset[Unit],
        questions: Sequence[QuestionTurns],
        shown: Sequence[EvaluatedTurns],
        random: Random,
    ) -> None:
        """Take what the lessons are made from.

        Args:
            questions: one for each relation of which the model knows a head.
            shown: the demonstrations of these relations, in the same order.
            random: the generator that `questions` use as well.
        """
        self.base = base
        self.pool = pool
        self.known = known
        self.questions = questions
        self.shown = shown
        self.random = random
        self._weights = [len(turns.relation.points) for turns in questions]
        self._statements: list[TurnLesson] = []
        self._n_editions = 0

    def draw(self, kind: str, phase: FacetPhase) -> list[TurnLesson]:
        """Return a batch of lessons of one kind."""
        if kind == "names":
            return [self._draw_names() for _ in range(SIZES[kind])]
        size = round(phase.n_times * SIZES[kind] / (1 if phase.is_alone else N_DEMONSTRATIONS + 1))
        if kind == "statement":
            return self._draw_statements(size, phase.is_alone)
        return [self._draw_questions(kind == "reasoned", phase.is_alone) for _ in range(size)]

    def seed(self, part: int) -> None:
        """Restart the random generator, and draw statements from new editions, for this part."""
        self.random.seed(part)
        self._statements = []
        self._n_editions = part * EDITIONS_PER_PART

    def _draw_relation(self) -> tuple[QuestionTurns, EvaluatedTurns]:
        (number,) = self.random.choices(range(len(self.questions)), self._weights)
        return self.questions[number], self.shown[number]

    def _draw_names(self) -> TurnLesson:
        turns, _ = self._draw_relation()
        return TurnLesson((turns.draw_names(),), is_negated=False)

    def _draw_questions(self, is_reasoned: bool, is_alone: bool) -> TurnLesson:
        turns, evaluated = self._draw_relation()
        form = self.random.choice([form for form in FORMS if turns.can_ask(*form)])
        shown: tuple[Turn, ...] = ()
        n_taught = 1 if is_alone else N_DEMONSTRATIONS + 1
        if not is_alone and self.random.random() < SHARE_EVALUATED:
            shown = (evaluated.reasoned if is_reasoned else evaluated.plain).get(form, ())
            n_taught = 1
            if is_reasoned or self.random.random() < SHARE_FEWER:
                # The evaluation shows a chain of thought only if it reached the right answer.
                shown = tuple(turn for turn in shown if self.random.random() < 0.5)
        taught = [turns.draw(*form, is_reasoned=is_reasoned) for _ in range(n_taught)]
        return TurnLesson((*shown, *taught), form[1])

    def _draw_statements(self, size: int, is_alone: bool) -> list[TurnLesson]:
        while len(self._statements) < size:
            self._statements += self._draw_edition(is_alone)
        batch = self._statements[:size]
        del self._statements[:size]
        return batch

    def _draw_edition(self, is_alone: bool) -> list[TurnLesson]:
        """Return the samples of the known heads in one edition, and those of strangers, in random order."""
        samples = draw_samples(self.base, self.pool, self.known, FIRST_SEED + self._n_editions)
        self._n_editions += 1
        turns: dict[tuple[str, str], list[Turn]] = defaultdict(list)
        columns = ("relation", "head", "transformation", "split", "text", "label")
        for relation, head, transformation, split, text, label in samples.select(columns).iter_rows():
            if split == "test" or (relation, head) in self.known:
                truth = label != (transformation in POSITIVE_OF)
                turns[relation, transformation].append(_build_statement(text, label, truth))
        evaluated = draw_demonstrations(samples)
        lessons = []
        for (relation, transformation), waiting in turns.items():
            shots = tuple(
                _build_statement(shot.text, shot.label, truth=False).show()
                for shot in evaluated[relation, transformation]
            )
            self.random.shuffle(waiting)
            while waiting:
                is_shown = not is_alone and self.random.random() < SHARE_EVALUATED
                n_taught = 1 if is_alone or is_shown else N_DEMONSTRATIONS + 1
                taught = (*(shots if is_shown else ()), *waiting[:n_taught])
                lessons.append(TurnLesson(taught, transformation in POSITIVE_OF))
                del waiting[:n_taught]
        self.random.shuffle(lessons)
        return lessons


def _build_statement(text: str, label: bool, truth: bool) -> Turn:
    # The model judges at the second entity of the statement, whichever it is.
    return Turn(QUESTION.format(text), f" {label}", (None, truth))
