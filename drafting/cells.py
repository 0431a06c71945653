"""The drafted cells of a relation, and the checks that each of them passes or by which it is marked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from drafting.denials import CONDITIONS
from gate import Rewording, check_rewording, fold_text
from primitives.untrusted_text import escape_line
from prototypes.checks import SLOTS, check_negation, check_text, count_negations
from prototypes.templates import fill_slots
from schemas.transformations import NAMES, POSITIVE_OF

# The gate compares filled sentences. These names mean nothing, so they show no kind of thing.
HEAD, TAIL = "Velorak", "Tunsobar"
# The gate only compares. These reasons against any sentence do not depend on what it is compared with.
PLAIN = "The condition [X] may be related to the condition [Y]."
NO_STATEMENT = frozenset({"not one statement", "contradiction"})
WRITTEN = ("inv", "ins", "inv_ins")
"""The cells that no rule writes."""
INSTANTIATED = ("ins", "inv_ins", "ins_dn", "inv_ins_dn")
GIVEN, RULE, NOBODY = "given", "rule", "nobody"


@dataclass(frozen=True)
class DraftedCell:
    """The draft of one cell."""

    transformation: str
    text: str | None
    """The template; null if nobody wrote one."""
    origin: str
    """Who wrote it: `given`, `rule`, `nobody`, or the id of a language model."""
    marks: tuple[str, ...] = ()
    """What is wrong with it; empty if it passes all checks."""

    @property
    def is_passing(self) -> bool:
        """Whether the cell has a text that passes all checks."""
        return self.text is not None and not self.marks


@dataclass(frozen=True)
class Draft:
    """The drafted prototypes of a relation."""

    relation: str
    cells: Mapping[str, DraftedCell]
    """Transformation -> cell, in the order of the transformations."""

    @property
    def marked(self) -> list[DraftedCell]:
        """The cells that a person must write or correct."""
        return [cell for cell in self.cells.values() if not cell.is_passing]


def order_cells(relation: str, cells: Mapping[str, DraftedCell]) -> Draft:
    """Return the draft with its cells in the order of the transformations."""
    return Draft(relation, {name: cells[name] for name in NAMES})


def fill_names(template: str) -> str:
    """Return the template filled with the names that mean nothing."""
    return fill_slots(template, HEAD, TAIL)


def check_given(sentence: str) -> list[str]:
    """Return the problems of the sentence that everything is drafted from."""
    problems = list(_check_form("none", sentence))
    if count_negations(sentence):
        problems.append("denies something: write what is true of a fact")
    if not problems and not NO_STATEMENT.isdisjoint(_compare(PLAIN, sentence)):
        problems.append("is not one plain statement")
    return problems


def check_written(transformation: str, text: str, taken: Iterable[DraftedCell]) -> list[str]:
    """Return the problems of a positive cell that a language model wrote.

    Args:
        taken: the cells that exist already, among them `none`, with which the gate compares the text.
    """
    cells = {cell.transformation: cell for cell in taken}
    problems = list(_check_form(transformation, text)) + list(_check_copies(text, cells.values()))
    none = cells["none"].text
    assert none is not None
    return problems or [f"gate: {reason}" for reason in _compare(none, text)]


def check_denial(transformation: str, text: str, cells: Mapping[str, DraftedCell]) -> list[str]:
    """Return the problems of a denied cell: as a denial of its partner, and by the gate."""
    affirmed = cells[POSITIVE_OF[transformation]].text
    assert affirmed is not None
    problems = list(_check_form(transformation, text)) + list(_check_copies(text, cells.values()))
    problems += [f"denial: {problem}" for problem in check_negation(affirmed, text)]
    if not problems and (reasons := _compare(affirmed, text)) != ("polarity",):
        problems.append(
            f"gate: not the plain denial of its partner ({', '.join(reasons) or 'same polarity'})"
        )
    if not problems and transformation != "dn" and (first := cells["dn"].text) is not None:
        problems += [f"gate: {reason}" for reason in _compare(first, text)]
    return problems


def _compare(statement: str, text: str) -> tuple[str, ...]:
    return check_rewording(Rewording(fill_names(statement), fill_names(text), HEAD, TAIL))


def _check_form(transformation: str, text: str) -> Iterator[str]:
    yield from check_text(text)
    if escape_line(text) != text:
        yield "holds control characters"
    if "[X]" not in text or "[Y]" not in text:
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


def _check_copies(text: str, cells: Iterable[DraftedCell]) -> Iterator[str]:
    for cell in cells:
        if cell.text is not None and fold_text(cell.text) == fold_text(text):
            yield f"repeats {cell.transformation}"
