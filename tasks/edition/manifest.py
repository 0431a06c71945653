"""The manifest, the record that completes an edition, and the profile of a base, which `validate` shows too.

The profile says what the base has, what of it an edition tests, and what is lost for which reason.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase, LeftOut, cap_left_out
from pretexeval.knowledge.doubtful_names import list_name_troubles
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.knowledge.untested import list_lost_heads
from pretexeval.storage.files import FileRef, count_rows, read_stage_files
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import find_manifest, list_files, set_aside, write_record
from schemas.stages import N_DEMONSTRATIONS, TRIPLETS
from tasks.drawing.pieces import Piece, count_tested
from tasks.edition.edition import Edition
from tasks.edition.risks import Balance, describe_relation, measure_wrong_twins
from tasks.edition.triplets import list_missing_heads
from tasks.edition.wrong_texts import describe_wrong_texts
from tasks.questions.medqa_points import list_unturned
from tasks.questions.points import collect_points, describe_missing


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
    earlier = find_manifest(edition.root, edition.edition_id)
    if earlier is not None:
        if set(edition.read_files().values()) <= set(files):
            return edition.edition_id
        set_aside(path, "it does not list the files of the edition as they are", "it is written again")
    n_triplets = sum(ref.n_rows for ref in files if f"/{TRIPLETS.name}/" in ref.path)
    manifest = {
        "edition_id": edition.edition_id,
        "kb": edition.base.name,
        "label": table.name,
        "seed": table.seed,
        "negatives": table.negatives,
        "pool": edition.pool.name,
        "rephraser": edition.rephraser_name,
        "methods": list(table.methods),
        "n_pairs": n_triplets // 2,
        "configuration": edition.configuration,
        **_describe_left_out(edition, left_out),
        **_describe_relations(edition, files),
        **describe_wrong_texts(edition, files, earlier or {}),
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
    """Return relation -> the risks of its negatives, and relation -> the questions that it lacks."""
    refs = {ref.path: ref for ref in files}

    def read(piece: Piece) -> pl.DataFrame:
        return read_stage_files(edition.root, [refs[edition.path_of(TRIPLETS.name, piece.name)]], TRIPLETS)

    balance: Balance = {}
    missing: dict[str, list[dict[str, Any]]] = {}
    for relation, pieces in edition.pieces_of.items() if edition.has_balance else ():
        described = describe_relation(edition, relation, map(read, pieces))
        balance[relation] = described | measure_wrong_twins(edition, relation)
        facts, sampling = edition.find_facts(relation), edition.sample_relation(relation)
        for piece in pieces if edition.has_questions else ():
            points = collect_points(facts, piece, read(piece), sampling)
            missing.setdefault(relation, []).extend(describe_missing(points))
    edition.forget_facts()
    profile = describe_profile(edition, balance)
    parts: dict[str, dict[str, Any]] = {"balance": balance, "missing_questions": missing, "profile": profile}
    return {name: part for name, part in parts.items() if part}


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


NO_NEGATIVE = "no negative was found that is surely false and leaves the tails balanced"


def describe_profile(edition: Edition, balance: Balance) -> dict[str, Any]:
    """Return the profile as JSON.

    relations: for each relation, n_base_heads, n_base_facts, n_tested_heads, n_testable_facts, which are the
    facts of the tested heads that may be asked, and lost_heads: reason and n_heads. The heads of the base are
    those that are tested, and those that are lost. doubtful_names: kind, n and examples of names that look
    wrong. left_out: reason, n and an example of parts of the source.
    """
    relations = edition.base.relations if edition.has_triplets else ()
    return {
        "relations": {name: _profile_relation(edition, name, balance.get(name, {})) for name in relations},
        "doubtful_names": [
            vars(trouble) for trouble in list_name_troubles(edition.base.triplets, edition.base.aliases)
        ],
        "left_out": list(count_reasons(edition.base)),
    }


def _profile_relation(edition: Edition, relation: str, counts: dict[str, Any]) -> dict[str, Any]:
    rows = edition.base.select_relation(relation)
    facts = rows.select("head", "tail").unique()
    n_heads, n_usable = facts["head"].n_unique(), edition.n_heads[relation]
    lost = {reason: len(heads) for reason, heads in list_lost_heads(edition.base).get(relation, {}).items()}
    n_others = n_usable - N_DEMONSTRATIONS
    lost |= {
        "none of its facts may be tested": n_heads - n_usable - sum(lost.values()),
        "it demonstrates the task": N_DEMONSTRATIONS,
        "heads_per_relation allows no more heads": n_others - count_tested(n_others, edition.sampling),
        NO_NEGATIVE: counts.get("n_left_out", 0),
    }
    return {
        "n_base_heads": n_heads,
        "n_base_facts": facts.height,
        "n_tested_heads": counts.get("n_pairs"),
        "n_testable_facts": counts.get("n_testable_facts"),
        "lost_heads": [{"reason": reason, "n_heads": n} for reason, n in lost.items() if n],
    }


def count_reasons(base: KnowledgeBase) -> list[dict[str, Any]]:
    """Return reason, n and example of each kind of reason for which parts were left out, most frequent first.

    The reason is that for the first of them; others may name other numbers.
    """
    counts = Counter(item.kind for item in base.left_out) + Counter(base.not_listed)
    first = {item.kind: item for item in reversed(base.left_out)}
    return [
        {"reason": item.reason, "n": n, "example": f"{item.where}: {item.what}"}
        for kind, n in counts.most_common()
        for item in [first[kind]]
    ]
