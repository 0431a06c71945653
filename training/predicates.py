"""Sentences about two slots in general English, made from `entailment_predicates.toml`.

Each predicate gives eight cells of templates with the slots [X] and [Y]: what is and what may be, the two
contradictories, and the same said of a patient. All templates of a cell mean the same.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

FILE = Path(__file__).with_name("entailment_predicates.toml")
CONTRADICTORY = {"is": "is not", "may": "cannot", "case is": "case is not", "case may": "case cannot"}
CONTRADICTORY |= {negated: affirmed for affirmed, negated in CONTRADICTORY.items()}
# "X causes Y" entails "X may cause Y", and "X cannot cause Y" entails "X does not cause Y".
WEAKER = {"is": "may", "cannot": "is not", "case is": "case may", "case cannot": "case is not"}


@dataclass(frozen=True)
class SlotPredicate:
    """One meaning in interchangeable words: what X is to Y."""

    name: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    forms: tuple[dict[str, str], ...]
    """For each verb and each noun, the parts of a frame that it fills."""
    frames: Mapping[str, tuple[str, ...]]
    is_symmetric: bool = False

    def draw(self, cell: str, random: Random) -> str:
        """Return a template of this cell."""
        while True:
            frame, form = random.choice(self.frames[cell]), random.choice(self.forms)
            subject, kind = random.choice(self.subjects), random.choice(self.objects)
            parts = {
                "x": random.choice(("[X]", "[X]", f"the {subject} [X]")),
                "y": random.choice(("[Y]", "[Y]", f"the {kind} [Y]")),
                "subject": subject,
                "a_subject": _add_article(subject),
            }
            try:
                text = frame.format(**form, **parts)
            except KeyError:
                continue
            return text[0].upper() + text[1:]


def read_predicates() -> list[SlotPredicate]:
    """Return every predicate of the file."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    frames = {cell: tuple(texts) for cell, texts in tables["frames"].items()}
    return [_read_predicate(name, table, frames) for name, table in tables["predicates"].items()]


def _read_predicate(name: str, table: dict[str, Any], frames: Mapping[str, tuple[str, ...]]) -> SlotPredicate:
    forms = (*map(_inflect_verb, table["verbs"]), *map(_inflect_noun, table["nouns"]))
    subjects, objects = tuple(table["subjects"]), tuple(table["objects"])
    return SlotPredicate(name, subjects, objects, forms, frames, table.get("is_symmetric", False))


def _inflect_verb(listed: str) -> dict[str, str]:
    base, third, ing, passive = listed.split(", ")
    is_copula = base.startswith("be ")
    found = {
        "base": base,
        "third": third,
        "ing": ing,
        "negated": f"is not {base[3:]}" if is_copula else f"does not {base}",
        "short_negated": f"isn't {base[3:]}" if is_copula else f"doesn't {base}",
    }
    return found if passive == "-" else found | {"passive": passive}


def _inflect_noun(noun: str) -> dict[str, str]:
    words = noun.split()
    plural = [_add_s(words[0]), *words[1:]]
    for position, word in enumerate(words):
        if word in PREPOSITIONS:
            plural = [*words[: position - 1], _add_s(words[position - 1]), *words[position:]]
            break
    bare = " ".join(plural).rpartition(" ")[0]
    return {"noun": noun, "a_noun": _add_article(noun), "nouns": " ".join(plural), "bare_nouns": bare}


PREPOSITIONS = ("of", "for", "against", "in", "to", "than", "with")


def _add_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}{'es' if word.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def _add_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def list_templates(predicates: list[SlotPredicate], n: int, random: Random) -> Iterator[str]:
    """Yield ``n`` templates of every cell of every predicate."""
    for predicate in predicates:
        for cell in predicate.frames:
            yield from (predicate.draw(cell, random) for _ in range(n))
