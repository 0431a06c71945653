"""Stage samples: the texts that models verify, by method (method, 2.5 and 2.7)."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from primitives.errors import InputError
from primitives.mixing import combine, hash_column, read_ids, write_ids
from prototypes.templates import RelationPrototypes
from schemas.stages import GATE_OFF, SAMPLES, SINGLE_METHODS
from schemas.transformations import NAMES
from tasks.asking.writers import Replies, Writer, require_replies
from tasks.edition.llmeval import Llmeval, build_llmeval_samples
from tasks.edition.sentences import write_sentences
from tasks.edition.wordings import WordingTurns, draw_wordings

TRANSFORMATION_INDEX = {name: index for index, name in enumerate(NAMES)}


@dataclass(frozen=True)
class Wording:
    """How the statements of an edition become samples."""

    methods: tuple[str, ...]
    rephraser_kind: str
    """`none`, `reviewed` or `model`, as in the configuration."""
    rephraser_name: str
    """`none`, `reviewed`, or the model id of the rephraser."""
    pool_name: str
    is_reviewed: bool
    seed: int
    llmeval: Llmeval | None


SAMPLES_VERSION = 1
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
    """Return the samples of one relation by every method of the edition; columns as in the stage samples.

    Args:
        attempts: the attempts of the rephraser; None if no language model rewords statements.
        read_replies: returns every stored reply of a writer; used for method llmeval only.
        find_turns: returns whose turn it is in a series of editions; used for the rephraser `reviewed` only.

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
        return reword_statements(
            statements,
            triplets,
            prototypes,
            wording.seed,
            find_turns(),
            is_reviewed=wording.is_reviewed,
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
        attempts: the attempts of the same relation by this rephraser.
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
    status = (
        pl.when("is_unchecked")
        .then(pl.lit("as_is"))
        .when(pl.col("reworded").is_not_null())
        .then(pl.lit("accepted"))
        .otherwise(pl.lit("fallback"))
    )
    texts = chosen.with_columns(pl.coalesce("reworded", "statement").alias("text"))
    texts = texts.with_columns(wording="text")
    samples = _build_samples(texts, "pretexeval", rephraser, "accepted", 0)
    return samples.with_columns(
        chosen.select(
            status.alias("status"),
            pl.col("n_attempts").cast(pl.Int16).alias("attempts"),
            pl.col("rejections").alias("reasons"),
        )
    ).select(SAMPLES.names)


def keep_statements(statements: pl.DataFrame, method: str) -> pl.DataFrame:
    """Return samples with the texts of their statements: all eight, or for a single method only `none`."""
    if method in SINGLE_METHODS:
        statements = statements.filter(pl.col("transformation") == "none")
    texts = statements.with_columns(text="statement", wording="prototype_id")
    return _build_samples(texts, method, "none", "as_is", 0)


def write_origin(statements: pl.DataFrame, triplets: pl.DataFrame, template: str) -> pl.DataFrame:
    """Return the statements with the base's own template in place of their prototypes."""
    entities = triplets.select("triplet_id", "head", "tail")
    rows = statements.join(entities, on="triplet_id", how="left", maintain_order="left")
    sentences = write_sentences(rows.with_columns(template=pl.lit(template)))
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
        ids.alias("sample_id"),
        pl.lit(method).alias("method"),
        pl.col("transformation")
        .replace_strict(TRANSFORMATION_INDEX, return_dtype=pl.Int8)
        .alias("sample_index"),
        pl.lit(rephraser).alias("rephraser"),
        pl.lit(status).alias("status"),
        pl.lit(attempts, pl.Int16).alias("attempts"),
        pl.lit([], pl.List(pl.String)).alias("reasons"),
    ).select(SAMPLES.names)
