"""Meanings: predicates of general English, and relations of the pool, as cells of equivalent sentences.

The relations LEFT_OUT are kept for measuring: the training sees none of their sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from prototypes.pool import Pool
from prototypes.templates import RelationPrototypes
from training.predicates import CONTRADICTORY, WEAKER, SlotPredicate

LEFT_OUT = (
    "associated_morphology_of",
    "disease_has_associated_anatomic_site",
    "disease_has_normal_tissue_origin",
    "disease_may_have_associated_disease",
    "disease_may_have_finding",
    "disease_may_have_molecular_abnormality",
    "gene_product_has_associated_anatomy",
    "gene_product_plays_role_in_biological_process",
    "has_physiologic_effect",
    "may_prevent",
    "may_treat",
    "occurs_after",
    "symptoms",
)
# A sentence and its inverse mean the same, so their wordings are one cell here.
POOL_CELLS = {
    "is": ("none", "inv"),
    "is not": ("dn", "inv_dn"),
    "case": ("ins",),
    "case not": ("ins_dn",),
    "inverse case": ("inv_ins",),
    "inverse case not": ("inv_ins_dn",),
}
POOL_CONTRADICTORY = {"is": "is not", "case": "case not", "inverse case": "inverse case not"}
POOL_CONTRADICTORY |= {negated: affirmed for affirmed, negated in POOL_CONTRADICTORY.items()}
SYMMETRIC = ("disease_may_have_associated_disease",)


@dataclass(frozen=True)
class SentenceFacts:
    """What a sentence says, as far as it is known; the model learns to see it in each sentence on its own."""

    meaning: str | None = None
    is_negated: bool | None = None
    is_possible: bool | None = None
    """Whether it says what may be; null in relations of the pool, each of which says one or the other."""
    is_case: bool | None = None
    """Whether it says so of a patient."""
    is_swapped: bool | None = None
    is_changed: bool = False
    """Whether the sentence was changed so that it says something else, or nothing."""


CHANGED = SentenceFacts(is_changed=True)


@dataclass(frozen=True)
class SlotSentence:
    """A template, or a filled text, with its facts."""

    text: str
    facts: SentenceFacts

    def word(self, text: str) -> "SlotSentence":
        """Return the same facts in another text."""
        return SlotSentence(text, self.facts)


@dataclass(frozen=True)
class Meaning:
    """A relation as cells of templates; all templates of a cell mean the same."""

    name: str
    cells: tuple[str, ...]
    draw: Callable[[str, Random], str]
    contradictory: Mapping[str, str]
    weaker: Mapping[str, str]
    is_symmetric: bool

    def draw_sentence(self, cell: str, random: Random) -> SlotSentence:
        """Return a template of this cell."""
        is_possible = None if not self.weaker else "may" in cell or "cannot" in cell
        is_negated = "not" in cell
        facts = SentenceFacts(self.name, is_negated, is_possible, "case" in cell, is_swapped=False)
        return SlotSentence(self.draw(cell, random), facts)


def list_meanings(predicates: Sequence[SlotPredicate], pool: Pool, relations: Sequence[str]) -> list[Meaning]:
    """Return the predicates and these relations of the pool."""
    own = [
        Meaning(p.name, tuple(p.frames), p.draw, CONTRADICTORY, WEAKER, p.is_symmetric) for p in predicates
    ]
    return own + [_read_relation(pool.relations[name]) for name in relations]


def _read_relation(relation: RelationPrototypes) -> Meaning:
    def draw(cell: str, random: Random) -> str:
        return random.choice(relation.cells[random.choice(POOL_CELLS[cell])].texts)

    is_symmetric = relation.relation in SYMMETRIC
    return Meaning(relation.relation, tuple(POOL_CELLS), draw, POOL_CONTRADICTORY, {}, is_symmetric)
