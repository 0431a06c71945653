"""Compare our MultiMedQA with the published one: ``python -m benchmarks.multimedqa FOLDER``.

FOLDER holds `medqa_us_test.parquet` and `multifacet_questions.parquet`. The first figures say how many items
of MedQA can be turned, and why the others cannot. Then every published question is compared with ours. Draws,
such as the wrong option that a statement is about, are taken from the published question. `--synonyms FILE`
writes the table of synonyms that the published questions used.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.multimedqa_causes import CAPITALS, FORMS, NOTHING, STRAY, WHOSE, find_cause
from benchmarks.published_multimedqa import (
    PublishedPoint,
    derive_synonyms,
    list_replacements,
    read_published_points,
)
from knowledge.medqa import MedqaItem, fold_option, read_medqa
from knowledge.spelling import fold_name
from report.console import align
from schemas.question_stages import LETTERS
from tasks.asking.case_text import join_case
from tasks.questions.medqa_points import TurnedItem, turn_item

MAQ_HINT = " There may be one or more correct choices."


@dataclass(frozen=True)
class Compared:
    """A published question beside ours: the type and form, both texts, and whether the answers are equal."""

    type: str
    form: str
    ours: str
    theirs: str
    has_same_answer: bool

    @property
    def cause(self) -> str:
        """Why the texts differ."""
        return find_cause(self.ours, self.theirs)


def find_turned(items: Sequence[MedqaItem]) -> tuple[dict[str, TurnedItem], Counter[str]]:
    """Return the items that can be turned, by folded question, and how many cannot for each reason."""
    results = {fold_name(item.question): turn_item(item) for item in items}
    turned = {key: result for key, result in results.items() if isinstance(result, TurnedItem)}
    return turned, Counter(result for result in results.values() if isinstance(result, str))


def compare_point(point: PublishedPoint, turned: TurnedItem) -> Iterator[Compared]:
    """Yield each published question of a point with ours."""
    item, published = turned.item, point.questions
    mcq = published["MCQ", "forward"]
    yield Compared("MCQ", "forward", item.question, mcq.text, item.letter == mcq.label)
    for (kind, form), question in published.items():
        if kind == "RQ":
            answer = f"{'T' if question.offered == item.letter else 'F'}|{item.letter}"
            yield Compared(kind, form, item.question, question.text, answer == question.label)
        elif kind == "MAQ":
            is_negated = form == "negated"
            text = turned.render_negated() if is_negated else item.question
            answer = ",".join(_find_right(point, question.options, is_negated))
            yield Compared(kind, form, add_hint(text, turned), question.text, answer == question.label)
        elif kind == "TFQ":
            letter = find_stated_letter(turned, form, question.text)
            if letter is None:
                yield Compared(kind, form, "", question.text, has_same_answer=False)
                continue
            is_negated = form.endswith("negated")
            answer = "T" if (letter == item.letter) != is_negated else "F"
            text = turned.render_statement(letter, is_negated)
            theirs = _mark_statement(question.text, turned)
            yield Compared(kind, form, text, theirs, answer == question.label)


def add_hint(text: str, turned: TurnedItem) -> str:
    """Return the text of a multiple-answer question with the published hint after its closing sentence."""
    after = turned.asked.after
    return f"{text.removesuffix(after)}{MAQ_HINT}{after}"


def _find_right(point: PublishedPoint, options: tuple[str, ...], is_negated: bool) -> list[str]:
    """Return the letters that are right: the answer's own place, and those of replaced options."""
    right = [
        new != old or letter == point.mcq.label
        for letter, new, old in zip(LETTERS, options, point.mcq.options, strict=False)
    ]
    return [letter for letter, is_right in zip(LETTERS, right, strict=False) if is_right != is_negated]


def find_stated_letter(turned: TurnedItem, form: str, text: str) -> str | None:
    """Return the letter of the option that a published statement is about: the first one that it holds."""
    if form.startswith("true"):
        return turned.item.letter
    statement = f" {fold_option(_split_statement(text, turned))} "
    wrong = [
        (-statement.find(f" {fold_option(option)} "), len(option), letter)
        for letter, option in zip(LETTERS, turned.item.options, strict=False)
        if letter != turned.item.letter and f" {fold_option(option)} " in statement
    ]
    return max(wrong)[2] if wrong else None


def _split_statement(text: str, turned: TurnedItem) -> str:
    """Return the statement in a published text, which follows the case."""
    rest = text[len(turned.asked.before) :]
    rest = re.split(r'"?, is the statement above', rest)[0]
    return re.sub(r'^[\s.]*(?:Statement:\s*)?"', "", rest).strip().removesuffix('"').strip()


def _mark_statement(text: str, turned: TurnedItem) -> str:
    """Return a published text in our form: the case, then the statement on its own line."""
    return join_case(turned.asked.case, _split_statement(text, turned))


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multimedqa", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the reference data")
    parser.add_argument("--synonyms", type=Path, help="write the table of synonyms as CSV")
    parser.add_argument("--show", metavar="DIFFERENCE", help="print the questions with this difference")
    options = parser.parse_args()
    points = read_published_points(options.folder / "multifacet_questions.parquet")
    synonyms = derive_synonyms(points)
    if options.synonyms:
        synonyms.write_csv(options.synonyms)
    n_replaced = Counter(min(1, len(list_replacements(point))) for point in points)[1]
    n_with = sum(point.answer in set(synonyms["answer"]) for point in points)
    print(f"{n_replaced} published points replace options in their MAQ, {n_with} of them by other names")
    print(f"{synonyms.height} synonyms of {synonyms['answer'].n_unique()} answers", end="\n\n")
    items = read_medqa(options.folder / "medqa_us_test.parquet").items
    turned, reasons = find_turned(items)
    print(f"{len(turned):,} of {len(items):,} items can be turned, {len(points)} are published")
    print(f"{sum(point.key in turned for point in points)} of the published items can be turned")
    print(*(f"{count:4}  {reason}" for reason, count in reasons.most_common()), sep="\n", end="\n\n")
    compared = [c for point in points if point.key in turned for c in compare_point(point, turned[point.key])]
    print_agreement(compared)
    for c in compared if options.show else ():
        if options.show in c.cause:
            print(f"{c.type} {c.form}\n  ours:   {c.ours[-300:]!r}\n  theirs: {c.theirs[-300:]!r}")


def print_agreement(compared: Sequence[Compared]) -> None:
    """Print how many texts and answers agree by type and form, and each kind of difference."""
    forms = list(dict.fromkeys((c.type, c.form) for c in compared))
    rows = []
    for kind, form in forms:
        causes = Counter(c.cause for c in compared if (c.type, c.form) == (kind, form))
        n_folded = sum(causes[cause] for cause in (NOTHING, STRAY, CAPITALS, FORMS))
        n_answers = sum(c.has_same_answer for c in compared if (c.type, c.form) == (kind, form))
        rows.append([kind, form, *map(str, (causes.total(), causes[NOTHING], n_folded, n_answers))])
    columns = ["type", "form", "questions", "same text", "but for grammar", "same answer"]
    print(align(columns, rows), end="\n\n")
    by_type = Counter((c.type, c.cause) for c in compared)
    types = list(dict.fromkeys(c.type for c in compared))
    lines = [
        [cause, *(f"{by_type[kind, cause]}" for kind in types), whose]
        for cause, whose in WHOSE.items()
        if any(by_type[kind, cause] for kind in types)
    ]
    print(align(["difference", *types, "whose text is right"], lines))


if __name__ == "__main__":
    main()
