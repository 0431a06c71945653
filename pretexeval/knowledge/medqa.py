"""Reader of MedQA: the Parquet table with lists of options, and the JSON lines that its authors publish.

Parquet: question, options (list of texts), answer_letter, answer and optionally meta_info. JSON lines:
question, options (an object from letter to text), answer_idx (or answer_letter), answer and optionally
meta_info. Jin et al., "What Disease does this Patient Have?", Applied Sciences 11(14), 2021.

A table of synonyms has the columns answer and synonym: one row says that a synonym means the same as an
answer. An optional column answer_id names the concept of the answer: answers with the same id share their
synonyms, and each of them is a synonym of the others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.knowledge.base import COLUMNS, KnowledgeBase, LeftOut
from pretexeval.knowledge.files import read_records
from pretexeval.knowledge.names import fold_name, normalize_text, remove_invisible
from pretexeval.knowledge.rows import describe_problems
from pretexeval.knowledge.tables import read_name_table, read_table
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from schemas.question_stages import LETTERS


@dataclass(frozen=True)
class MedqaItem:
    """One multiple-choice question with its options in order, the letter of the right one, and its row."""

    question: str
    options: tuple[str, ...]
    letter: str
    meta_info: str
    place: str

    @property
    def answer(self) -> str:
        """The text of the right option."""
        return self.options[LETTERS.index(self.letter)]


@dataclass(frozen=True)
class MedqaSource:
    """The items of a file in its order, and the rows that were left out, with reasons."""

    items: tuple[MedqaItem, ...]
    left_out: tuple[LeftOut, ...]


def read_medqa(path: Path) -> MedqaSource:
    """Return the items of a Parquet or JSONL file.

    Repeated questions, and questions with two options of the same text, are left out and listed.

    Raises:
        InputError: the file cannot be read, or rows are wrong; the message counts and names them.
    """
    extension = path.suffix.lower()
    if extension not in (".parquet", ".jsonl"):
        raise InputError(f"{path} has the extension {path.suffix!r}; MedQA is one of .parquet, .jsonl")
    records: Iterable[tuple[str, Mapping[str, Any] | str]] = _read_json_lines(path)
    if extension == ".parquet":
        rows = read_table(path, ("question", "options", "answer_letter", "answer"), ("meta_info",))
        records = ((f"row index {row['row']}", row) for row in rows.iter_rows(named=True))
    items: list[MedqaItem] = []
    wrong: list[str] = []
    for place, row in records:
        if isinstance(row, str) or (problem := _find_problem(row)):
            wrong.append(f"{path}, {place}: {row if isinstance(row, str) else problem}")
        else:
            items.append(_build_item(row, f"{path.name}, {place}"))
    if wrong:
        raise InputError(describe_problems(wrong))
    if not items:
        raise InputError(f"{path} holds no questions: fill it or name another file")
    return _leave_out_repeated(items)


def _read_json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    """Yield the place and the values, or the problem, of each line that is not blank."""
    for number, row, problem in read_records(path):
        if problem is not None:
            yield f"line {number}", problem
            continue
        options = row.get("options")
        if isinstance(options, dict):
            if sorted(options) != list(LETTERS[: len(options)]):
                letters = ", ".join(map(str, options))
                yield f"line {number}", f"has options with the keys {letters}: name them A, B, C, …"
                continue
            row["options"] = [options[letter] for letter in sorted(options)]
        yield f"line {number}", {"answer_letter": row.get("answer_idx"), **row}


def _find_problem(row: Mapping[str, Any]) -> str | None:
    """Return the problem of a row and its remedy, or None."""
    question, options, letter = row.get("question"), row.get("options"), row.get("answer_letter")
    if not isinstance(question, str) or not remove_invisible(question).strip():
        return "the question is empty: write it or delete the row"
    if not isinstance(options, list) or not 2 <= len(options) <= len(LETTERS):
        return f"options must be 2 to {len(LETTERS)} texts: add them or delete the row"
    if not all(isinstance(option, str) and remove_invisible(tidy_text(option)).strip() for option in options):
        return "an option is empty: write it or delete the row"
    if letter not in list(LETTERS[: len(options)]):
        return f"the answer's letter is {letter!r}: write one of {', '.join(LETTERS[: len(options)])}"
    answer, named = row.get("answer"), options[LETTERS.index(letter)]
    if not isinstance(answer, str) or fold_name(answer) != fold_name(named):
        return f"the answer {answer!r} is not option {letter}, {named!r}: correct one of them"
    return None


def _build_item(row: Mapping[str, Any], place: str) -> MedqaItem:
    options = tuple(tidy_text(option) for option in row["options"])
    meta_info = row.get("meta_info") or ""
    return MedqaItem(tidy_text(row["question"]), options, row["answer_letter"], meta_info, place)


def tidy_text(text: str) -> str:
    """Return the text without outer white space and without a quotation mark at its end that opens nowhere.

    Some published questions and last options end in a stray quotation mark or in a line break, and some have
    doubled quotation marks, which are left from the quoting of a CSV file.
    """
    text = re.sub('"{2,}', '"', text.strip())
    return text[:-1].rstrip() if text.endswith('"') and text.count('"') == 1 else text


def _leave_out_repeated(items: Sequence[MedqaItem]) -> MedqaSource:
    """Return the items without the questions that repeat one, or whose options repeat each other.

    Raises:
        InputError: two rows ask the same and answer differently.
    """
    kept: dict[tuple[str, tuple[str, ...]], MedqaItem] = {}
    left_out: list[LeftOut] = []
    for item in items:
        folded = [fold_option(option) for option in item.options]
        key = (fold_name(item.question), tuple(sorted(folded)))
        what = item.question[-80:]
        if len(set(folded)) < len(folded):
            left_out.append(LeftOut(item.place, what, "two options have the same text"))
        elif key not in kept:
            kept[key] = item
        elif fold_option(kept[key].answer) == fold_option(item.answer):
            left_out.append(LeftOut(item.place, what, f"repeats {kept[key].place}"))
        else:
            raise InputError(
                f"{item.place} asks what {kept[key].place} asks and answers differently: keep one of them"
            )
    return MedqaSource(tuple(kept.values()), tuple(left_out))


def fold_option(option: str) -> str:
    """Return the text of an option without case and punctuation, so that spellings can be compared.

    Unlike in `fold_name` of `pretexeval.knowledge.names`, signs with a meaning count: "PPV > 1" is not
    "PPV < 1".
    """
    text = normalize_text(option)
    text = re.sub(r"(?<!\w)[-–−](?=[\d.])", "minus ", text)
    return " ".join(re.sub(r"[^\w+<>=↑↓%/*]|_", " ", text).split())


@dataclass(frozen=True)
class SynonymTable:
    """The synonyms of answers, sorted, by folded name, and the rows that were left out."""

    by_answer: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()

    def find(self, answer: str) -> tuple[str, ...]:
        """Return the synonyms of an answer in any spelling. An answer without a row has none."""
        return self.by_answer.get(fold_name(answer), ())


def read_synonyms(path: Path) -> SynonymTable:
    """Return the synonyms of a file. Rows that repeat one or name the answer itself are left out and listed.

    Raises:
        InputError: the file cannot be read or lacks a column, or rows are wrong; the message names them.
    """
    return build_synonyms(read_name_table(path, ("answer", "synonym"), ("answer_id",)), path.name)


def build_synonyms(rows: pl.DataFrame, file: str) -> SynonymTable:
    """Return the table of rows with the columns answer, synonym, row, place, and optionally answer_id."""
    # Names by the key under which they share synonyms, and the keys of each answer: its name and its ids.
    names: dict[str, dict[str, str]] = {}
    keys: dict[str, set[str]] = {}
    left_out: list[LeftOut] = []
    for row in rows.sort("answer", "synonym", "row").iter_rows(named=True):
        answer, synonym = row["answer"].strip(), row["synonym"].strip()
        folded, place = fold_name(answer), f"{file}, {row['place']}"
        answer_id = (row.get("answer_id") or "").strip()
        own = [f"name:{folded}", *([f"id:{answer_id}"] if answer_id else [])]
        keys.setdefault(folded, set()).update(own)
        if answer_id:
            names.setdefault(own[1], {}).setdefault(folded, answer)
        if fold_name(synonym) == folded:
            left_out.append(LeftOut(place, f"{answer}: {synonym}", "is the answer in another spelling"))
            continue
        if fold_name(synonym) in names.get(own[0], {}):
            left_out.append(LeftOut(place, f"{answer}: {synonym}", "repeats another row"))
            continue
        for key in own:
            names.setdefault(key, {}).setdefault(fold_name(synonym), synonym)
    by_answer = {
        folded: tuple(
            sorted({f: n for key in own for f, n in names.get(key, {}).items() if f != folded}.values())
        )
        for folded, own in ((folded, sorted(found)) for folded, found in keys.items())
    }
    return SynonymTable(by_answer, tuple(left_out))


MEDQA = "medqa"
"""The name in place of the relation of all questions of MedQA."""


@dataclass(frozen=True)
class QuestionBank(KnowledgeBase):
    """The questions of MedQA, and the synonyms of their answers. There are no triplets."""

    triplets: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COLUMNS))
    items: tuple[MedqaItem, ...] = ()
    synonyms: SynonymTable = field(default_factory=SynonymTable)

    @property
    def relations(self) -> list[str]:
        """Return the only name under which all questions are stored."""
        return [MEDQA]

    def checksum_relation(self, relation: str) -> str:
        """Return the hash of all questions and synonyms (32 hex digits); their order does not change it."""
        return self._checksum

    @cached_property
    def _checksum(self) -> str:
        items = sorted(
            [item.question, list(item.options), item.letter, item.meta_info] for item in self.items
        )
        synonyms = {answer: list(names) for answer, names in self.synonyms.by_answer.items()}
        return hash_json({"items": items, "synonyms": synonyms}, digits=32)
