"""Questions of MultiMedQA: every MedQA item that can be turned is a knowledge point asked in four types.

Zhou et al., "MultifacetEval", IJCAI 2024, section 4.1. MCQ: the item itself. RQ: the item with a right and
with a wrong offered option. MAQ: up to three wrong options are replaced by synonyms of the right one. TFQ: a
statement of the right and of a wrong option. MAQ and TFQ are also negated; an MCQ or RQ is not, because its
negation would have several right options.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.medqa import MEDQA, MedqaItem, SynonymTable, fold_option
from pretexeval.primitives.hashing import draw_one, draw_order, hash_text
from schemas.question_stages import FACET_OF, LETTERS, QUESTIONS
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS
from tasks.asking.prompts import join_case
from tasks.questions.clauses import Clause, parse_clause
from tasks.questions.statements import ask, find_option_forms, state

MAX_SYNONYMS = 3
Question = dict[str, object]
# A sentence ends at a mark, perhaps followed by a closing quotation mark or bracket, before a capital letter.
_BOUNDARY = re.compile(r"""(?:[.?!:]["”’)\]]?|["”)\]])\s+(?=["“(]?[A-Z0-9])|\n+|\s+(?=(?:Which|What)\b)""")
_ASKING = re.compile(r"\b(?:which|what|how|where|when|who|why|whose)\b", re.IGNORECASE)
_STRAY_QUOTE = re.compile(r"""^\s*"(?=\s)""")


@dataclass(frozen=True)
class AskedText:
    """The parts of a question: before + sentence + mark + after.

    ``before`` and ``after``, such as a table of values, keep the white space around the sentence, and
    ``sentence`` has single spaces and no mark.
    """

    before: str
    sentence: str
    mark: str
    after: str

    @property
    def case(self) -> str:
        """The text without the closing sentence: what comes before it, then what follows it."""
        return f"{self.before.rstrip()}{self.after}".strip()


@dataclass(frozen=True)
class TurnedItem:
    """An item whose closing sentence can be turned, with the parts of its text."""

    item: MedqaItem
    asked: AskedText
    clause: Clause

    @property
    def point_id(self) -> str:
        """The hash of the item's content."""
        return hash_text(MEDQA, self.item.question, *self.item.options, self.item.letter)

    def render_negated(self) -> str:
        """Return the whole question with its closing sentence negated."""
        return f"{self.asked.before}{ask(self.clause, is_negated=True)}{self.asked.after}"

    def render_statement(self, letter: str, is_negated: bool) -> str:
        """Return the case and the statement that the option with the letter is right, or is not."""
        place = LETTERS.index(letter)
        form = find_option_forms(self.clause, self.item.options)[place]
        return join_case(self.asked.case, state(self.clause, self.item.options[place], form, is_negated))


def turn_item(item: MedqaItem) -> TurnedItem | str:
    """Return the item with its closing sentence taken apart, or the reason why that cannot be turned."""
    asked = find_closing(item.question)
    if asked is None:
        return "has no closing question"
    clause = parse_clause(asked.sentence)
    return clause if isinstance(clause, str) else TurnedItem(item, asked, clause)


def find_closing(question: str) -> AskedText | None:
    """Return the parts of a question around its last sentence that asks, or None if no sentence asks."""
    for mark in reversed(list(re.finditer(r"\?|:\s*$", question))):
        start = max((b.end() for b in _BOUNDARY.finditer(question, 0, mark.start())), default=0)
        sentence = " ".join(question[start : mark.start()].split())
        if _ASKING.search(sentence):
            after = _STRAY_QUOTE.sub("", question[mark.end() :]).rstrip()
            return AskedText(question[:start], sentence, mark.group()[0], after)
    return None


MEDQA_VERSION = 1
"""Count it up when the function gives other rows for the same arguments."""


def build_medqa_questions(items: Sequence[MedqaItem], synonyms: SynonymTable, seed: int) -> pl.DataFrame:
    """Return the questions of the items that can be turned, as rows of ``QUESTIONS``.

    The rows are sorted by point; five points are demonstrations. The order of the items changes nothing.
    """
    results = (turn_item(item) for item in items)
    turned = {result.point_id: result for result in results if not isinstance(result, str)}
    demonstrations = set(draw_order(turned, DEMONSTRATION_SALT, MEDQA)[:N_DEMONSTRATIONS])
    rows: list[Question] = []
    for point_id in sorted(turned):
        is_demonstration = point_id in demonstrations
        salt = DEMONSTRATION_SALT if is_demonstration else str(seed)
        split = "demonstration" if is_demonstration else "test"
        rows += [{**question, "split": split} for question in ask_point(turned[point_id], synonyms, salt)]
    return pl.DataFrame(rows, schema=QUESTIONS.empty.schema)


def list_unturned(items: Sequence[MedqaItem]) -> list[LeftOut]:
    """Return the items that cannot be turned, each with the end of its text and the reason."""
    results = ((item, turn_item(item)) for item in items)
    return [
        LeftOut(item.place, item.question[-80:], result)
        for item, result in results
        if isinstance(result, str)
    ]


def ask_point(turned: TurnedItem, synonyms: SynonymTable, seed: str) -> list[Question]:
    """Return the nine questions of a point without their split: MCQ, 2 RQ, 2 MAQ, 4 TFQ."""
    item, point_id = turned.item, turned.point_id
    wrong = [letter for letter in LETTERS[: len(item.options)] if letter != item.letter]
    offered = draw_one(wrong, MEDQA, "offered", seed, point_id)
    stated = draw_one(wrong, MEDQA, "stated", seed, point_id)
    options, right = replace_options(item, synonyms.find(item.answer), seed, point_id)
    others = [letter for letter in LETTERS[: len(options)] if letter not in right]
    original = {"text": item.question, "options": list(item.options)}
    questions: list[Question] = [
        {"type": "MCQ", **original, "answer": item.letter},
        {"type": "RQ", **original, "answer": f"T|{item.letter}", "offered": item.letter},
        {"type": "RQ", **original, "answer": f"F|{item.letter}", "offered": offered},
        {"type": "MAQ", "text": item.question, "options": options, "answer": ",".join(right)},
        {"type": "MAQ", "text": turned.render_negated(), "options": options, "answer": ",".join(others)},
    ]
    for letter in (item.letter, stated):
        for is_negated in (False, True):
            answer = "T" if (letter == item.letter) != is_negated else "F"
            text = turned.render_statement(letter, is_negated)
            questions.append({"type": "TFQ", "text": text, "options": [], "answer": answer})
    # Of MAQ and TFQ, every second one is negated.
    negated = [False, False, False, False, True, False, True, False, True]
    return [
        _complete(question, point_id, item, is_negated)
        for question, is_negated in zip(questions, negated, strict=True)
    ]


def replace_options(
    item: MedqaItem, synonyms: Sequence[str], seed: str, point_id: str
) -> tuple[list[str], list[str]]:
    """Return the options of the MAQ, and the letters of the right ones in order.

    Up to three wrong options are replaced by synonyms of the answer. At least one wrong option stays, and no
    option repeats another.
    """
    taken = {fold_option(option) for option in item.options}
    by_folded = {fold_option(name): name for name in sorted(synonyms)}
    usable = [name for folded, name in by_folded.items() if folded not in taken]
    letters = LETTERS[: len(item.options)]
    wrong = [letter for letter in letters if letter != item.letter]
    most = min(MAX_SYNONYMS, len(usable), len(wrong) - 1)
    n_replaced = int(draw_one(map(str, range(most + 1)), MEDQA, "number", seed, point_id))
    replaced = draw_order(wrong, MEDQA, "replaced", seed, point_id)[:n_replaced]
    names = draw_order(usable, MEDQA, "synonyms", seed, point_id)[:n_replaced]
    by_letter = dict(zip(letters, item.options, strict=True)) | dict(zip(replaced, names, strict=True))
    return list(by_letter.values()), sorted([item.letter, *replaced])


def _complete(question: Question, point_id: str, item: MedqaItem, is_negated: bool) -> Question:
    """Return a question with its id and the columns that do not differ between the questions of a point."""
    options = question["options"]
    assert isinstance(options, list)
    content = (str(question[name]) for name in ("type", "text", "answer"))
    offered = question.get("offered")
    return {
        "question_id": hash_text(MEDQA, *content, str(offered or ""), *options),
        "point_id": point_id,
        "pair_id": None,
        "head": None,
        "relation": MEDQA,
        "facet": FACET_OF[str(question["type"])],
        "is_negated": is_negated,
        "offered": None,
        "source": item.meta_info or "MedQA",
        **question,
    }
