"""Variants of triplets; statements, their filled prototypes; and samples, their wordings."""

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from prototypes.pool import load_pool
from prototypes.templates import build_prototypes
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from schemas.transformations import NAMES
from tasks.edition.samples import keep_statements, reword_statements
from tasks.edition.statements import fill_prototypes, write_sentences
from tasks.edition.variants import derive_variants
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, make_prototypes

INSTANCE = ("TakesDrug", "IsTreatedFor")
BASE = make_base(r=make_facts(40, 10))
CONSTANT = ["method", "rephraser", "status", "attempts"]
SENTENCES = [
    ("[X] may treat [Y].", "aspirin", "pain", "Aspirin may treat pain."),
    ("[Y] may be treated by [X].", "aspirin", "acute pain", "Acute pain may be treated by aspirin."),
    ("[X] is made by [Y].", "mRNA", "p53", "mRNA is made by p53."),
    ("[X] is made by [Y].", "p53 protein", "x", "p53 protein is made by x."),
    ("Take a [X] for an [Y].", "aspirin", "fever", "Take an aspirin for a fever."),
    ("A [X] is a [Y].", "MRI", "uterine scan", "An MRI is a uterine scan."),
    ("An [X] is an [Y].", "urinary scan", "unusual event", "A urinary scan is an unusual event."),
    ("Vitamin a [X] [Y].", "one-off", "use", "Vitamin a one-off use."),
    ("[X] treats [Y].", "crohn's drug", "x", "Crohn's drug treats x."),
    ("[X] treats [Y].", "β-blocker", "$1 [X]", "β-blocker treats $1 [X]."),
    ("Take [X] for [Y].", "[Y]", "[X]", "Take [Y] for [X]."),
    ("[Y] and [X] \\1 {} $0.", "[Y]", "a\\b [X]", "a\\b [X] and [Y] \\1 {} $0."),
]


def make_triplet(head: str = "a", tail: str = "b", is_positive: bool = True, number: int = 0) -> pl.DataFrame:
    """Return one row of the stage triplets."""
    values = {
        "triplet_id": f"{number:016x}",
        "pair_id": "b" * 16,
        "relation": "may_treat",
        "head": head,
        "tail": tail,
        "is_positive": is_positive,
        "split": "test",
    }
    return pl.DataFrame([values], schema=TRIPLETS.empty.schema)


def test_eight_variants_with_predicate_and_label_follow_each_triplet() -> None:
    rows = [("[Y]", '\\1 "$1"', True), ("{} é", "[X]", False)]
    triplets = pl.concat(make_triplet(*row, number=i) for i, row in enumerate(rows))
    variants = derive_variants(triplets, INSTANCE, is_possibility=True)
    assert variants.columns == VARIANTS.names
    assert variants["triplet_id"].to_list() == [i for i in triplets["triplet_id"] for _ in NAMES]
    assert variants["variant_id"].n_unique() == variants.height
    order = ["none", "inv", "ins", "inv_ins", "dn", "inv_dn", "ins_dn", "inv_ins_dn"]
    assert variants["transformation"].to_list() == order * len(rows)
    expected: list[tuple[str, bool]] = []
    for head, tail, is_positive in rows:
        predicates = [
            f"may_treat({head}, {tail})",
            f"may_treat⁻¹({tail}, {head})",
            f"TakesDrug({head}, x) ⇒ ◇IsTreatedFor(x, {tail})",
            f"IsTreatedFor(x, {tail}) ⇒ ◇TakesDrug({head}, x)",
        ]
        expected += [(predicate, is_positive) for predicate in predicates]
        expected += [(f"¬({predicate})", not is_positive) for predicate in predicates]
    assert variants.select("predicate", "label").rows() == expected


def test_an_instantiation_claims_certainty_only_where_its_text_does() -> None:
    """Only `ins` of a relation without "may" or "can" follows with certainty."""
    possible = {
        *("disease_may_have_associated_disease", "disease_may_have_finding", "may_prevent", "may_treat"),
        *("disease_may_have_molecular_abnormality", "gene_encodes_gene_product", "may_cause_side_effect"),
    }
    for relation, given_of in load_pool("revised").relations.items():
        variants = derive_variants(make_triplet(), given_of.instance, is_possibility=given_of.is_possibility)
        marked = variants.filter(pl.col("predicate").str.contains("⇒ ◇", literal=True))["transformation"]
        expected = ["inv_ins", "inv_ins_dn"] + (["ins", "ins_dn"] if relation in possible else [])
        assert (relation, sorted(marked)) == (relation, sorted(expected))


def fill(*rows: tuple[str, ...]) -> list[str]:
    """Return the sentences of rows of a template, a head and a tail."""
    frame = pl.DataFrame([row[:3] for row in rows], schema=["template", "head", "tail"], orient="row")
    return write_sentences(frame).to_list()


def test_sentences_begin_with_a_capital_and_have_the_right_articles() -> None:
    assert fill(*SENTENCES) == [text for *_, text in SENTENCES]


ARTICLES = {
    "MRI MI NSAID ECG HIV LAD X-ray mRNA hCG siRNA AIDS ulcer unusual uninfected oncogene onion": "an",
    "hour heir infarct Ebola upper umbilicus 80-year 11-beta S F-wave étude ε-toxin": "an",
    "UTI UV uterus urologic ureter unit unilateral use ubiquitin uveal European Ewing one-off once": "a",
    "SARS NASH HELLP CT PET scan beta tRNA 70-year 110 héros rash 1-alpha γ-globulin": "a",
}


