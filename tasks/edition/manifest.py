"""The manifest, the record that completes an edition."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.base import LeftOut, cap_left_out
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.primitives.process import map_in_threads
from pretexeval.storage.files import FileRef, count_rows, read_stage_files
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import list_files, set_aside, write_record
from schemas.stages import TRIPLETS
from tasks.drawing.heads import count_tested
from tasks.drawing.name_features import NameFeatures
from tasks.drawing.pieces import Piece
from tasks.edition.edition import Edition
from tasks.edition.triplets import list_missing_heads
from tasks.questions.medqa_points import list_unturned
from tasks.questions.points import collect_points, describe_missing

NO_NEGATIVE = "no negative could be drawn for it"
# A guesser that knows the tail and the class of resemblance is right on at most 50 % of the triplets plus
# half of this share. The trained guessers of benchmarks/guessers.py know more: on MedLAMA they are right on
# 55 to 74 % in the relations above the limit, and on at most 54 % in those below it.
MAX_UNMATCHED_SHARE = 0.1
CLASS = ("words", "has_stem", "sixths")
"""Pairs are of one class if they are alike in three counts: shared words (at most MAX_WORDS), whether words
begin with the same STEM_LENGTH letters, and sixths of the tail's n-grams that the head has too."""
MAX_WORDS = 2
STEM_LENGTH = 5
SIXTHS = 6


def complete_edition(edition: Edition, files: Sequence[FileRef], left_out: list[LeftOut]) -> str:
    """Write the manifest, after which the edition never changes, and return the edition's name.

    A manifest that exists already is kept, unless it does not list the files as they are.

    Raises:
        InputError: a sample has a wrong label.
    """
    require_derived_labels(edition.root, files)
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
        if edition.sampling.negatives == "balanced":
            balance[relation] = describe_balance(map(read, pieces))
        for piece in pieces if edition.has_questions else ():
            facts, sampling = edition.find_facts(relation), edition.sample_relation(relation)
            points = collect_points(facts, piece, read(piece), sampling)
            missing.setdefault(relation, []).extend(describe_missing(points))
    edition.forget_facts()
    described = {"balance": balance, "missing_questions": missing}
    return {name: found for name, found in described.items() if found}


def describe_balance(pieces: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the counts of one relation as JSON.

    n_pairs: pairs of a true and a false test triplet. n_true_sharing, n_false_sharing: true and false test
    triplets whose head and tail share a word. n_unmatched: true test triplets without a false one of the same
    tail and the same class of resemblance in their piece. n_asserted: false test triplets that the base
    asserts. is_balanced: whether few triplets are unmatched.

    Args:
        pieces: the triplets of each piece of the relation.
    """
    names = ("n_pairs", "n_true_sharing", "n_false_sharing", "n_unmatched", "n_asserted")
    counts = np.zeros(len(names), np.int64)
    for counted in map_in_threads(_count_classes, pieces):
        counts += counted
    found = dict(zip(names, counts.tolist(), strict=True))
    return found | {"is_balanced": found["n_unmatched"] <= MAX_UNMATCHED_SHARE * found["n_pairs"]}


def _count_classes(triplets: pl.DataFrame) -> NDArray[np.int64]:
    tested = triplets.filter(split="test")
    classes = tested.select("tail", "is_positive", "is_asserted").with_columns(_classify(tested))
    is_sharing = pl.col("words") > 0
    of_class = classes.group_by("tail", *CLASS).agg(n=(pl.col("is_positive").cast(pl.Int64) * 2 - 1).sum())
    return np.array(
        [
            classes["is_positive"].sum(),
            classes.filter(is_sharing & pl.col("is_positive")).height,
            classes.filter(is_sharing & ~pl.col("is_positive")).height,
            of_class.filter(pl.col("n") > 0)["n"].sum(),
            classes["is_asserted"].fill_null(value=False).sum(),
        ]
    )


def _classify(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the coarse class of the resemblance of head and tail, as the columns of CLASS."""
    names = pl.concat([pairs["head"], pairs["tail"]]).unique().sort()
    features = NameFeatures(names)
    heads, tails = (names.search_sorted(pairs[end]).to_numpy() for end in ("head", "tail"))
    words, stems, grams = (
        (parts[heads] * parts[tails]).sum(axis=1)
        for parts in (features.words, features.beginnings, features.grams)
    )
    n_grams = np.maximum(np.diff(features.grams[tails].indptr), 1)
    # A beginning of five letters is the fourth that two words share, as the shortest has two.
    has_stem = stems >= STEM_LENGTH - 1
    values = (np.minimum(words, MAX_WORDS), has_stem, SIXTHS * grams // n_grams)
    return pl.DataFrame(dict(zip(CLASS, values, strict=True)))


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
        missing = _list_missing_heads(edition, pieces, read_triplets)
        left_out += [LeftOut(relation, head, NO_NEGATIVE) for head in missing]
    return left_out


def _list_missing_heads(
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
