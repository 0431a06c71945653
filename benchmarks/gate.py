"""The gate on texts whose verdict is known: ``python -m benchmarks --only gate``.

Every prototype of the bundled pool is put against texts that say something else: its own words with head
and tail exchanged, every wording of the contradictory, and the prototypes of all other relations with its
names. The reviewed wordings say the same as their prototype. The names are those of facts of the bundled
base, or of `public_facts.tsv` for relations that this base lacks. `labelled_rewordings.tsv` has rewordings
of 14 relations that are not the pool's by a strong language model, and `weak_writer_rewordings.tsv` of four
relations by a weak one (SmolLM2-135M-Instruct), each read and labelled. `pretexeval gate FILE` measures
your own labelled rewordings.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from config.tables import KnowledgeConfig
from gate import check_rewordings
from gate.words import FUNCTION_WORDS, split_words, stem_word
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, load_pool
from prototypes.templates import fill_slots
from schemas.transformations import POSITIVE_OF

CONTRADICTORY = POSITIVE_OF | {positive: name for name, positive in POSITIVE_OF.items()}
# Relations whose wordings share this much mean nearly the same; they are not put against each other.
MIN_SHARED_WORDS = 0.2
# With head and tail exchanged, these say the same.
SYMMETRIC = frozenset({"has_significant_drug_interaction"})
COLUMNS = ("kind", "statement", "text", "head", "tail")


def main(_: Sequence[str]) -> None:
    """Print the share of rejected texts of each kind, and the accepted ones of the weak writer."""
    labelled = _read_table("labelled_rewordings.tsv")
    kind = pl.lit("labelled, ") + pl.col("error").str.split(":").list.first().fill_null("sound")
    for rows in (list_pool_texts(), labelled.with_columns(kind=kind)):
        verdicts = rows.with_columns(is_rejected=pl.Series(map(bool, check_rewordings(rows))))
        for name, n, n_rejected in (
            verdicts.group_by("kind", maintain_order=True)
            .agg(pl.len(), pl.col("is_rejected").sum().alias("n_rejected"))
            .iter_rows()
        ):
            print(f"{name}: {n_rejected} of {n} rejected ({n_rejected / n:.1%})")
    for (sample,), part in _read_table("weak_writer_rewordings.tsv").group_by("sample", maintain_order=True):
        for limit in (None, 1, 0):
            accepted = part.filter(pl.Series([not reasons for reasons in check_rewordings(part, limit)]))
            n_wrong = accepted["error"].count()
            print(
                f"weak writer, drawn with max_new_words {sample}: {len(accepted)} of {len(part)} accepted "
                f"with {limit}, {n_wrong} wrong ({n_wrong / max(1, len(accepted)):.1%})"
            )


def list_pool_texts() -> pl.DataFrame:
    """Return the texts that are put against the prototypes of the bundled pool, with the names of real facts.

    Returns:
        Columns kind (exchanged, negated, another relation, reviewed), statement, text, head and tail.
    """
    return pl.DataFrame(list(_list_texts(load_pool("revised"))), schema=COLUMNS, orient="row")


def _read_table(name: str) -> pl.DataFrame:
    path = Path(__file__).with_name(name)
    return pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False)


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
            if word not in FUNCTION_WORDS
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
    facts = pl.concat([bundled, _read_table("public_facts.tsv").select(columns)])
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
