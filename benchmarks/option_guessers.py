"""Measure what guessers without medical knowledge score on the questions of a knowledge base.

`python -m benchmarks.option_guessers --base medlama.parquet` prints the table of docs/multifaceteval.md: one
line per relation and type. RQs have the options of their MCQs, and a negated MAQ or TFQ has the opposite
answer, so they have no lines of their own. The columns:

- chance: the share of right options, which a guess without any rule reaches;
- frequency: the option that was right most often, of all times that it was shown about other heads;
- folds: the same, measured on nine tenths of the heads for the last tenth;
- common: the option that is true of the most other heads of the base (the fewest, if negated);
- longest: the option with the most characters;
- overlap: the option with the greatest share of trigrams that the head has too (the least, if negated);
- letter: the letter that is right most often.

A guess about an MCQ or an MAQ is one option, and right if it is a right option. A TFQ is guessed true if the
guesser's figure is above its median, and for the frequencies if it is above one half.
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import get_args

import polars as pl

from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from knowledge.spelling import fold_name
from primitives.hashing import hash_text
from prototypes.question_wording import RelationWording, load_question_wording
from report.console import align
from tasks.drawing.heads import Policy, TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.questions.questions import draw_questions
from tasks.questions.writing import LETTERS

FORMS = (("MCQ", False), ("MCQ", True), ("MAQ", False), ("TFQ", False))
GUESSERS = ("frequency", "folds", "common", "longest", "overlap")
COLUMNS = ("relation", "type", "questions", "chance", *GUESSERS, "letter")
N_FOLDS = 10


@dataclass(frozen=True)
class Shown:
    """One option of one question."""

    question: str
    head: str
    tail: str
    letter: str
    is_right: bool


def list_shown(questions: pl.DataFrame, wording: RelationWording) -> list[Shown]:
    """Return the options of all questions; the tail of a TFQ is its only option.

    Args:
        questions: questions of one type and form.
    """
    columns = ("question_id", "head", "text", "options", "answer", "is_negated")
    shown = []
    for question_id, head, text, options, answer, is_negated in questions.select(columns).iter_rows():
        if options:
            shown += [
                Shown(question_id, head, tail, letter, letter in answer)
                for letter, tail in zip(LETTERS, options, strict=True)
            ]
        else:
            fill = wording.texts["TFQ"].fill
            start, end = fill(is_negated=is_negated, head=head, tail="\x00").split("\x00")
            shown.append(Shown(question_id, head, text[len(start) : len(text) - len(end)], "", answer == "T"))
    return shown


def rate_options(shown: Sequence[Shown], rows: pl.DataFrame, is_negated: bool) -> dict[str, list[float]]:
    """Return guesser -> its figure for each option.

    Args:
        rows: the relation's rows of the knowledge base.
    """
    sign = -1 if is_negated else 1
    facts = set(rows.select("head", "tail").iter_rows())
    n_heads = Counter(tail for _, tail in facts)
    return {
        "frequency": _rate_frequency(shown, lambda option: option.head),
        "folds": _rate_frequency(shown, lambda option: str(int(hash_text(option.head), 16) % N_FOLDS)),
        "common": [sign * (n_heads[option.tail] - ((option.head, option.tail) in facts)) for option in shown],
        "longest": [len(option.tail) for option in shown],
        "overlap": [sign * measure_overlap(option.head, option.tail) for option in shown],
    }


def _rate_frequency(shown: Sequence[Shown], find_fold: Callable[[Shown], str]) -> list[float]:
    """Return for each option how often it was right in the other folds; the mean if it is not there."""
    n_shown: Counter[tuple[str, ...]] = Counter()
    n_right: Counter[tuple[str, ...]] = Counter()
    for option in shown:
        for key in ((option.tail,), (option.tail, find_fold(option))):
            n_shown[key] += 1
            n_right[key] += option.is_right
    mean = fmean(option.is_right for option in shown)
    rates = []
    for option in shown:
        key, own = (option.tail,), (option.tail, find_fold(option))
        n_others = n_shown[key] - n_shown[own]
        rates.append((n_right[key] - n_right[own]) / n_others if n_others else mean)
    return rates


def measure_overlap(head: str, tail: str) -> float:
    """Return the share of the tail's trigrams that the head has too."""
    of_tail = _list_trigrams(tail)
    return len(of_tail & _list_trigrams(head)) / max(len(of_tail), 1)


