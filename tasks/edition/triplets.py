"""Stage triplets: a positive and a negative triplet for every head of a piece (method, 2.1 and 2.2)."""

from collections.abc import Callable

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.mixing import combine, hash_column, write_ids
from schemas.stages import N_DEMONSTRATIONS, TRIPLETS
from tasks.drawing.pairs import draw_balanced, draw_uniform
from tasks.drawing.pieces import ChosenHeads, Piece, TripletSampling, choose_heads
from tasks.drawing.relation_facts import PAIR, RelationFacts, collect_facts

TRIPLETS_VERSION = 4
"""Count it up when the function gives other rows for the same arguments."""


def build_triplets(
    piece: Piece, find_facts: Callable[[], RelationFacts], sampling: TripletSampling
) -> pl.DataFrame:
    """Return two rows (positive, negative) per head of the piece; columns as in the stage triplets.

    The first piece of a relation has the pairs that are held out for demonstrations.

    Raises:
        InputError: too few heads are left besides the demonstrations, or no head of the piece can be kept.
    """
    facts = find_facts()
    chosen = choose_heads(facts, sampling)
    _require_heads(facts, chosen, sampling)
    pairs = _draw_pairs(piece, chosen, sampling)
    if pairs.is_empty():
        reason = (
            "every tail is true of every one of them: add tails"
            if sampling.negatives == "uniform"
            else "no tail can be the negative of some heads as often as it is the positive of others: add "
            'heads and tails, or set negatives = "uniform" in [edition]'
        )
        guess = f", or set shape in [knowledge]: it is {facts.shape}" if facts.is_guessed else ""
        raise InputError(
            f"relation {piece.relation!r} has {count_noun(len(chosen.tested), 'head')} to test, but "
            f"{reason}{guess}"
        )
    if sampling.n_anchors is not None:
        # They are chosen among balanced pairs, because few heads alone often have no balanced pairs.
        order = facts.order_heads(str(sampling.seed), "anchors").to_frame("head")
        pairs = order.join(pairs, on="head", maintain_order="left").head(sampling.n_anchors).sort("head")
    parts = [pairs.with_columns(split=pl.lit("test"))]
    if piece.number == 1:
        parts.append(chosen.demonstrations.with_columns(split=pl.lit("demonstration")))
    return _build_rows(chosen, pl.concat(parts))


def draw_triplets(base: KnowledgeBase, relation: str, sampling: TripletSampling) -> pl.DataFrame:
    """Return the triplets of all pieces of a relation. Raises as `build_triplets` does."""
    facts = collect_facts(base, relation)
    return build_triplets(Piece(relation), lambda: facts, sampling)


def _draw_pairs(piece: Piece, chosen: ChosenHeads, sampling: TripletSampling) -> pl.DataFrame:
    """Return the columns head, positive and negative, sorted by head."""
    if sampling.negatives == "uniform":
        return draw_uniform(chosen.evidence, chosen.list_tested(piece), sampling.seed, chosen.turn)
    return draw_balanced(chosen.evidence, piece.select_blocks(chosen.tested), sampling.seed, chosen.turn)


def list_missing_heads(
    piece: Piece, facts: RelationFacts, sampling: TripletSampling, triplets: pl.DataFrame
) -> list[str]:
    """Return the heads of the piece that `build_triplets` left out, without drawing again."""
    heads = choose_heads(facts, sampling).list_tested(piece)
    return heads.filter(~heads.is_in(triplets["head"].implode())).sort().to_list()


def _require_heads(facts: RelationFacts, chosen: ChosenHeads, sampling: TripletSampling) -> None:
    """Raise InputError if too few heads are left to test; with balanced negatives, they exchange tails."""
    is_balanced, cap = sampling.negatives == "balanced", sampling.heads_per_relation
    n_least = 2 if is_balanced else 1
    n_heads, n_needed = facts.heads.height, N_DEMONSTRATIONS + n_least
    if n_heads >= n_needed and len(chosen.tested) >= n_least:
        return
    exchange = ', and two more must exchange their tails with negatives = "balanced"' if is_balanced else ""
    why = f"at least {n_needed} are needed: {N_DEMONSTRATIONS} demonstrate the task{exchange}"
    if cap is not None and n_heads >= n_needed:
        raise InputError(f"relation {facts.relation!r}: heads_per_relation in [edition] is {cap}, but {why}")
    uniform = f', or set negatives = "uniform" in [edition], for which {n_needed - 1} are enough'
    other = uniform if is_balanced and n_heads == n_needed - 1 else ""
    raise InputError(
        f"relation {facts.relation!r} has {count_noun(n_heads, 'head')}, but {why}; add heads{other}"
    )


def _build_rows(chosen: ChosenHeads, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the stage: a positive and a negative per pair, in the order of the pairs."""
    evidence = chosen.evidence
    facts = evidence.facts
    rows = (
        pairs.with_row_index("pair")
        .with_columns(true="positive")
        .unpivot(["positive", "negative"], index=["pair", "head", "split", "true"], value_name="tail")
        .with_columns(is_positive=pl.col("variable") == "positive")
        .rename({"true": "positive"})
        .sort("pair", pl.col("is_positive").not_())
    )
    for end in PAIR:
        ids = facts.list_ids(rows.select(end).unique())
        rows = rows.join(ids, on=end, how="left", maintain_order="left")
    names = [hash_column(rows[name]) for name in ("head", "head_id", "tail", "tail_id")]
    truth = rows["is_positive"].cast(pl.UInt64).to_numpy()
    triplets = combine("triplet", facts.relation, *names, truth)
    of_pairs = combine("pair", triplets[::2], triplets[1::2])
    heads = rows.select("head").unique()
    asserted = facts.list_asserted(heads).with_columns(is_asserted=pl.lit(True), is_positive=pl.lit(False))
    filled = evidence.describe(rows).with_columns(
        write_ids(triplets).alias("triplet_id"),
        write_ids(of_pairs.repeat(2)).alias("pair_id"),
        pl.lit(facts.relation).alias("relation"),
    )
    for known in (asserted, facts.list_ages(heads)):
        filled = filled.join(known, on=[*PAIR, "is_positive"], how="left", maintain_order="left")
    is_asserted = pl.col("is_asserted").fill_null(value=False)
    for end, counted in zip(PAIR, chosen.evidence.facts.frequencies, strict=True):
        filled = filled.join(counted, on=end, how="left", maintain_order="left")
    unasserted = (pl.when(~is_asserted).then(pl.col(name)).alias(name) for name in ("doubt", "doubt_reason"))
    return filled.with_columns(pl.col("tail_frequency", "tail_commonness").fill_null(0), *unasserted).select(
        TRIPLETS.names
    )
