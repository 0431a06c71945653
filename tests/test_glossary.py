"""The worked example of the glossary is what the code makes of its fact and of the false twin."""

import polars as pl

from prototypes.pool import load_pool
from tasks.edition.statements import fill_prototypes
from tasks.edition.variants import derive_variants
from tests.test_architecture import REPOSITORY

PAGE = REPOSITORY / "docs" / "glossary.md"
FACT = ("metformin", "type 2 diabetes")
TWIN = ("metformin", "gout")
HEAD = "| transformation | predicate | statement about the fact | label | label for the twin |"


def build_rows() -> list[tuple[str, ...]]:
    """Return the rows of the table, made from both triplets; the statements must differ only in the tail."""
    prototypes = load_pool("revised").relations["may_treat"]
    triplets = pl.DataFrame(
        {
            "triplet_id": ["fact", "twin"],
            "pair_id": "pair",
            "relation": "may_treat",
            "head": [FACT[0], TWIN[0]],
            "tail": [FACT[1], TWIN[1]],
            "is_positive": [True, False],
            "split": "test",
        }
    )
    variants = derive_variants(triplets, prototypes.instance)
    statements = fill_prototypes(variants, triplets, prototypes).select("variant_id", "statement")
    frame = variants.join(statements, on="variant_id", maintain_order="left")
    fact, twin = (frame.filter(pl.col("triplet_id") == name) for name in ("fact", "twin"))
    assert [text.replace(FACT[1], TWIN[1]) for text in fact["statement"]] == twin["statement"].to_list()
    return [
        (f"`{name}`", f"`{predicate}`", statement, str(label).lower(), str(other).lower())
        for name, predicate, statement, label, other in zip(
            *fact.select("transformation", "predicate", "statement", "label"), twin["label"], strict=True
        )
    ]


def test_the_eight_forms_are_those_of_the_code() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index(HEAD) + 2
    shown = [tuple(line.strip("| ").split(" | ")) for line in lines[start : start + 8]]
    assert shown == build_rows()
    assert [row[3] for row in shown].count("false") == 4
    assert lines[start + 8] == ""
