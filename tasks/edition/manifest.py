"""The manifest, the record that completes an edition."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from knowledge.left_out import LeftOut, cap_left_out
from knowledge.question_bank import QuestionBank
from schemas.stages import TRIPLETS
from storage.files import FileRef, count_rows, read_stage_files
from storage.layout import manifest_file
from storage.records import list_files, set_aside, write_record
from tasks.drawing.pieces import Piece
from tasks.drawing.planned_heads import count_tested
from tasks.edition.balance_report import report_balance
from tasks.edition.edition import Edition
from tasks.edition.piece_balance import describe_balance
from tasks.edition.recipes import select_facts
from tasks.edition.triplet_pieces import list_missing_heads
from tasks.edition.triplets import list_left_out_heads
from tasks.questions.medqa_points import list_unturned
from tasks.questions.missing import describe_missing

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
    write_record(path, manifest)
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

    def read(piece: Piece) -> pl.DataFrame:
        return read_stage_files(edition.root, [refs[edition.path_of(TRIPLETS.name, piece.name)]], TRIPLETS)

    balance: dict[str, Any] = {}
    missing: dict[str, list[dict[str, Any]]] = {}
    # Anchors are too few to be balanced.
    is_described = edition.has_triplets and not edition.has_anchors
    for relation, pieces in edition.pieces_of.items() if is_described else ():
        if edition.config.edition.format != 1:
            balance[relation] = describe_balance(map(read, pieces))
        elif edition.sampling.negatives == "balanced":
            facts = (
                edition.base.select_relation(relation),
                read(pieces[0]),
                edition.base.select_false(relation),
            )
            balance[relation] = report_balance(relation, *facts).describe()
        for piece in pieces if edition.has_questions else ():
            facts_of_piece = select_facts(edition, piece, read(piece))
            missing.setdefault(relation, []).extend(describe_missing(facts_of_piece, edition.sampling))
    described = {"balance": balance, "missing_questions": missing}
    return {name: found for name, found in described.items() if found}


def list_left_out(edition: Edition, read_triplets: Callable[[str], pl.DataFrame] | None) -> list[LeftOut]:
    """Return what the source has and the edition lacks.

    These are rows of the base and heads without a negative, or questions that cannot be turned.

    Args:
        read_triplets: returns the triplets of a piece by its name, if the edition has any.
    """
    left_out = list(edition.base.left_out)
    if isinstance(edition.base, QuestionBank):
        return left_out + list_unturned(edition.base.items)
    if edition.has_anchors:
        return left_out
    assert read_triplets is not None
    for relation, pieces in edition.pieces_of.items():
        list_missing = _list_missing_heads if edition.config.edition.format == 1 else _list_missing_of_pieces
        missing = list_missing(edition, pieces, read_triplets)
        left_out += [LeftOut(relation, head, NO_NEGATIVE) for head in missing]
    return left_out


def _list_missing_heads(
    edition: Edition, pieces: Sequence[Piece], read_triplets: Callable[[str], pl.DataFrame]
) -> Sequence[str]:
    """Return the heads of a relation without a negative, in editions of format 1."""
    relation = pieces[0].relation
    heads = read_triplets(relation)["head"].unique()
    n_heads = edition.n_heads[relation]
    if len(heads) >= min(n_heads, edition.sampling.heads_per_relation or n_heads):
        return ()
    rows, also_false = edition.base.select_relation(relation), edition.base.select_false(relation)
    return list_left_out_heads(relation, rows, edition.sampling, also_false, heads.to_list())


def _list_missing_of_pieces(
    edition: Edition, pieces: Sequence[Piece], read_triplets: Callable[[str], pl.DataFrame]
) -> list[str]:
    """Return the heads of a relation without a negative. They are named only in pieces that lack some."""
    relation = pieces[0].relation
    sampling = edition.sample_relation(relation)
    n_held_out = read_triplets(pieces[0].name).filter(split="demonstration")["head"].n_unique()
    n_tested = count_tested(edition.n_heads[relation] - n_held_out, sampling)
    missing: list[str] = []
    for piece in pieces:
        triplets = read_triplets(piece.name)
        if triplets.filter(split="test")["head"].n_unique() < piece.count_heads(n_tested):
            missing += list_missing_heads(piece, edition.find_facts(relation), sampling, triplets)
    return missing
