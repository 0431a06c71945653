"""Stage triplets: a positive and a negative triplet for every (head, relation) (method, 2.1 and 2.2)."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from primitives.errors import InputError
from primitives.hashing import draw_order, hash_text
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS, TRIPLETS
from tasks.drawing.balanced_pairs import draw_balanced
from tasks.drawing.candidates import Candidates, Head
from tasks.drawing.circulation import draw_circulation
from tasks.drawing.heads import ChosenHeads, TripletSampling, choose_heads, collect_allowed, select_first_ids
from tasks.drawing.series import SeriesTurn, draw_due


@dataclass(frozen=True)
class DrawnTriplets:
    """The triplets of one relation, and the heads that were left out."""

    frame: pl.DataFrame
    left_out: tuple[str, ...]


def build_triplets(
    relation: str, rows: pl.DataFrame, sampling: TripletSampling, also_false: pl.DataFrame
) -> pl.DataFrame:
    """Return two rows (positive, negative) per head of the relation. Raises as `sample_triplets` does."""
    return sample_triplets(relation, rows, sampling, also_false).frame


def sample_triplets(
    relation: str,
    triplets: pl.DataFrame,
    sampling: TripletSampling,
    also_false: pl.DataFrame | None = None,
) -> DrawnTriplets:
    """Draw two rows (positive, negative) per head of the relation; columns as in the stage triplets.

    Args:
        triplets: the relation's rows of the knowledge base.
        also_false: the relation's triplets that the base asserts to be false, if there are any.

    Raises:
        InputError: no head is left besides the demonstrations, or no head can be kept.
    """
    candidates = collect_allowed(relation, triplets, sampling.negatives, also_false)
    chosen = choose_heads(candidates, sampling)
    if not chosen.tested:
        raise InputError(
            f"relation {relation!r} has {len(candidates.heads)} heads of which {len(chosen.possible)} have a "
            f"possible negative; {N_DEMONSTRATIONS} are reserved for demonstrations and none is left "
            "to test: add heads"
        )
    demonstrations = {h.name: _draw_pair(h, candidates, DEMONSTRATION_SALT) for h in chosen.demonstrations}
    pairs = _draw_pairs(Candidates(relation, chosen.tested, candidates.pool), sampling, chosen.turn)
    if not pairs:
        raise InputError(
            f"relation {relation!r} has {len(chosen.tested)} heads to test, but no tail can be the negative "
            "of some heads as often as it is the positive of others: add heads and tails, or set "
            'negatives = "uniform" in [edition]'
        )
    left_out = _list_left_out(candidates, chosen, {*demonstrations, *pairs})
    if sampling.n_anchors is not None:
        # They are chosen among balanced pairs, because few heads alone often have no balanced pairs.
        kept = draw_order(pairs, str(sampling.seed), relation, "anchors")[: sampling.n_anchors]
        pairs = {head: pairs[head] for head in kept}
    rows = triplets if also_false is None else pl.concat([triplets, also_false], how="diagonal")
    asserted = {(head.name, tail) for head in candidates.heads for tail in head.asserted}
    frame = _build_frame(relation, rows, {"test": pairs, "demonstration": demonstrations}, asserted)
    return DrawnTriplets(frame, left_out)


def list_left_out_heads(
    relation: str,
    rows: pl.DataFrame,
    sampling: TripletSampling,
    also_false: pl.DataFrame | None,
    kept: Collection[str],
) -> tuple[str, ...]:
    """Return the heads that `sample_triplets` leaves out, without drawing again.

    Args:
        kept: the heads of the triplets that it drew.
    """
    candidates = collect_allowed(relation, rows, sampling.negatives, also_false)
    return _list_left_out(candidates, choose_heads(candidates, sampling), kept)


def _list_left_out(candidates: Candidates, chosen: ChosenHeads, kept: Collection[str]) -> tuple[str, ...]:
    """Return the heads without a pair, except those that the cap leaves out."""
    used = {h.name for h in (*chosen.demonstrations, *chosen.tested)}
    capped = {h.name for h in chosen.possible} - used
    return tuple(sorted({h.name for h in candidates.heads} - capped - set(kept)))


def _draw_pairs(
    candidates: Candidates, sampling: TripletSampling, turn: SeriesTurn | None
) -> dict[str, tuple[str, str]]:
    if sampling.negatives == "balanced":
        return draw_balanced(candidates, str(sampling.seed), turn)
    if sampling.negatives == "matched":
        return draw_circulation(candidates, str(sampling.seed), turn)
    return {h.name: _draw_pair(h, candidates, str(sampling.seed), turn) for h in candidates.heads}


def _draw_pair(
    head: Head, candidates: Candidates, salt: str, turn: SeriesTurn | None = None
) -> tuple[str, str]:
    """Return a positive and a negative tail, each drawn uniformly from those that the head may have.

    If the base asserts that tails are false of the head, the negative is one of those. In a series, both are
    those whose turn it is.
    """
    key = (salt, candidates.relation)
    possible = head.asserted or [tail for tail in candidates.pool if tail not in head.excluded]
    return (
        draw_due(turn, head.tails, *key, "positive", head.name),
        draw_due(turn, possible, *key, "negative", head.name),
    )


def _build_frame(
    relation: str,
    triplets: pl.DataFrame,
    splits: dict[str, dict[str, tuple[str, str]]],
    asserted: set[tuple[str, str]],
) -> pl.DataFrame:
    """Return the rows of the stage. A negative that the base asserts is marked; every other mark is null.

    A positive has its age, if the base knows the ages of its facts.
    """
    ages = _list_ages(triplets)
    head_ids = select_first_ids(triplets, "head")
    tail_ids = select_first_ids(triplets, "tail")
    rows = []
    for split, pairs in splits.items():
        for head, tails in sorted(pairs.items()):
            ids = [
                hash_text(
                    relation,
                    head,
                    head_ids[head] or "",
                    tail,
                    tail_ids[tail] or "",
                    str(is_positive),
                )
                for tail, is_positive in zip(tails, (True, False), strict=True)
            ]
            pair_id = hash_text("pair", *ids)
            for tail, triplet_id, is_positive in zip(tails, ids, (True, False), strict=True):
                ids_of_row = (triplet_id, pair_id)
                names = (relation, head, tail, head_ids[head], tail_ids[tail])
                # A tail that is true of the head is never among those that are asserted to be false of it.
                is_asserted = True if (head, tail) in asserted else None
                age = ages.get((head, tail)) if is_positive else None
                rows.append((*ids_of_row, *names, is_positive, split, is_asserted, age))
    schema = {name: pl.Boolean if name.startswith("is_") else pl.String for name in TRIPLETS.names}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _list_ages(triplets: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return (head, tail) -> the oldest release that holds the fact; empty if the base has no ages."""
    if "first_release" not in triplets.columns:
        return {}
    rows = triplets.filter(pl.col("first_release").is_not_null())
    return {(head, tail): age for head, tail, age in rows.select("head", "tail", "first_release").iter_rows()}
