"""The templates of a relation: eight cells, each with a prototype and its further wordings."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from pretexeval.gate.lexicon import stem_word
from pretexeval.gate.relations import find_noun_kinds
from prototypes.capitals import write_within_sentence
from schemas.transformations import NAMES, POSITIVE_OF

_SLOT = re.compile(r"(\[[XY]\])")
POSSIBILITY = re.compile(r"\b(?:may|might|can|could|possibl[ey])\b", re.IGNORECASE)


def fill_slots(template: str, head: str, tail: str) -> str:
    """Return the template with the names in its slots, in one pass, because names may contain `[X]`."""
    names = {"[X]": write_within_sentence(head), "[Y]": write_within_sentence(tail)}
    return "".join(names.get(part, part) for part in _SLOT.split(template))


@dataclass(frozen=True)
class Cell:
    """The templates of one relation and one transformation."""

    prototype: str
    wordings: tuple[str, ...] = ()
    """Further texts with the same meaning. Those of bundled pools were reviewed by hand."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the prototype, then the wordings."""
        return (self.prototype, *self.wordings)


@dataclass(frozen=True)
class RelationPrototypes:
    """All templates of one relation, with one cell for each of the eight transformations."""

    relation: str
    instance: tuple[str, str]
    """Names of the predicates P(X, x) and Q(x, Y) of the instantiated form."""
    cells: dict[str, Cell]
    """Transformation -> cell, in the order of the transformations."""
    default_prompt: str | None = None
    """The base's own template, if the pool has it. Only the method origin uses it."""

    @property
    def is_possibility(self) -> bool:
        """Return whether the relation says what may be the case, by the prototypes of `none` and `ins`."""
        return any(POSSIBILITY.search(self.cells[name].prototype) for name in ("none", "ins"))

    @property
    def origin(self) -> str:
        """Return the base's own template, or what MedLAMA's are: the relation's name between the two names.

        Source: `default_prompt` in data/medlama/prompts.csv of cambridgeltl/medlama (Meng et al., ACL 2022),
        for example `[X] disease has abnormal cell [Y] .` The white space of the source is not kept.
        """
        return self.default_prompt or f"[X] {self.relation.replace('_', ' ')} [Y]."


def build_prototypes(
    relation: str,
    instance: tuple[str, str],
    cells: Mapping[str, Sequence[str]],
    default_prompt: str | None = None,
) -> RelationPrototypes:
    """Build the prototypes of a relation from its eight cells, each with the prototype first."""
    ordered = {name: Cell(cells[name][0], tuple(cells[name][1:])) for name in NAMES}
    return RelationPrototypes(relation, instance, ordered, default_prompt)


SLOTS = ("[X]", "[Y]")
MIN_WORDINGS = 4
MAX_SHARED_WORDS = 0.70
# A dn form must keep at least this share of its partner's words, so that it denies the same claim.
MIN_KEPT_BY_NEGATION = 0.5
NEGATIONS = re.compile(
    r"\b(?:not|no|never|cannot|neither|nor|none|nothing|nobody|without|lacks?|lacking|absent|unable"
    r"|incapable|fails?|excluded?|excludes|untrue|false|incorrect|wrong|impossible|unrelated|outside"
    r"|rather than|free of|free from|ruled out|rules out)\b|n't\b"
)
_PLACEHOLDER = re.compile(r"\[[^\[\]]*\]|\{+[^}]*\}+|<\w+>|%s|__+|\$\w+")
# Relations that may be true in both directions.
_MUTUAL = re.compile(
    r"\b(?:with|adjacent|similar|same|equal|equivalent|synonym|opposite|near|next|relate[ds]?|linked|between"
    r"|borders?|resembles?|differs?)\b"
)
# A stop after three letters or a slot, then a capital or a slot. "E. coli" and "St. [X]" do not match.
_SENTENCE_BREAK = re.compile(r"(?:[a-z]{3}|[\])])[.!?] +[A-Z\[]")


def read_words(text: str) -> list[str]:
    """Return the words of a template in lower case, without its slots."""
    for slot in SLOTS:
        text = text.replace(slot, " ")
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


def count_negations(text: str) -> int:
    """Return the number of negations in a template. A statement and its denial differ by an odd number."""
    return len(NEGATIONS.findall(text.lower()))


def measure_shared_words(left: str, right: str) -> float:
    """Return the share of the shorter template's words, counted with repeats, that the other one also has."""
    a, b = Counter(read_words(left)), Counter(read_words(right))
    shorter = min(a.total(), b.total())
    return (a & b).total() / shorter if shorter else 1.0


def check_slots(text: str) -> Iterator[str]:
    """Yield a problem for each other placeholder, and for each slot that is not there exactly once."""
    yield from check_placeholders(text)
    for slot in SLOTS:
        if (count := text.count(slot)) != 1:
            yield f"holds {slot} {count} times instead of once: {text!r}"


def check_placeholders(text: str) -> Iterator[str]:
    """Yield a problem for each placeholder that is no slot, and so would stay in the sentences."""
    for found in _PLACEHOLDER.findall(text):
        if found not in SLOTS:
            yield f"holds {found}: write [X] for the head and [Y] for the tail: {text!r}"


