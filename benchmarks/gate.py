"""Measure the gate on the bundled pool: ``python -m benchmarks.gate [FILE]``.

Every prototype is put against texts that say something else: its own words with head and tail exchanged,
every wording of the contradictory, and the prototypes of all other relations with its names. The reviewed
wordings say the same as their prototype. The names are those of facts of the bundled base, or of
`public_facts.tsv` for relations that this base lacks. `labelled_rewordings.tsv` has rewordings of statements
about 14 relations that are not the pool's, by a strong language model, and `weak_writer_rewordings.tsv` of
four relations by a weak one (SmolLM2-135M-Instruct), each read and labelled. FILE is a Parquet file of
rewordings by a language model with the columns statement, text, head and tail; of them only the verdicts are
counted.
"""

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from config.tables import KnowledgeConfig
from gate import check_rewordings, clean_reply
from gate.words import FUNCTION_WORDS, split_words, stem_word
from knowledge.reader import read_knowledge_base
from prototypes.pool import Pool, RelationPrototypes, load_pool
from prototypes.templates import fill_slots
from schemas.transformations import POSITIVE_OF

CONTRADICTORY = POSITIVE_OF | {positive: name for name, positive in POSITIVE_OF.items()}
# Relations whose wordings share this much mean nearly the same; they are not put against each other.
MIN_SHARED_WORDS = 0.2
# With head and tail exchanged, these say the same.
SYMMETRIC = frozenset({"has_significant_drug_interaction"})
Row = tuple[str, str, str, str, str]


def main() -> None:
    """Print the share of rejected texts of each kind, and the pairs of relations that were left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="rewordings by a language model (Parquet)")
    options = parser.parse_args()
    rows = list_pool_texts()
    start = time.process_time()
    _print_rejected(rows)
    print(f"{len(rows)} texts in {time.process_time() - start:.1f} s")
    _print_rejected(_read_labelled())
    _print_accepted(_read_table("weak_writer_rewordings.tsv"))
    print(
        "left out, because their wordings are alike:",
        "; ".join(
            " and ".join(pair) for pair in sorted(find_alike(load_pool("revised"))) if pair[0] < pair[1]
        ),
    )
    if options.file is not None:
        written = pl.read_parquet(options.file).drop_nulls("text")
        texts = pl.Series("text", [clean_reply(text) for text in written["text"]])
        _print_rejected(written.with_columns(texts, kind=pl.lit(options.file.name)))


def list_pool_texts() -> pl.DataFrame:
    """Return the texts that are put against the prototypes of the bundled pool, with the names of real facts.

    Returns:
        Columns kind (exchanged, negated, another relation, reviewed), statement, text, head and tail.
    """
    pool = load_pool("revised")
    texts = list(_list_texts(pool, _read_facts(), find_alike(pool)))
    return pl.DataFrame(texts, schema=["kind", "statement", "text", "head", "tail"], orient="row")


def _read_table(name: str) -> pl.DataFrame:
    path = Path(__file__).with_name(name)
    return pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False)


def _read_labelled() -> pl.DataFrame:
    rows = _read_table("labelled_rewordings.tsv")
    kind = pl.col("error").str.split(":").list.first().fill_null("sound")
    return rows.with_columns(kind=pl.lit("labelled, ") + kind)


def _read_facts() -> dict[str, list[tuple[str, str]]]:
    """Return relation -> its (head, tail) pairs in the bundled base, or in `public_facts.tsv`."""
    columns = ["relation", "head", "tail"]
    bundled = read_knowledge_base(KnowledgeConfig()).triplets.select(columns)
    facts = pl.concat([bundled, _read_table("public_facts.tsv").select(columns)])
    return {
        str(relation): rows.select("head", "tail").rows()
        for (relation,), rows in facts.partition_by("relation", as_dict=True).items()
    }


def find_alike(pool: Pool) -> set[tuple[str, str]]:
    """Return the pairs of relations, in both orders, whose wordings share MIN_SHARED_WORDS of their weight.

    A word weighs more if fewer relations use it (inverse document frequency).
    """
    stems = {relation: _list_stems(prototypes) for relation, prototypes in pool.relations.items()}
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


def _list_stems(prototypes: RelationPrototypes) -> set[str]:
    texts = (text for cell in prototypes.cells.values() for text in cell.texts)
    return {stem_word(word) for text in texts for word in split_words(text) if word not in FUNCTION_WORDS}


def _list_texts(
    pool: Pool, facts: dict[str, list[tuple[str, str]]], alike: set[tuple[str, str]]
) -> Iterator[Row]:
    """Yield (kind, statement, text, head, tail) for every prototype; names are drawn with a fixed seed."""
    draw = random.Random(0)
    for relation, prototypes in sorted(pool.relations.items()):
        for name, cell in prototypes.cells.items():
            head, tail = draw.choice(facts[relation])
            statement = fill_slots(cell.prototype, head, tail)
            if relation not in SYMMETRIC:
                yield "exchanged", statement, fill_slots(cell.prototype, tail, head), head, tail
            for text in prototypes.cells[CONTRADICTORY[name]].texts:
                yield "negated", statement, fill_slots(text, head, tail), head, tail
            for other in sorted(pool.relations.keys() - {relation}):
                if (relation, other) not in alike:
                    text = pool.relations[other].cells[name].prototype
                    yield "another relation", statement, fill_slots(text, head, tail), head, tail
            for text in cell.wordings:
                yield "reviewed", statement, fill_slots(text, head, tail), head, tail


def _print_rejected(rows: pl.DataFrame) -> None:
    verdicts = pl.Series("reasons", check_rewordings(rows), dtype=pl.List(pl.String))
    for (kind,), part in rows.with_columns(verdicts).group_by("kind", maintain_order=True):
        n_rejected = part.filter(pl.col("reasons").list.len() > 0).height
        reasons = Counter(part["reasons"].explode().drop_nulls())
        counts = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common())
        print(f"{kind}: {n_rejected} of {len(part)} rejected ({n_rejected / len(part):.1%}); {counts}")


def _print_accepted(rows: pl.DataFrame) -> None:
    """Print how many of the texts are accepted and wrong with each limit of changed words.

    Args:
        rows: column sample says with which limit the texts were accepted when they were drawn and read.
    """
    for (sample,), part in rows.group_by("sample", maintain_order=True):
        for limit in (None, 1, 0):
            is_accepted = pl.Series([not reasons for reasons in check_rewordings(part, limit)])
            accepted = part.filter(is_accepted)
            n_wrong = accepted["error"].count()
            share = n_wrong / max(1, len(accepted))
            print(
                f"weak writer, drawn with max_new_words {sample}: {len(accepted)} of {len(part)} accepted "
                f"with {limit}, {n_wrong} wrong ({share:.1%})"
            )


if __name__ == "__main__":
    main()
