"""Stage questions: up to ten questions of four types about every knowledge point (method, 5).

The right options stand at the letters A, B, C and D, at each as often as at the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.primitives.hashing import draw_order, hash_text, render_canonical_json
from prototypes.capitals import write_within_sentence
from prototypes.question_wording import RelationWording
from schemas.question_stages import FACET_OF, QUESTIONS
from schemas.question_stages import LETTERS as ALL_LETTERS
from schemas.stages import DEMONSTRATION_SALT
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import RelationFacts
from tasks.questions.options import Options, draw_options
from tasks.questions.points import N_OPTIONS, Point, collect_points, identify_point

LETTERS = ALL_LETTERS[:N_OPTIONS]


@dataclass(frozen=True)
class Question:
    """One question about a point."""

    type: str
    is_negated: bool
    text: str
    options: tuple[str, ...]
    answer: str
    """`B` of an MCQ, `A,C` of an MAQ, `T` of a TFQ, `F|C` (judgement and right letter) of an RQ."""
    offered: str | None = None
    """The letter that an RQ says somebody answered."""


QUESTIONS_VERSION = 2
"""Count it up when the function gives other rows for the same arguments."""


def build_questions(
    piece: Piece,
    find_facts: Callable[[], RelationFacts],
    triplets: pl.DataFrame,
    wording: RelationWording,
    sampling: TripletSampling,
    source: str | None = None,
) -> pl.DataFrame:
    """Return one row per question about the heads of a piece, with the columns of the stage questions.

    Args:
        sampling: how the triplets of the piece were drawn.
        source: what the questions were made from.
    """
    points = collect_points(find_facts(), piece, triplets, sampling)
    options = draw_options(points, sampling)
    salts = {str(sampling.seed): points.tested, DEMONSTRATION_SALT: points.demonstrations}
    described = [
        _describe(piece.relation, point, question, source)
        for salt, of_split in salts.items()
        for point, question in QuestionWriter(wording, of_split, options, (salt, piece.relation)).write()
    ]
    return pl.DataFrame(described, QUESTIONS.empty.schema, orient="row")


def draw_questions(
    facts: RelationFacts, triplets: pl.DataFrame, wording: RelationWording, sampling: TripletSampling
) -> pl.DataFrame:
    """Return the questions about all heads of a relation; see `build_questions`."""
    return build_questions(Piece(facts.relation), lambda: facts, triplets, wording, sampling)


def _describe(relation: str, point: Point, question: Question, source: str | None) -> tuple[object, ...]:
    """Return the row of a question."""
    return (
        identify_question(relation, point, question),
        identify_point(relation, point.name, point.head_id),
        None if point.pair is None else point.pair.pair_id,
        relation,
        point.name,
        point.split,
        FACET_OF[question.type],
        question.type,
        question.is_negated,
        question.text,
        list(question.options),
        question.answer,
        question.offered,
        source,
    )


def identify_question(relation: str, point: Point, question: Question) -> str:
    """Return the id of the question: the hash of its point and of all its content (16 hex digits)."""
    return hash_text(
        "question",
        relation,
        point.name,
        point.head_id or "",
        question.type,
        str(question.is_negated),
        question.text,
        render_canonical_json(question.options),
        question.answer,
        question.offered or "",
    )


class QuestionWriter:
    """Writes the questions about some points of one relation."""

    def __init__(
        self,
        wording: RelationWording,
        points: Sequence[Point],
        options: Mapping[str, Options],
        salt: tuple[str, ...],
    ) -> None:
        """Draw the letters of all right options, and which statements are true.

        Args:
            options: head -> the tails in its questions.
            salt: what the draws depend on, with the relation.
        """
        self.wording = wording
        self.points = points
        self.options = options
        self.salt = salt
        names = [point.name for point in points]
        with_mcq = [name for name in names if len(options[name].false) == N_OPTIONS - 1]
        with_negated = [name for name in names if options[name].true_of_negated]
        n_right = {name: len(options[name].right) for name in names if options[name].right}
        self.letter = place_right(dict.fromkeys(with_mcq, 1), *salt, "MCQ")
        self.letter_of_negated = place_right(dict.fromkeys(with_negated, 1), *salt, "negated MCQ")
        self.letters = place_right(n_right, *salt, "MAQ")
        self.is_true = {name: n % 2 == 0 for n, name in enumerate(draw_order(names, *salt, "TFQ"))}

    def write(self) -> Iterator[tuple[Point, Question]]:
        """Yield each point with each of its questions: up to ten, in the order MCQ and RQ, MAQ, TFQ."""
        for point in self.points:
            options = self.options[point.name]
            questions: list[Question] = []
            if letter := self.letter.get(point.name):
                questions += self._write_choice(point, options.true, options.false, letter, False)
            if letter := self.letter_of_negated.get(point.name):
                right, wrong = options.false[0], options.true_of_negated
                questions += self._write_choice(point, right, wrong, letter, True)
            if letters := self.letters.get(point.name):
                questions += self._write_several(point, options, letters)
            questions += self._write_statements(point, options)
            yield from ((point, question) for question in questions)

    def _write_choice(
        self, point: Point, right: str, wrong: Sequence[str], letter: str, is_negated: bool
    ) -> Iterator[Question]:
        """Yield an MCQ, and the two RQs that offer its right option and its first wrong one."""
        salt = (*self.salt, "negated MCQ" if is_negated else "MCQ", point.name)
        options = arrange([right], wrong, letter, *salt)
        text = self.wording.texts["MCQ"].fill(is_negated=is_negated, head=point.name)
        yield Question("MCQ", is_negated, text, options, letter)
        yield Question("RQ", is_negated, text, options, f"T|{letter}", letter)
        offered = LETTERS[options.index(write_within_sentence(wrong[0]))]
        yield Question("RQ", is_negated, text, options, f"F|{letter}", offered)

    def _write_several(self, point: Point, options: Options, letters: str) -> Iterator[Question]:
        """Yield an MAQ and its negation, which has the same options."""
        arranged = arrange(options.right, options.wrong, letters, *self.salt, "MAQ", point.name)
        others = "".join(letter for letter in LETTERS if letter not in letters)
        for is_negated, answer in ((False, letters), (True, others)):
            text = self.wording.texts["MAQ"].fill(is_negated=is_negated, head=point.name)
            yield Question("MAQ", is_negated, text, arranged, ",".join(answer))

    def _write_statements(self, point: Point, options: Options) -> Iterator[Question]:
        """Yield a TFQ and its negation, which has the same tail."""
        is_true = self.is_true[point.name]
        tail = options.true if is_true else options.false[0]
        for is_negated in (False, True):
            text = self.wording.texts["TFQ"].fill(is_negated=is_negated, head=point.name, tail=tail)
            yield Question("TFQ", is_negated, text, (), "T" if is_true != is_negated else "F")


def place_right(n_right: Mapping[str, int], *salt: str) -> dict[str, str]:
    """Return name of a question -> the letters of its right options, sorted.

    The questions are placed in a drawn order, each on the letters that were right the fewest times so far, of
    which ties are drawn. The counts of the letters therefore differ by at most one, and no letter depends on
    anything but the draw.

    Args:
        n_right: name of a question -> how many of its options are right.
    """
    counts = dict.fromkeys(LETTERS, 0)
    placed = {}
    for name in draw_order(n_right, *salt):
        drawn = draw_order(LETTERS, *salt, name)
        chosen = sorted(drawn, key=counts.__getitem__)[: n_right[name]]
        for letter in chosen:
            counts[letter] += 1
        placed[name] = "".join(sorted(chosen))
    return placed


def arrange(right: Sequence[str], wrong: Sequence[str], letters: str, *salt: str) -> tuple[str, ...]:
    """Return the options in the order of their letters. Among right ones and wrong ones, the order is drawn.

    They are written as in a sentence ("nerve tissue"), so that all options of a question have one style.

    Args:
        letters: the letters of the right options.
    """
    waiting = {True: draw_order(right, *salt, "right"), False: draw_order(wrong, *salt, "wrong")}
    return tuple(write_within_sentence(waiting[letter in letters].pop()) for letter in LETTERS)
