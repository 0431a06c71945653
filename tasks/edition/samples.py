"""Stage samples: the texts that models verify, by method (method, 2.5 and 2.7)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.mixing import (
    combine,
    hash_column,
    hash_names,
    mix_bits,
    read_ids,
    write_ids,
)
from prototypes.templates import RelationPrototypes
from schemas.stages import DEMONSTRATION_SALT, GATE_OFF, SAMPLES, SINGLE_METHODS
from schemas.transformations import NAMES
from tasks.asking.writers import Replies, Writer, require_replies
from tasks.drawing.pieces import Piece, TripletSampling, choose_heads
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import NEGATIVE_TURNS, SeriesTurn
from tasks.edition.rephraser import Llmeval, build_llmeval_samples
from tasks.edition.statements import join_entities, write_sentences


@dataclass(frozen=True)
class WordingTurns:
    """The turns of the wordings of a piece of an edition of a series."""

    turn: SeriesTurn
    n_turns: pl.DataFrame
    """The columns head, is_positive and n_turns, the number of editions until the triplet comes back."""

    def choose_places(self, rows: pl.DataFrame, n_wordings: int) -> NDArray[np.int64]:
        """Return the place of the wording of each variant, which begins with a wording of its own."""
        first = combine("series", "wording", str(self.turn.seed), read_ids(rows["variant_id"]))
        joined = rows.join(self.n_turns, on=["head", "is_positive"], how="left", maintain_order="left")
        n_turns = joined["n_turns"]
        shifts = {n: self.turn.shift_wording(n, n_wordings) for n in n_turns.unique()}
        shifted = n_turns.replace_strict(shifts, return_dtype=pl.Int64).to_numpy()
        places: NDArray[np.int64] = (first % np.uint64(n_wordings)).astype(np.int64) + shifted
        return places % n_wordings


def find_wording_turns(
    piece: Piece, find_facts: Callable[[], RelationFacts], sampling: TripletSampling
) -> WordingTurns | None:
    """Return the turns of the wordings of the tested heads of a piece; None for an edition by itself."""
    if sampling.turn is None:
        return None
    facts = find_facts()
    chosen = choose_heads(facts, sampling)
    heads = chosen.list_tested(piece).to_frame("head")
    positives = facts.list_tested(heads).group_by("head").agg(n_turns=pl.len().cast(pl.Int64))
    asserted = facts.list_asserted(heads).group_by("head").agg(n_asserted=pl.len().cast(pl.Int64))
    n_possible = [NEGATIVE_TURNS] * heads.height
    if sampling.negatives == "uniform":
        possible = chosen.evidence.judge(heads["head"]).iterate_possible()
        n_possible = [int(are_possible.sum()) for are_possible in possible]
    others = heads.with_columns(n_possible=pl.Series(n_possible, dtype=pl.Int64))
    negatives = others.join(asserted, on="head", how="left").select(
        "head", n_turns=pl.coalesce("n_asserted", "n_possible")
    )
    n_turns = [positives.with_columns(is_positive=True), negatives.with_columns(is_positive=False)]
    assert chosen.turn is not None
    return WordingTurns(chosen.turn, pl.concat(n_turns))


def draw_wordings(
    rows: pl.DataFrame, prototypes: RelationPrototypes, seed: int, turns: WordingTurns | None
) -> pl.Series:
    """Return the wording of each variant.

    Of the wordings of a cell, a variant gets the one with the least number, so that another wording in the
    pool changes few texts. In a series, the wordings of tested variants take turns.

    Args:
        rows: the statements with the columns head and is_positive.
    """
    variants = read_ids(rows["variant_id"])
    is_held_out = (rows["split"] == "demonstration").to_numpy()
    drawn = np.where(
        is_held_out, combine("wording", DEMONSTRATION_SALT, variants), combine("wording", str(seed), variants)
    )
    chosen = np.empty(rows.height, object)
    for name, cell in prototypes.cells.items():
        is_here = (rows["transformation"] == name).to_numpy()
        wordings = sorted(cell.wordings)
        least = mix_bits(drawn[is_here][:, None] ^ hash_names(wordings)[None, :]).argmin(axis=1)
        chosen[is_here] = np.array(wordings, object)[least]
        if turns is not None and (is_due := is_here & ~is_held_out).any():
            places = turns.choose_places(rows.filter(is_due), len(cell.wordings))
            chosen[is_due] = np.array(cell.wordings, object)[places]
    return pl.Series(chosen.tolist(), dtype=pl.String)


TRANSFORMATION_INDEX = {name: index for index, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Wording:
    """Settings with which the statements of an edition become samples."""

    methods: tuple[str, ...]
    rephraser_kind: str
    """`none`, `reviewed` or `model`, as in the configuration."""
    rephraser_name: str
    """`none`, `reviewed`, or the model id of the rephraser."""
    pool_name: str
    is_reviewed: bool
    seed: int
    llmeval: Llmeval | None


SAMPLES_VERSION = 2
"""Count it up when the function gives other rows for the same arguments."""


def build_samples(
    statements: pl.DataFrame,
    triplets: pl.DataFrame,
    attempts: pl.DataFrame | None,
    prototypes: RelationPrototypes,
    wording: Wording,
    read_replies: Callable[[Writer], Replies],
    find_turns: Callable[[], WordingTurns | None] = lambda: None,
) -> pl.DataFrame:
    """Return the samples of one piece by every method of the edition; columns as in the stage samples.

    Args:
        attempts: the attempts of the rephraser; None if no language model rewords statements.
        read_replies: returns every stored reply of a writer; used for method llmeval only.
        find_turns: returns the turns in a series of editions; used for the rephraser `reviewed` only.

    Raises:
        InputError: the pool lacks wordings that are needed, or a reply is missing.
    """

    def build_method(method: str) -> pl.DataFrame:
        if method == "llmeval":
            assert wording.llmeval is not None
            replies = read_replies(wording.llmeval.writer)
            require_replies(wording.llmeval.build_prompts(triplets), replies, wording.llmeval.writer)
            return build_llmeval_samples(triplets, wording.llmeval, replies)
        if method == "origin":
            return keep_statements(write_origin(statements, triplets, prototypes.origin), method)
        if method != "pretexeval" or wording.rephraser_kind == "none":
            return keep_statements(statements, method)
        if attempts is not None:
            return choose_rewordings(statements, attempts, wording.rephraser_name)
        require_wordings(prototypes, wording.pool_name)
        turns, is_reviewed = find_turns(), wording.is_reviewed
        return reword_statements(
            statements, triplets, prototypes, wording.seed, turns, is_reviewed=is_reviewed
        )

    return pl.concat(build_method(method) for method in wording.methods)


def require_wordings(prototypes: RelationPrototypes, pool_name: str) -> None:
    """Check that every cell of the relation has wordings.

    Raises:
        InputError: a cell has none.
    """
    if bare := [name for name, cell in prototypes.cells.items() if not cell.wordings]:
        raise InputError(
            f"relation {prototypes.relation!r} has no wordings for {', '.join(bare)} in pool "
            f'{pool_name!r}: add some to its table, or set kind = "none" in [rephraser]'
        )


def reword_statements(
    statements: pl.DataFrame,
    triplets: pl.DataFrame,
    prototypes: RelationPrototypes,
    seed: int,
    turns: WordingTurns | None = None,
    *,
    is_reviewed: bool = True,
) -> pl.DataFrame:
    """Return the samples of method pretexeval by the rephraser `reviewed`: one wording per variant.

    The draw depends on the variant and the seed, and for demonstrations on the variant alone. In a series of
    editions, the wordings take turns.
    """
    entities = triplets.select("triplet_id", "head", "tail", "is_positive")
    rows = statements.join(entities, on="triplet_id", how="left", maintain_order="left_right")
    wordings = draw_wordings(rows, prototypes, seed, turns)
    worded = rows.with_columns(wordings.alias("template"))
    texts = statements.with_columns(write_sentences(worded).alias("text"), wording=worded["template"])
    status, attempts = ("accepted", 1) if is_reviewed else ("as_is", 0)
    return _build_samples(texts, "pretexeval", "reviewed", status, attempts)


def choose_rewordings(statements: pl.DataFrame, attempts: pl.DataFrame, rephraser: str) -> pl.DataFrame:
    """Return the samples of method pretexeval: the accepted rewording, or else the statement itself.

    A rewording that no gate has checked is used as it is.

    Args:
        attempts: the attempts at these statements by this rephraser.
        rephraser: the model id.
    """
    is_unchecked = pl.col("reasons").list.contains(GATE_OFF)
    by_variant = attempts.sort("variant_id", "attempt").group_by("variant_id", maintain_order=True)
    outcomes = by_variant.agg(
        pl.col("text").filter(pl.col("is_accepted") | is_unchecked).first().alias("reworded"),
        is_unchecked.any().alias("is_unchecked"),
        pl.col("attempt").max().alias("n_attempts"),
        pl.col("reasons").explode(empty_as_null=False).alias("rejections"),
    )
    chosen = statements.join(outcomes, on="variant_id", how="left", maintain_order="left")
    texts = chosen.with_columns(text=pl.coalesce("reworded", "statement")).with_columns(wording="text")
    samples = _build_samples(texts, "pretexeval", rephraser, "fallback", 0)
    is_reworded = pl.col("reworded").is_not_null()
    status = pl.when("is_unchecked").then(pl.lit("as_is")).when(is_reworded).then(pl.lit("accepted"))
    return samples.with_columns(
        chosen.select(
            status=status.otherwise(pl.lit("fallback")),
            attempts=pl.col("n_attempts").cast(pl.Int16),
            reasons="rejections",
        )
    )


def keep_statements(statements: pl.DataFrame, method: str) -> pl.DataFrame:
    """Return samples with the texts of their statements: all eight, or for a single method only `none`."""
    if method in SINGLE_METHODS:
        statements = statements.filter(pl.col("transformation") == "none")
    texts = statements.with_columns(text="statement", wording="prototype_id")
    return _build_samples(texts, method, "none", "as_is", 0)


def write_origin(statements: pl.DataFrame, triplets: pl.DataFrame, template: str) -> pl.DataFrame:
    """Return the statements with the base's own template in place of their prototypes."""
    sentences = write_sentences(join_entities(statements, triplets).with_columns(template=pl.lit(template)))
    return statements.with_columns(sentences.alias("statement"), prototype_id=pl.lit(template))


def _build_samples(
    texts: pl.DataFrame, method: str, rephraser: str, status: str, attempts: int
) -> pl.DataFrame:
    """Return the samples.

    Args:
        texts: the statements with the columns text and wording: what the text of a variant is made of.
    """
    wordings = hash_column(texts["wording"])
    ids = write_ids(combine("sample", method, read_ids(texts["variant_id"]), wordings))
    return texts.with_columns(
        sample_id=ids,
        method=pl.lit(method),
        sample_index=pl.col("transformation").replace_strict(TRANSFORMATION_INDEX, return_dtype=pl.Int8),
        rephraser=pl.lit(rephraser),
        status=pl.lit(status),
        attempts=pl.lit(attempts, pl.Int16),
        reasons=pl.lit([], pl.List(pl.String)),
    ).select(SAMPLES.names)