def _list_trigrams(name: str) -> set[str]:
    padded = f" {fold_name(name)} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def score_choices(shown: Sequence[Shown], rates: Sequence[float]) -> float:
    """Return how often the option with the highest figure is right; among equal ones, the guess is random."""
    by_question: dict[str, list[tuple[float, bool]]] = {}
    for option, rate in zip(shown, rates, strict=True):
        by_question.setdefault(option.question, []).append((rate, option.is_right))
    return fmean(
        fmean(is_right for rate, is_right in options if rate == max(options)[0])
        for options in by_question.values()
    )


def score_statements(shown: Sequence[Shown], rates: Sequence[float], threshold: float) -> float:
    """Return how often a statement is true if its figure is above the threshold, and false if below."""
    return fmean(
        0.5 if rate == threshold else (rate > threshold) == option.is_right
        for option, rate in zip(shown, rates, strict=True)
    )


def measure_form(shown: Sequence[Shown], rows: pl.DataFrame, type_: str, is_negated: bool) -> list[float]:
    """Return the figures of the columns after `questions`."""
    rates = rate_options(shown, rows, is_negated)
    n_right = Counter(option.letter for option in shown if option.is_right)
    n_questions = len({option.question for option in shown})
    if type_ == "TFQ":
        share_true = fmean(option.is_right for option in shown)
        thresholds = {name: 0.5 if name in ("frequency", "folds") else median(rates[name]) for name in rates}
        scores = [score_statements(shown, rates[name], thresholds[name]) for name in GUESSERS]
        return [0.5, *scores, max(share_true, 1 - share_true)]
    scores = [score_choices(shown, rates[name]) for name in GUESSERS]
    return [fmean(option.is_right for option in shown), *scores, max(n_right.values()) / n_questions]


def iterate_lines(
    base: KnowledgeBase, sampling: TripletSampling, times: dict[str, float]
) -> Iterator[tuple[str, str, int, list[float]]]:
    """Yield relation, type, number of questions and figures; add the processor seconds to `times`."""
    wordings = load_question_wording()
    for relation in base.relations:
        wording = wordings.select_relation(relation)
        rows, triplets = base.select_relation(relation), draw_triplets(base, relation, sampling)
        start = time.process_time()
        questions = draw_questions(collect_facts(base, relation), triplets, wording, sampling)
        times[relation] = time.process_time() - start
        tested = questions.filter(split="test")
        for type_, is_negated in FORMS:
            if len(found := tested.filter(type=type_, is_negated=is_negated)):
                figures = measure_form(list_shown(found, wording), rows, type_, is_negated)
                yield relation, f"negated {type_}" if is_negated else type_, len(found), figures


def main() -> None:
    """Build the questions of a base, let the guessers guess, and print one line per relation and type."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.option_guessers", description=__doc__)
    parser.add_argument("--base", type=Path, help="MedLAMA's file or folder; the starter base if not given")
    parser.add_argument("--negatives", choices=get_args(Policy), default=TripletSampling(1).negatives)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--heads", type=int, default=1000, help="at most so many heads of each relation")
    parser.add_argument("--means", action="store_true", help="print only the means of the relations")
    options = parser.parse_args()
    base = read_knowledge_base(
        KnowledgeConfig(name="medlama", format="medlama", path=options.base)
        if options.base
        else KnowledgeConfig()
    )
    times: dict[str, float] = {}
    sampling = TripletSampling(options.seed, options.negatives, options.heads)
    lines = list(iterate_lines(base, sampling, times))
    means = []
    for name in dict.fromkeys(line[1] for line in lines):
        found = [line for line in lines if line[1] == name]
        figures = [fmean(column) for column in zip(*(line[3] for line in found), strict=True)]
        means.append(("mean of the relations", name, sum(line[2] for line in found), figures))
    cells = [
        [relation, name, str(count), *(f"{100 * figure:.1f}" for figure in figures)]
        for relation, name, count, figures in [*([] if options.means else lines), *means]
    ]
    print(align(COLUMNS, cells))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"questions built in {sum(times.values()):.1f} s of one core; peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
