"""Compare our reading of answers with that of the authors: ``python -m benchmarks.extraction``.

Reads the recorded answers of real models to MultifacetEval in the folder that PRETEXEVAL_REFERENCE_DATA
names. Prints the agreement by setting, type and model where the authors found an answer, and the classes of
disagreement.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.extraction_classes import AUTHORS_WRONG, Comparison, classify
from report.console import align
from tasks.answers.reading import Reading, read_answer
from tasks.answers.vote import vote

TYPES = ("MCQ", "RQ", "MAQ", "TFQ")
# The rules were written on the answers of the first five models only.
DEVELOPED_ON = ("bloomz-7b1-mt", "gpt-3.5-turbo", "llama2-70B", "llama2-7B", "vicuna_7B")
GROUPS = ("all", "developed on", "held out")


def compare_responses(folder: Path) -> Iterator[Comparison]:
    """Yield one comparison per response for which the authors recorded what they extracted."""
    for question_type in TYPES:
        for setting in ("ao", "cot"):
            for row in read_rows(folder, setting, question_type):
                if "extracted" not in row:
                    continue
                responses = [row["raw_response"]] if setting == "ao" else row["raw_responses"]
                extracted = [row["extracted"]] if setting == "ao" else list(row["extracted"])
                for response, theirs in zip(responses, extracted, strict=True):
                    yield Comparison(
                        setting,
                        row["model"],
                        question_type,
                        response,
                        tuple(row["options"] or ()),
                        row["offered"] or "",
                        row["question"],
                        _normalize(theirs, row["offered"]),
                        read_row(row, question_type, response),
                    )


def compare_votes(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield (model, type, is_same) per question of chain of thought whose majority the authors did not draw.

    The authors draw ties at random, so ties are left out. Where only their prediction is published (RQ, MAQ,
    TFQ), they also draw what they could not extract, so that only questions with five readable repeats count;
    of an RQ whose responses hold only a letter, the letter is compared.
    """
    for question_type in TYPES:
        for row in read_rows(folder, "cot", question_type):
            readings = [read_row(row, question_type, response) for response in row["raw_responses"]]
            counts = Counter(_text(reading) for reading in readings if _text(reading)).most_common(2)
            is_tied = len(counts) == 2 and counts[0][1] == counts[1][1]
            is_drawn = "extracted" not in row and not all(map(_text, readings))
            if not counts or is_tied or is_drawn or set(row.get("extracted") or "?") == {"-"}:
                continue
            voted = _text(vote(readings)) or ""
            theirs = row["authors_prediction"]
            is_half = voted.startswith("?|")
            yield row["model"], question_type, (voted[2:] == theirs[2:] if is_half else voted == theirs)


def read_rows(folder: Path, setting: str, question_type: str) -> Iterator[dict[str, Any]]:
    """Yield the recorded responses of a setting ("ao", "cot") and type, each with its question."""
    questions = pl.read_parquet(folder / "multifacet_questions.parquet").filter(
        split="test", type=question_type
    )
    answers = pl.read_parquet(folder / f"multifacet_{setting}_{question_type}.parquet")
    asked = questions.select("form", "knowledge_point", "question", "options", "offered")
    return answers.join(asked, on=["form", "knowledge_point"]).iter_rows(named=True)


def read_row(row: dict[str, Any], question_type: str, response: str) -> Reading:
    """Return our reading of a response to the question of a row."""
    return read_answer(question_type, response, row["options"] or (), row["offered"], row["question"])


def _normalize(extracted: str | None, offered: str | None) -> str | None:
    # "-" and "?|" hold nothing; the authors complete "T|?" with the offered letter.
    if extracted in (None, "-", "?|"):
        return None
    return f"T|{offered}" if extracted == "T|?" else extracted


def _text(reading: Reading) -> str | None:
    return reading.answer or reading.fragment


def main() -> None:
    """Print the agreement and the classes of disagreement."""
    name = os.environ.get("PRETEXEVAL_REFERENCE_DATA")
    if not name or not Path(name).is_dir():
        sys.exit(
            "Set PRETEXEVAL_REFERENCE_DATA to the folder with the recorded answers (multifacet_*.parquet)."
        )
    folder = Path(name)
    comparisons = [comparison for comparison in compare_responses(folder) if comparison.theirs]
    print("Agreement where the authors found an answer, and without the classes in which they are wrong")
    print(_tabulate_agreement(comparisons))
    print("\nDisagreements by class")
    print(_tabulate_classes(comparisons))
    print("\nMajority of the five repeats (chain of thought), without ties")
    print(_tabulate_votes(folder))


def _tabulate_agreement(comparisons: list[Comparison]) -> str:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for comparison in comparisons:
        group = "developed on" if comparison.model in DEVELOPED_ON else "held out"
        label = classify(comparison)
        kind = "same" if label is None else "wrong" if label in AUTHORS_WRONG else "open"
        for model in (comparison.model, group, "all"):
            counts[comparison.setting, comparison.question_type, model, kind] += 1
    keys = sorted(
        {key[:3] for key in counts}, key=lambda key: (key[0], TYPES.index(key[1]), key[2] in GROUPS, key)
    )
    rows = []
    for key in sorted(keys, key=lambda key: (key[0], TYPES.index(key[1]), key[2] in GROUPS, key)):
        same, wrong, is_open = (counts[(*key, kind)] for kind in ("same", "wrong", "open"))
        n_found = same + wrong + is_open
        rows.append([*key, str(n_found), _percent(same, n_found), _percent(same, same + is_open)])
    return align(["setting", "type", "model", "found", "agree", "agree, theirs not wrong"], rows)


def _tabulate_classes(comparisons: list[Comparison]) -> str:
    counts = Counter((c.setting, c.question_type, label) for c in comparisons if (label := classify(c)))
    rows = [
        [setting, kind, label, "authors" if label in AUTHORS_WRONG else "open", str(n)]
        for (setting, kind, label), n in sorted(counts.items())
    ]
    return align(["setting", "type", "class", "wrong", "n"], rows)


def _tabulate_votes(folder: Path) -> str:
    counts = Counter(compare_votes(folder))
    rows = []
    for model, question_type in dict.fromkeys(key[:2] for key in counts):
        same, differ = counts[model, question_type, True], counts[model, question_type, False]
        rows.append([question_type, model, str(same + differ), _percent(same, same + differ)])
    return align(["type", "model", "questions", "agree"], rows)


def _percent(n: int, total: int) -> str:
    return f"{100 * n / total:.2f} %" if total else "-"


if __name__ == "__main__":
    main()