@pytest.mark.parametrize("written", ["a", "an"])
def test_articles_follow_the_sound_of_the_name(written: str) -> None:
    articles = {name: article for names, article in ARTICLES.items() for name in names.split()}
    expected = [f"It is {article} {name} of x." for name, article in articles.items()]
    assert fill(*((f"It is {written} [X] of [Y].", name, "x") for name in articles)) == expected


def test_statements_are_filled_prototypes_and_reviewed_samples_filled_wordings(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE), "r")
    statements, samples, variants = frames["statements"], frames["samples"], frames["variants"]
    assert (statements.columns, samples.columns) == (STATEMENTS.names, SAMPLES.names)
    assert samples.select(CONSTANT).unique().rows() == [("pretexeval", "reviewed", "as_is", 0)]
    shared = ["variant_id", "triplet_id", "pair_id", "relation", "split", "transformation", "label"]
    assert samples.select(shared).equals(statements.select(shared))
    assert statements.select("variant_id", "label").equals(variants.select("variant_id", "label"))
    assert samples["sample_id"].n_unique() == samples.height == 640
    entities = {i: (h, t) for i, h, t in frames["triplets"].select("triplet_id", "head", "tail").iter_rows()}
    columns = [samples[name] for name in ("triplet_id", "transformation", "sample_index", "text")]
    for triplet_id, name, index, text, statement in zip(*columns, statements["statement"], strict=True):
        head, tail = entities[triplet_id]
        first, second = (tail, head) if name.startswith("inv") else (head, tail)
        assert statement == f"r {name} 0: {first} and {second}."
        assert re.fullmatch(rf"r {name} [12]: {first} and {second}\.", text)
        assert index == NAMES.index(name)
    # All wordings are drawn. 640 fair draws: five standard deviations on either side.
    counts = Counter(text.split()[2] for text in samples["text"])
    assert all(abs(n - 320) < 64 for n in counts.values())


def test_ids_change_with_relation_transformation_template_and_method(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE), "r")
    same = {name: ["[X] and [Y]."] for name in NAMES}
    pools = [
        make_prototypes("r"),
        make_prototypes("r", word="or"),
        *(build_prototypes(relation, ("P", "Q"), same) for relation in "rs"),
    ]
    filled = [fill_prototypes(frames["variants"], frames["triplets"], each) for each in pools]
    ids = [set(frame["prototype_id"]) for frame in filled]
    assert [len(found) for found in ids] == [8, 8, 8, 8]
    assert len(set().union(*ids)) == 32
    one, *others = (
        keep_statements(*given) for given in ((filled[0], "pretexeval"), (filled[0], "prototype"))
    )
    for other in (*others, keep_statements(filled[1], "pretexeval")):
        assert not set(one["sample_id"]) & set(other["sample_id"])


def test_only_wordings_of_a_bundled_pool_count_as_reviewed(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE), "r")
    reviewed = reword_statements(frames["statements"], frames["triplets"], make_prototypes("r"), 1)
    assert reviewed["text"].equals(frames["samples"]["text"])
    assert set(reviewed["status"]) == {"accepted"}
    assert set(frames["samples"]["status"]) == {"as_is"}


@pytest.mark.parametrize(
    ("method", "kind", "n_texts"),
    [("pretexeval", "none", 8), ("prototype", "reviewed", 8), ("direct", "reviewed", 1)],
)
def test_unrephrased_sample_is_its_statement(tmp_path: Path, method: str, kind: str, n_texts: int) -> None:
    frames = build_frames(make_edition(tmp_path, BASE, kind=kind, methods=(method,)), "r")
    samples = frames["samples"]
    kept = frames["statements"].filter(pl.col("transformation").is_in(NAMES[:n_texts]))
    assert samples["text"].to_list() == kept["statement"].to_list()
    assert samples.height == 80 * n_texts
    assert samples.select(CONSTANT).unique().rows() == [(method, "none", "as_is", 0)]
    assert set(samples["reasons"].list.len()) == {0}


def test_origin_fills_the_template_of_the_base_in_place_of_the_prototype(tmp_path: Path) -> None:
    base = make_base(may_treat=make_facts(40, 10))
    frames = build_frames(make_edition(tmp_path, base, methods=("origin",)), "may_treat")
    triplets = frames["triplets"].select("triplet_id", "head", "tail", "is_positive")
    rows = frames["samples"].join(triplets, on="triplet_id")
    assert rows.height == triplets.height == 80
    for text, head, tail in rows.select("text", "head", "tail").iter_rows():
        assert text.casefold() == f"{head} may treat {tail}.".casefold()
    assert rows["label"].equals(rows["is_positive"], check_names=False)
    constant = ["method", "transformation", "status"]
    assert rows.select(constant).unique().rows() == [("origin", "none", "as_is")]


def test_missing_wordings_are_an_error(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    cells = edition.pool.relations["r"].cells
    cells["dn"] = type(cells["dn"])(cells["dn"].prototype)
    with pytest.raises(InputError, match=r"relation 'r' has no wordings for dn in pool"):
        build_frames(edition, "r")
