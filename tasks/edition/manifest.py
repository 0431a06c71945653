"""The manifest, the record that completes an edition."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from knowledge.left_out import LeftOut, cap_left_out
from knowledge.question_bank import QuestionBank
from schemas.stages import TRIPLETS
from storage.files import FileRef, count_rows, read_stage_files, write_json
from storage.layout import manifest_file
from storage.records import list_files, set_aside
from tasks.edition.balance_report import report_balance
from tasks.edition.edition import Edition
from tasks.edition.triplets import list_left_out_heads
from tasks.questions.medqa_points import list_unturned
from tasks.questions.missing import describe_missing
from tasks.questions.questions import Facts

NO_NEGATIVE = "no negative could be drawn for it"


def complete_edition(edition: Edition, files: Sequence[FileRef], left_out: list[LeftOut]) -> str:
    """Write the manifest, after which the edition never changes, and return the edition's name.

    A manifest that exists already is kept, unless it does not list the files as they are.
    """
    table = edition.config.edition
    path = edition.root / manifest_file(edition.edition_id)
    files = [count_rows(edition.root, ref) for ref in files]
    if edition.is_complete():
        if set(edition.read_files().values()) <= set(files):
            return edition.edition_id
        set_aside(path, "it does not list the files of the edition as they are", "it is written again")
    n_triplets = sum(ref.n_rows for ref in files if f"/{TRIPLETS.name}/" in ref.path)
    manifest = {
        "edition_id": edition.edition_id,
        "kb": edition.base.name,
        "label": edition.label,
        "seed": table.seed,
        "negatives": table.negatives,
        "pool": edition.pool.name,
        "rephraser": edition.rephraser_name,
        "methods": list(table.methods),
        "n_pairs": n_triplets // 2,
        "configuration": edition.configuration,
        **_describe_left_out(edition, left_out),
        **_describe_relations(edition, files),
        "files": list_files(files, edition.folder),
    }
    write_json(path, manifest)
    return edition.edition_id


def _describe_left_out(edition: Edition, left_out: Sequence[LeftOut]) -> dict[str, Any]:
    """Return the list of what was left out, and reason -> how many further parts the list lacks."""
    listed, not_listed = cap_left_out(left_out)
    counts = dict(Counter(edition.base.not_listed) + Counter(not_listed))
    described: dict[str, Any] = {"left_out": [vars(item) for item in listed]}
    return described | ({"not_listed": counts} if counts else {})


def _describe_relations(edition: Edition, files: Sequence[FileRef]) -> dict[str, dict[str, Any]]:
    """Return relation -> what its balanced negatives cost, and relation -> the questions that it lacks."""
    refs = {ref.path: ref for ref in files}
    balance, missing = {}, {}
    # Anchors are too few to be balanced.
    is_described = edition.has_triplets and not edition.has_anchors
    for relation in edition.base.relations if is_described else ():
        ref = refs[edition.path_of(TRIPLETS.name, relation)]
        triplets = read_stage_files(edition.root, [ref], TRIPLETS)
        rows = edition.base.select_relation(relation)
        also_false = edition.base.select_false(relation)
        if edition.sampling.negatives == "balanced":
            balance[relation] = report_balance(relation, rows, triplets, also_false).describe()
        if edition.has_questions:
            facts = Facts(relation, rows, also_false, triplets)
            missing[relation] = describe_missing(facts, edition.sampling)
    described: dict[str, dict[str, Any]] = {"balance": balance, "missing_questions": missing}
    return {name: found for name, found in described.items() if found}


def list_left_out(edition: Edition, triplets: pl.DataFrame | None) -> list[LeftOut]:
    """Return what the source has and the edition lacks.

    These are rows of the base and heads without a negative, or questions that cannot be turned.

    Args:
        triplets: the triplets of the edition, if it has any.
    """
    left_out = list(edition.base.left_out)
    if isinstance(edition.base, QuestionBank):
        return left_out + list_unturned(edition.base.items)
    if edition.has_anchors:
        return left_out
    assert triplets is not None
    kept = dict(triplets.group_by("relation").agg(pl.col("head").unique()).iter_rows())
    for relation in edition.base.relations:
        rows = edition.base.select_relation(relation)
        n_heads = rows.filter(~pl.col("also_true"))["head"].n_unique()
        heads = kept.get(relation, [])
        if len(heads) < min(n_heads, edition.sampling.heads_per_relation or n_heads):
            also_false = edition.base.select_false(relation)
            missing = list_left_out_heads(relation, rows, edition.sampling, also_false, heads)
            left_out += [LeftOut(relation, head, NO_NEGATIVE) for head in missing]
    return left_out
