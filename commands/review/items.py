"""The items of an edition that reviewers judge: samples to grade, labels, and rewordings.

Every function returns one row per item and question, in the order of the sheet, with ITEM_COLUMNS.
"""

from difflib import SequenceMatcher
from pathlib import Path

import polars as pl

from commands.review.sheet import GRADES
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order, hash_text
from pretexeval.storage import layout
from pretexeval.storage.records import read_manifest, read_stage
from schemas.columns import Stage
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS
from warehouse.query import open_warehouse

LABELS = ("negatives", "positives", "audit")
ITEM_COLUMNS = ("question", "item_id", "triplet_id", "method", "relation", "head", "tail", "text", "note")
MIN_PROBABILITY = 0.05
"""Labels that are less likely wrong are not in the sheet `audit`, unless all models contradict them."""
AUDITED = f"""
select triplet_id, 'wrong with a probability of ' || round(100 * wrong_probability)::integer
    || ' %, contradicted by ' || n_contradicting || ' of ' || n_models || ' models' as audited
from label_audit
where edition_id = ? and (wrong_probability >= {MIN_PROBABILITY} or is_contradicted_by_all)
order by wrong_probability desc, n_contradicting desc, triplet_id
"""


def list_items(root: Path, edition_id: str, kind: str, n_pairs: int | None = None) -> pl.DataFrame:
    """Return the items of a kind of sheet, as `pretexeval review export --what` names it.

    Args:
        n_pairs: how many pairs are drawn for grades in all, or how many of each relation are judged, those
            that a run with `--limit` asks about; None: all.

    Raises:
        InputError: the edition is not complete, or has no items of this kind.
    """
    if kind == "grades":
        items = _list_samples(root, edition_id, n_pairs)
    elif kind == "rewordings":
        items = _list_rewordings(root, edition_id)
    else:
        items = _list_labels(root, edition_id, kind, n_pairs)
    return items.select(ITEM_COLUMNS)


def _list_samples(root: Path, edition_id: str, n_pairs: int | None) -> pl.DataFrame:
    """Return the samples of the true triplet of every drawn pair by each method, once for each of GRADES.

    As in the paper, only true triplets are graded: the grade is about how a text expresses a fact, but for
    a false triplet a doctor would grade that it is false.
    """
    triplets, samples = (read_rows(root, edition_id, stage) for stage in (TRIPLETS, SAMPLES))
    positive = triplets.filter("is_positive", pl.col("split") == "test")
    drawn = draw_order(positive["pair_id"], "review")[:n_pairs]
    marked = pl.format("({}) {}", pl.col("label").cast(pl.String), "text")
    return (
        samples.filter(pl.col("pair_id").is_in(drawn))
        # The ids are hashes, so that the order does not show the transformations.
        .sort("triplet_id", "method", "sample_id")
        .join(positive.select("triplet_id", "head", "tail"), on="triplet_id", maintain_order="left")
        .group_by("triplet_id", "method", "relation", "head", "tail", maintain_order=True)
        .agg(marked.str.join("\n").alias("text"))
        .with_columns(
            pl.struct("triplet_id", "method")
            .map_elements(lambda key: hash_text(*key.values()), pl.String)
            .alias("item_id"),
            pl.lit("").alias("note"),
            pl.lit(list(GRADES)).alias("question"),
        )
        .explode("question")
    )


def _list_labels(root: Path, edition_id: str, kind: str, n_pairs: int | None) -> pl.DataFrame:
    """Return the triplets that an edition tests, the most doubtful or the most likely wrong first.

    Triplets that are equally doubtful are in an order that mixes relations and heads.
    """
    tested = read_rows(root, edition_id, TRIPLETS).filter(split="test")
    asked = [
        pair_id
        for (_,), group in tested.filter("is_positive").group_by("relation")
        for pair_id in draw_order(group["pair_id"], "asked")[:n_pairs]
    ]
    plain = read_rows(root, edition_id, STATEMENTS).filter(transformation="none")
    order = pl.DataFrame({"triplet_id": draw_order(tested["triplet_id"], "verdicts")})
    chosen = (
        order.join(tested.filter(pl.col("pair_id").is_in(asked)), on="triplet_id", maintain_order="left")
        .join(plain.select("triplet_id", "statement"), on="triplet_id", maintain_order="left")
        .sort("doubt", descending=True, nulls_last=True, maintain_order=True)
    )
    if kind == "audit":
        chosen = _read_audit(root, edition_id).join(chosen, on="triplet_id", maintain_order="left")
    else:
        chosen = chosen.filter(is_positive=kind == "positives").with_columns(audited=None)
    doubt = pl.format("doubt {} %: {}", (100 * pl.col("doubt")).round_sig_figs(2), "doubt_reason")
    return chosen.with_columns(
        pl.lit("label").alias("question"),
        pl.lit(None, pl.String).alias("method"),
        pl.col("triplet_id").alias("item_id"),
        pl.format("({}) {}", pl.col("is_positive").cast(pl.String), "statement").alias("text"),
        pl.concat_str("audited", doubt, separator="; ", ignore_nulls=True).alias("note"),
    )


def _read_audit(root: Path, edition_id: str) -> pl.DataFrame:
    """Return triplet_id and audited of the labels that the models contradict, the most likely wrong first."""
    with open_warehouse(root) as connection:
        audited = connection.execute(AUDITED, [edition_id]).fetchall()
    if not audited:
        raise InputError(
            f"the models contradict no label of {edition_id} in {root / layout.WAREHOUSE}: publish the "
            "answers of at least three models, or export the negatives"
        )
    return pl.DataFrame(audited, ["triplet_id", "audited"], orient="row")


def _list_rewordings(root: Path, edition_id: str) -> pl.DataFrame:
    """Return the rewordings that the gate accepted, those first that are least like their statements."""
    if not read_manifest(root, edition_id).get("wrong_texts"):
        raise InputError(f"{edition_id} has no texts of a language model that the gate checked")
    attempts, statements, triplets = (
        read_rows(root, edition_id, stage) for stage in (ATTEMPTS, STATEMENTS, TRIPLETS)
    )
    accepted = (
        attempts.filter("is_accepted")
        .join(statements.select("variant_id", "triplet_id", "statement"), on="variant_id")
        .join(triplets.select("triplet_id", "head", "tail"), on="triplet_id")
    )
    pairs = accepted.select("statement", "text").iter_rows()
    likeness = [SequenceMatcher(None, one.split(), other.split()).ratio() for one, other in pairs]
    return (
        accepted.with_columns(pl.Series("likeness", likeness, pl.Float64).round(2))
        .sort("likeness", "variant_id")
        .with_columns(
            pl.lit("rewording").alias("question"),
            pl.lit(None, pl.String).alias("method"),
            pl.col("variant_id").alias("item_id"),
            pl.format("{}\n{}", "statement", "text").alias("text"),
            pl.format("likeness {}", "likeness").alias("note"),
        )
    )


def read_rows(root: Path, edition_id: str, stage: Stage) -> pl.DataFrame:
    """Return the rows of a stage; raise InputError if the edition is not complete, or is made of a bank."""
    rows = read_stage(root, edition_id, stage)
    if rows is None:
        raise InputError(f"{edition_id} has nothing to review: it holds the questions of a bank")
    return rows
