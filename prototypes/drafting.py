"""Draft the eight prototypes of a relation from the four affirmative ones, and write them as a TOML pool.

A person writes the four affirmative sentences, and rules write their denials. A rule that is not sure to give
the contradictory of a sentence gives none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pretexeval.gate import Rewording, check_rewording, fold_text
from pretexeval.gate.lexicon import list_words
from pretexeval.primitives.errors import InputError, join_problems
from pretexeval.primitives.toml_files import parse_toml, render_toml
from pretexeval.primitives.untrusted_text import escape_line
from pretexeval.storage.files import write_bytes
from prototypes.templates import SLOTS, check_negation, check_text, count_negations, fill_slots
from prototypes.toml_pool import DRAFT
from schemas.transformations import NAMES, POSITIVE_OF

# The gate compares filled sentences. These names mean nothing, so they show no kind of thing.
HEAD, TAIL = "Velorak", "Tunsobar"
# The gate only compares. These reasons against any sentence do not depend on what it is compared with.
PLAIN = "The condition [X] may be related to the condition [Y]."
NO_STATEMENT = frozenset({"not one statement"})
AFFIRMATIVE = ("none", "inv", "ins", "inv_ins")
"""The cells that a person writes."""
INSTANTIATED = ("ins", "inv_ins", "ins_dn", "inv_ins_dn")
NO_RULE = "no rule is sure to deny its partner; write it yourself"
# Names of relations in a knowledge base.
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
COMMENT = """\
# Drafts, which a run refuses until `status` is deleted. Read every text. A denial that failed a
# check is a comment, so the relation is not complete before you write this cell. Then name the two predicates
# in `instance`, and delete the line `status`.
"""
# Auxiliary of the claim -> its denial. "may not" would leave open that it may: both sentences could be true.
DENIED = {"may": "cannot", "can": "cannot", "is": "is not", "are": "are not"}


# With one of these, "not" would deny less or more than the sentence says ("is not always", "not in some").
QUANTIFIERS = list_words(
    "all any both each either every few many more most often only several some always usually sometimes "
    "generally mainly typically rarely"
)
# The next auxiliary belongs to another clause than the claim.
CLAUSE_OPENERS = list_words("that which who whom whose where when if because although while unless")
COORDINATORS = list_words("and or but because although while unless if when")
CONDITIONS = list_words("if when once whenever")
# Only such a first word loses its capital in "It is not true that …", because any other could be a name.
LOWERED = list_words("A Against Among An For In It One Possible Some The There This Treatment Use What With")
_WORD = re.compile(r"\[[XY]\]|[A-Za-z][A-Za-z'-]*|[;:]")


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    end: int


def deny_sentence(sentence: str) -> str | None:
    """Return the contradictory of an affirmative sentence, or None if no rule is sure to give it.

    The auxiliary of the claim is denied ("may" becomes "cannot"). If it is not sure which one that is, the
    whole sentence is denied ("It is not true that …"), unless it has a condition, because "if P, then Q" is
    denied in its claim: P ⇒ not Q.
    """
    if count_negations(sentence):
        return None
    start = _find_claim(sentence)
    if start is None:
        return None
    if (auxiliary := _find_auxiliary(sentence, start)) is not None:
        denied = DENIED[auxiliary.text]
        return f"{sentence[: auxiliary.start]}{denied}{sentence[auxiliary.end :]}"
    return _deny_whole(sentence) if start == 0 else None


def _find_claim(sentence: str) -> int | None:
    """Return where the claim begins: 0 without a condition; None if the end of the condition is not clear."""
    if sentence.split(" ", 1)[0].lower() not in CONDITIONS:
        return 0
    return sentence.index(",") + 1 if sentence.count(",") == 1 else None


def _find_auxiliary(sentence: str, start: int) -> _Word | None:
    """Return the auxiliary whose denial is the contradictory of the claim; None if that is not sure."""
    matches = _WORD.finditer(sentence, start)
    words = [_Word(match[0].lower(), match.start(), match.end()) for match in matches]
    texts = [word.text for word in words]
    first = next((i for i, text in enumerate(texts) if text in DENIED), None)
    if first is None or not QUANTIFIERS.isdisjoint(texts):
        return None
    before, after = texts[:first], texts[first + 1 :]
    has_other_clause = not CLAUSE_OPENERS.isdisjoint(before) or not {";", ":"}.isdisjoint(texts)
    has_second_claim = any(
        text in COORDINATORS and not DENIED.keys().isdisjoint(after[i:]) for i, text in enumerate(after)
    )
    # "It is known that [X] may cause [Y]" says nothing about [X] itself.
    has_subject = any(slot in sentence[: words[first].start] for slot in SLOTS)
    is_sure = has_subject and not has_other_clause and not has_second_claim
    return words[first] if is_sure else None


def _deny_whole(sentence: str) -> str | None:
    """Return the denial of the sentence as a whole; None if its first word could be a name."""
    first, _, rest = sentence.partition(" ")
    if first in LOWERED:
        first = first[0].lower() + first[1:]
    elif not first.startswith(SLOTS):
        return None
    return f"It is not true that {first} {rest}"


@dataclass(frozen=True)
class DraftedCell:
    """A prototype of a draft."""

    text: str | None
    """The template; None if no rule is sure to write it."""
    marks: tuple[str, ...] = ()
    """The objections of the checks. A denial with one is not used; a sentence of a person is."""


def draft_relation(given: Mapping[str, str]) -> dict[str, DraftedCell]:
    """Return transformation -> cell, in the order of the transformations.

    Args:
        given: the four affirmative cells.

    Raises:
        InputError: a sentence has not the form of its cell.
    """
    if problems := list(_check_given(given)):
        raise InputError(join_problems(problems))
    none = given["none"]
    cells = {name: DraftedCell(text, _compare(none, text)) for name, text in given.items() if name != "none"}
    cells["none"] = DraftedCell(none)
    # The other denials are compared with `dn`, which comes first.
    for name in sorted(POSITIVE_OF, key=lambda each: each != "dn"):
        text = deny_sentence(given[POSITIVE_OF[name]])
        marks = [NO_RULE] if text is None else check_denial(name, text, cells)
        cells[name] = DraftedCell(text, tuple(marks))
    return {name: cells[name] for name in NAMES}


def _check_given(given: Mapping[str, str]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name in AFFIRMATIVE:
        text = given[name]
        problems = list(_check_form(name, text))
        if count_negations(text):
            problems.append("denies something: write what is true of a fact")
        if name == "none" and not problems and not NO_STATEMENT.isdisjoint(_compare(PLAIN, text)):
            problems.append("is not one plain statement")
        if (first := seen.setdefault(fold_text(text), name)) != name:
            problems.append(f"repeats {first}")
        yield from (f"{name} {problem}" for problem in problems)


def check_denial(transformation: str, text: str, cells: Mapping[str, DraftedCell]) -> list[str]:
    """Return the problems of a denied cell: as a denial of its partner, and by the gate."""
    affirmed, first = cells[POSITIVE_OF[transformation]].text, cells.get("dn")
    assert affirmed is not None
    problems = list(_check_form(transformation, text))
    problems += [f"denial: {problem}" for problem in check_negation(affirmed, text)]
    if not problems and (reasons := _compare(affirmed, text)) != ("polarity",):
        problems.append(
            f"gate: not the plain denial of its partner ({', '.join(reasons) or 'same polarity'})"
        )
    if not problems and transformation != "dn" and first is not None and first.text is not None:
        problems += [f"gate: {reason}" for reason in _compare(first.text, text)]
    return problems


def _compare(statement: str, text: str) -> tuple[str, ...]:
    """Return the gate's reasons against the text as a rewording of the statement."""
    one, other = (fill_slots(template, HEAD, TAIL) for template in (statement, text))
    return check_rewording(Rewording(one, other, HEAD, TAIL))


