"""Texts that say something else than a prototype of the bundled pool, or the same, to put before the gate.

A prototype is put against its own words with head and tail exchanged, every wording of the contradictory,
and the prototypes of all other relations with its names. The reviewed wordings say the same. The names are
those of facts of the bundled base, or of `public_facts.tsv` for relations that this base lacks.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.gate.lexicon import WORDS, split_words, stem_word
from pretexeval.knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from prototypes.templates import fill_slots
from schemas.transformations import POSITIVE_OF

CONTRADICTORY = POSITIVE_OF | {positive: name for name, positive in POSITIVE_OF.items()}
# Relations whose wordings share this much mean nearly the same; they are not put against each other.
MIN_SHARED_WORDS = 0.2
# With head and tail exchanged, these say the same.
SYMMETRIC = frozenset({"has_significant_drug_interaction"})
COLUMNS = ("kind", "statement", "text", "head", "tail")


def list_pool_texts() -> pl.DataFrame:
    """Return the texts that are put against the prototypes of the bundled pool, with the names of real facts.

    Returns:
        Columns kind (exchanged, negated, another relation, reviewed), statement, text, head and tail.
    """
    return pl.DataFrame(list(_list_texts(load_pool("revised"))), schema=COLUMNS, orient="row")


def find_alike(pool: Pool) -> set[tuple[str, str]]:
    """Return the pairs of relations, in both orders, whose wordings share MIN_SHARED_WORDS of their weight.

    A word weighs more if fewer relations use it (inverse document frequency).
    """
    stems = {
        relation: {
            stem_word(word)
            for cell in prototypes.cells.values()
            for text in cell.texts
            for word in split_words(text)
            if word not in WORDS["function_words"]
        }
        for relation, prototypes in pool.relations.items()
    }
    n_relations = Counter(stem for own in stems.values() for stem in own)
    weights = {stem: math.log((len(stems) + 1) / n) for stem, n in n_relations.items()}
    return {
        (one, other)
        for one in stems
        for other in stems
        if one != other
        and sum(weights[stem] for stem in stems[one] & stems[other])
        >= MIN_SHARED_WORDS * sum(weights[stem] for stem in stems[one] | stems[other])
    }


def _list_texts(pool: Pool) -> Iterator[tuple[str, ...]]:
    """Yield (kind, statement, text, head, tail) for every prototype; names are drawn with a fixed seed."""
    draw, alike = random.Random(0), find_alike(pool)
    columns = ["relation", "head", "tail"]
    bundled = read_knowledge_base(KnowledgeConfig()).triplets.select(columns)
    known = pl.read_csv(Path(__file__).with_name("public_facts.tsv"), separator="\t", infer_schema=False)
    facts = pl.concat([bundled, known.select(columns)])
    for relation, prototypes in sorted(pool.relations.items()):
        names = facts.filter(relation=relation).select("head", "tail").rows()
        for name, cell in prototypes.cells.items():
            head, tail = draw.choice(names)
            statement = fill_slots(cell.prototype, head, tail)
            texts = [("negated", text) for text in prototypes.cells[CONTRADICTORY[name]].texts]
            texts += [
                ("another relation", pool.relations[other].cells[name].prototype)
                for other in sorted(pool.relations.keys() - {relation})
                if (relation, other) not in alike
            ]
            texts += [("reviewed", text) for text in cell.wordings]
            if relation not in SYMMETRIC:
                yield "exchanged", statement, fill_slots(cell.prototype, tail, head), head, tail
            for kind, text in texts:
                yield kind, statement, fill_slots(text, head, tail), head, tail