def check_text(text: str) -> Iterator[str]:
    """Yield the problems of a single template."""
    yield from check_slots(text)
    if not text.endswith(".") or text.endswith(".."):
        yield f"does not end in one full stop: {text!r}"
    if text != " ".join(text.split()) or re.search(r" [.,;]", text):
        yield f"has stray white space: {text!r}"
    if _SENTENCE_BREAK.search(text):
        yield f"is more than one sentence: {text!r}"


def check_alike(cell: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each two wordings that are too similar for the rephraser `reviewed`.

    Args:
        cell: the prototype and its further wordings.
    """
    for (i, left), (j, right) in combinations(enumerate(cell), 2):
        if (shared := measure_shared_words(left, right)) > MAX_SHARED_WORDS:
            yield (
                f"entries {i} and {j} share {shared:.0%} of their words (at most "
                f"{MAX_SHARED_WORDS:.0%}): {left!r} | {right!r}"
            )


def check_negation(positive: str, negated: str) -> Iterator[str]:
    """Yield a problem unless ``negated`` denies ``positive`` and nothing else."""
    if (count_negations(positive) - count_negations(negated)) % 2 == 0:
        yield f"does not deny its positive form: {negated!r} against {positive!r}"
    elif (shared := measure_shared_words(*map(_stem_words, (positive, negated)))) < MIN_KEPT_BY_NEGATION:
        yield (
            f"shares only {shared:.0%} of the words of the form it denies (at least "
            f"{MIN_KEPT_BY_NEGATION:.0%}): {negated!r} against {positive!r}"
        )


def _stem_words(text: str) -> str:
    """Return the words as stems, because a denial changes the verb: "causes" becomes "does not cause"."""
    return " ".join("have" if word == "has" else stem_word(word) for word in read_words(text))


def check_slot_order(cells: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a problem for each cell in which `[X]` and `[Y]` seem to be exchanged.

    The prototype of `inv` names the other slot first than that of `none`, the texts of `ins` name `[X]`, and
    those of `inv_ins` `[Y]`. Entry i of a dn cell follows entry i of its positive cell. No text gives a slot
    the noun that the other one has in `none`, and `inv` does not say of `[Y]` what `none` says of `[X]`.

    Args:
        cells: transformation -> the prototype and its further wordings, of all eight transformations.
    """
    first = {name: [min(SLOTS, key=text.index) for text in texts] for name, texts in cells.items()}
    wanted = {
        "inv": [slot for slot in SLOTS if slot != first["none"][0]],
        "ins": ["[X]"] * len(cells["ins"]),
        "inv_ins": ["[Y]"] * len(cells["inv_ins"]),
        **{name: first[partner] for name, partner in POSITIVE_OF.items()},
    }
    for name, slots in wanted.items():
        for i, (text, found, slot) in enumerate(zip(cells[name], first[name], slots, strict=False)):
            if found != slot:
                partner = POSITIVE_OF.get(name, "none")
                yield f"{name} entry {i} names {found} first; to fit {partner} it must name {slot}: {text!r}"
                break
    plain = cells["none"][0]
    head, tail = _find_nouns(plain)
    if head and tail and head != tail:
        for name, i, text in (
            (name, i, text) for name, texts in cells.items() for i, text in enumerate(texts)
        ):
            called = _find_nouns(text)
            if called[0] == tail or called[1] == head:
                yield f"{name} entry {i} exchanges the {head} [X] and the {tail} [Y] of none: {text!r}"
    elif cells["inv"][0] == fill_slots(plain, "[Y]", "[X]") and not _MUTUAL.search(plain):
        problem = "exchanges [X] and [Y] of none: turn the verb as well ('treats', 'is treated by')"
        yield f"inv entry 0 {problem}: {cells['inv'][0]!r}"


def _find_nouns(text: str) -> list[str]:
    """Return the noun of a known kind before each slot, such as "drug", or an empty text."""
    words = [[*text.partition(slot)[0].lower().split(), ""][-2:][0] for slot in SLOTS]
    return [word if find_noun_kinds(word) else "" for word in words]


def check_cells(cells: dict[str, list[str]]) -> Iterator[str]:
    """Yield the problems of a relation's cells: of each text, of their order, and of each dn form's denial.

    Args:
        cells: transformation -> the prototype and its further wordings. Cells may be missing.
    """
    problems = [
        f"{name} entry {i} {problem}"
        for name, texts in cells.items()
        for i, text in enumerate(texts)
        for problem in check_text(text)
    ]
    yield from problems
    if not problems and cells.keys() == set(NAMES):
        yield from check_slot_order(cells)
        if (text := cells["none"][0]).index("[Y]") < text.index("[X]"):
            remedy = (
                "exchange [X] and [Y], or, if it is true, the texts of none and inv, and of dn and inv_dn"
            )
            yield f"none entry 0 names [Y] first instead of [X]: {remedy}: {text!r}"
    for name, partner in POSITIVE_OF.items():
        if name in cells and partner in cells:
            yield from _check_denials(name, cells[name], partner, cells[partner])


def _check_denials(name: str, negated: list[str], partner: str, positive: list[str]) -> Iterator[str]:
    if len(negated) != len(positive):
        yield (
            f"{name} has {len(negated)} entries and {partner} {len(positive)}: "
            f"entry i of {name} denies entry i of {partner}"
        )
    for i, (affirmed, denied) in enumerate(zip(positive, negated, strict=False)):
        yield from (f"{name} entry {i} {problem}" for problem in check_negation(affirmed, denied))