def _check_form(transformation: str, text: str) -> Iterator[str]:
    yield from check_text(text)
    if escape_line(text) != text:
        yield "holds control characters"
    if any(slot not in text for slot in SLOTS):
        return
    first, second = sorted(SLOTS, key=text.index)
    if (first == "[Y]") != transformation.startswith("inv"):
        yield f"names {first} first"
    condition, _, claim = text.partition(",")
    is_conditional = (
        condition.split(" ", 1)[0].lower() in CONDITIONS and first in condition and second in claim
    )
    if transformation in INSTANTIATED and not is_conditional:
        yield f"is not of the form: if a patient … {first}, then … {second}"


def add_draft(path: Path, relation: str, cells: Mapping[str, DraftedCell]) -> None:
    """Add the relation's table to a TOML pool, which is made if it does not exist.

    Raises:
        InputError: the relation's name is none, the file is no TOML, or it has the relation already.
    """
    if relation == "extends" or re.fullmatch(NAME, relation) is None:
        raise InputError(f"relation {relation!r} cannot name a table: use letters, digits, _ and -")
    if path.suffix != ".toml":
        raise InputError(f"{path}: prototypes are written as TOML: choose a name that ends in .toml")
    if path.exists() and relation in parse_toml(path):
        raise InputError(f"{path} has the relation {relation!r} already: nothing was written")
    before = path.read_text(encoding="utf-8-sig").rstrip("\n") + "\n\n" if path.exists() else ""
    lines = [f"[{relation}]", f'status = "{DRAFT}"', 'instance = ["P", "Q"]', *_list_lines(cells)]
    write_bytes(path, (before + COMMENT + "\n".join(lines) + "\n").encode())


def _list_lines(cells: Mapping[str, DraftedCell]) -> Iterator[str]:
    for name, cell in cells.items():
        if cell.text is not None and (name in AFFIRMATIVE or not cell.marks):
            yield f"{name} = [{render_toml(cell.text)}]"
        else:
            draft = "" if cell.text is None else f": {render_toml(cell.text)}"
            yield f"# {name} is missing ({'; '.join(cell.marks)}){draft}"
