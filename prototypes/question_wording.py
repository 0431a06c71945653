"""The wording of questions: for every relation, the texts of three types of question and their negations.

extends = "bundled"    # optional: add to the bundled file, prototypes/questions.toml

[may_treat.MCQ]
question = "Which of the following may be treated with the drug [X]?"
negated = "Which of the following cannot be treated with the drug [X]?"

[may_treat.MAQ]        # likewise, about one or more right options

[may_treat.TFQ]
statement = "The drug [X] may serve as a treatment for [Y]."
negated = "The drug [X] cannot serve as a treatment for [Y]."
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.toml_files import parse_toml
from prototypes.pool import render_problems
from prototypes.templates import check_negation, check_placeholders, check_text, fill_slots

BUNDLED = "bundled"
BUNDLED_FILE = Path(__file__).parent / "questions.toml"
KEYS = {"MCQ": ("question", "negated"), "MAQ": ("question", "negated"), "TFQ": ("statement", "negated")}
"""Type of question -> the keys of its table: the text, and the text that denies it."""


@dataclass(frozen=True)
class QuestionTexts:
    """The template of one type of question, and the template that denies it."""

    affirmed: str
    negated: str

    def fill(self, *, is_negated: bool, head: str, tail: str = "") -> str:
        """Return one of the two texts with its slots filled."""
        return fill_slots(self.negated if is_negated else self.affirmed, head, tail)


@dataclass(frozen=True)
class RelationWording:
    """The texts of one relation: type of question -> its texts. An RQ has the texts of its MCQ."""

    relation: str
    texts: Mapping[str, QuestionTexts]

    @property
    def checksum(self) -> str:
        """Return the hash of the relation and its texts (32 hex digits)."""
        texts = {name: [found.affirmed, found.negated] for name, found in self.texts.items()}
        return hash_json([self.relation, texts], digits=32)


@dataclass(frozen=True)
class QuestionWording:
    """The wording of the questions of several relations, complete for each of them."""

    name: str
    relations: Mapping[str, RelationWording]

    def select_relation(self, relation: str) -> RelationWording:
        """Return the wording of one relation, or raise InputError if there is none."""
        if problems := check_question_wording(self, [relation]):
            raise InputError(problems[0])
        return self.relations[relation]


def load_question_wording(path: Path | None = None) -> QuestionWording:
    """Return the wording in a TOML file, or the bundled wording.

    Raises:
        InputError: the file has problems; the message lists them by table.
    """
    if path is None:
        return QuestionWording(BUNDLED, _read_file(BUNDLED_FILE))
    return QuestionWording(path.stem, _read_file(path))


def check_question_wording(wording: QuestionWording, relations: Iterable[str]) -> list[str]:
    """Return one message per relation that the wording lacks."""
    return [
        f"the wording of questions {wording.name!r} has no texts for relation {relation!r}: add the tables "
        f"{', '.join(f'[{relation}.{name}]' for name in KEYS)}, or leave the relation out of [knowledge]"
        for relation in relations
        if relation not in wording.relations
    ]


def _read_file(path: Path) -> dict[str, RelationWording]:
    """Return the relations of one file, after those of the bundled file if it extends that one."""
    content = parse_toml(path)
    extended = content.pop("extends", None)
    if extended not in (None, BUNDLED):
        raise InputError(f'{path}: extends is {extended!r}: write extends = "{BUNDLED}", or remove the line')
    problems = [
        problem for relation, table in content.items() for problem in _check_relation(relation, table)
    ]
    if not content:
        problems.append("holds no relation: add the tables [relation.MCQ], [relation.MAQ] and [relation.TFQ]")
    if problems:
        raise InputError(render_problems(f"wording of questions {path}", problems))
    own: dict[str, RelationWording] = {}
    for relation, tables in content.items():
        texts = {name: QuestionTexts(*(tables[name][key] for key in keys)) for name, keys in KEYS.items()}
        own[relation] = RelationWording(relation, texts)
    return own if extended is None else {**_read_file(BUNDLED_FILE), **own}


def _check_relation(relation: str, tables: object) -> Iterator[str]:
    if not isinstance(tables, dict):
        yield f"{relation} is not a table: write [{relation}.MCQ], [{relation}.MAQ] and [{relation}.TFQ]"
        return
    for name, keys in KEYS.items():
        if name not in tables:
            yield f"[{relation}.{name}] is missing: give it the keys {' and '.join(keys)}"
        else:
            yield from (f"[{relation}.{name}] {problem}" for problem in _check_type(keys, tables[name]))
    if unknown := sorted(tables.keys() - KEYS):
        yield f"[{relation}] has unknown {', '.join(unknown)}; allowed: {', '.join(KEYS)}"


def _check_type(keys: tuple[str, str], table: object) -> Iterator[str]:
    """Yield the problems of the table of one relation and type."""
    if not isinstance(table, dict):
        yield f"is not a table: give it the keys {' and '.join(keys)}"
        return
    if unknown := sorted(table.keys() - set(keys)):
        yield f"has unknown {', '.join(unknown)}; allowed: {', '.join(keys)}"
    check = check_text if "statement" in keys else _check_question
    texts = []
    for key in keys:
        text = table.get(key)
        if isinstance(text, str) and text:
            texts.append(text)
            yield from (f"{key} {problem}" for problem in check(text))
        else:
            yield f"{key} is {'missing' if text is None else repr(text)}: give a text"
    if len(texts) == len(keys):
        yield from (f"negated {problem}" for problem in check_negation(*texts))


def _check_question(text: str) -> Iterator[str]:
    """Yield the problems of a question, which names the head alone: its options are the tails."""
    if (count := text.count("[X]")) != 1:
        yield f"holds [X] {count} times instead of once: {text!r}"
    if "[Y]" in text:
        yield f"holds [Y], but the tails are its options: {text!r}"
    yield from check_placeholders(text)
    if not text.endswith("?"):
        yield f"does not end in a question mark: {text!r}"
    if text != " ".join(text.split()):
        yield f"has stray white space: {text!r}"
