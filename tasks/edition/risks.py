"""The two risks of negatives: how easily labels are guessed from names, and how many false twins are true.

A change that makes one smaller may make the other larger, so they are measured together, for each relation.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.hierarchy import climb
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.mixing import combine, hash_column
from pretexeval.primitives.process import map_in_threads
from pretexeval.storage.records import find_manifest
from schemas.stages import N_DEMONSTRATIONS
from tasks.drawing.evidence import MISSING
from tasks.drawing.name_features import NameFeatures
from tasks.drawing.pieces import Piece, TripletSampling, count_tested
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.shapes import name_shape
from tasks.edition.edition import Edition
from tasks.edition.triplets import build_triplets

Balance = dict[str, dict[str, Any]]
"""Relation -> the figures of `describe_relation`, and of `estimate_wrong_twins` if they were measured."""
HIDDEN = 3
"""Number of facts of ten that are hidden from the draw, to see how many of them become false twins."""
MAX_TRIED = 2_000
"""Heads of a relation on which this is tried."""
MISSING_POSSIBILITIES = 9
"""Number of facts of ten that a base of possibilities is assumed to lack. With 9, the estimates agree with
the findings of people who read twins (docs/negatives.md)."""
MIN_TRIED = 50
"""Fewer false twins than this show nothing: the interval would reach from nothing to nearly everything."""
MAX_GUESSABLE = 0.75
MAX_WRONG = 0.02
MIN_WRONG = 3
"""Fewer wrong twins may be chance, whatever their rate is."""
# A guesser that knows the tail and the class of resemblance is right on at most 50 % of the triplets plus
# half of this share. The trained guessers of tasks/quality/guesses.py know more: on MedLAMA they are right on
# 55 to 74 % in the relations above the limit, and on at most 54 % in those below it.
MAX_UNMATCHED_SHARE = 0.1
COMPARED = ("head", "head_frequency", "tail_frequency")
CLASS = ("words", "has_stem", "sixths")
"""Pairs of one class are alike in three counts: shared words (at most MAX_WORDS), whether the names share at
least MIN_BEGINNINGS beginnings of words, and sixths of the tail's n-grams that the head has too."""
MAX_WORDS = 2
MIN_BEGINNINGS = 4
"""Two words share so many if their first five letters are equal: the shortest beginning has two letters."""
SIXTHS = 6


def read_balance(root: Path, edition_id: str) -> Balance:
    """Return the figures in the manifest of an edition; empty until it is complete, and for anchors."""
    balance: Balance = (find_manifest(root, edition_id) or {}).get("balance", {})
    return balance


def describe_relation(edition: Edition, relation: str, pieces: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the counts of `describe_balance`, the figures of `compare_with_base`, and three more as JSON.

    n_testable_facts: the facts of the tested heads that may be asked, one of each head. n_left_out: heads
    without a twin. shape: the shape of the relation, which may be guessed.

    Args:
        pieces: the triplets of each piece of the relation.
    """
    tested: list[pl.DataFrame] = []

    def keep(triplets: pl.DataFrame) -> pl.DataFrame:
        tested.append(triplets.filter("is_positive", split="test").select(COMPARED))
        return triplets

    figures = describe_balance(map(keep, pieces))
    facts = edition.find_facts(relation)
    figures |= compare_with_base(facts, tested)
    n_testable = facts.list_tested(pl.concat(tested).select("head")).height
    n_tested = count_tested(edition.n_heads[relation] - N_DEMONSTRATIONS, edition.sampling)
    is_possible = edition.pool.relations[relation].is_possibility
    shape = {"shape": name_shape(edition.base, relation, is_possible=is_possible)}
    counts = {"n_left_out": n_tested - figures["n_pairs"], "n_testable_facts": n_testable}
    return shape | counts | figures


def compare_with_base(facts: RelationFacts, tested: Iterable[pl.DataFrame]) -> dict[str, float | None]:
    """Return how the tested facts of a relation differ from those of the base, as JSON.

    tails_per_head, heads_per_tail and head_length, the letters of the name of the head, are means over the
    population; with `tested_` before them, over the true test triplets; null if there are none.

    Args:
        tested: the true test triplets of each piece of the relation, with the columns of COMPARED.
    """
    heads, tails = facts.frequencies
    pairs = facts.rows.select(PAIR).unique().join(heads, on="head").join(tails, on="tail")
    of_tested = pl.concat(tested).with_columns(weight=pl.lit(1.0))
    of_base = pairs.select(*COMPARED, weight=1 / pl.col("head_frequency"))
    measures = {
        "tails_per_head": pl.col("head_frequency"),
        "heads_per_tail": pl.col("tail_frequency"),
        "head_length": pl.col("head").str.len_chars(),
    }
    return {
        f"{prefix}{name}": None if rows.is_empty() else rows.select(_average(measure)).item()
        for name, measure in measures.items()
        for prefix, rows in (("", of_base), ("tested_", of_tested))
    }


def _average(measure: pl.Expr) -> pl.Expr:
    return ((measure * pl.col("weight")).sum() / pl.col("weight").sum()).round(2)


def describe_balance(pieces: Iterable[pl.DataFrame]) -> dict[str, Any]:
    """Return the counts of one relation as JSON.

    Of the test triplets of the relation:

    - n_pairs: the number of pairs of a true and a false one.
    - n_true_sharing, n_false_sharing: the number of true and of false ones whose head and tail share a word.
    - n_unmatched: the number of true ones that have no false counterpart. The counterpart of a triplet is in
      the same piece and has the same tail, and its head resembles the tail as much (the same CLASS).
    - n_asserted: the number of false ones that the base asserts to be false.
    - tail_rate: the highest accuracy of a guesser that sees the tail alone.
    - guessable_rate: the highest accuracy of a guesser that sees the tail and the class.
    - is_balanced: whether at most MAX_UNMATCHED_SHARE of the true ones are unmatched.

    Args:
        pieces: the triplets of each piece of the relation.
    """
    names = ("n_pairs", "n_true_sharing", "n_false_sharing", "n_unmatched", "n_asserted", "n_lone")
    counts = np.zeros(len(names), np.int64)
    for counted in map_in_threads(_count_classes, pieces):
        counts += counted
    figures = dict(zip(names, counts.tolist(), strict=True))
    n_both = 2 * max(figures["n_pairs"], 1)
    return figures | {
        "tail_rate": _round(0.5 + figures.pop("n_lone") / n_both),
        "guessable_rate": _round(0.5 + figures["n_unmatched"] / n_both),
        "is_balanced": figures["n_unmatched"] <= MAX_UNMATCHED_SHARE * figures["n_pairs"],
    }


def _count_classes(triplets: pl.DataFrame) -> NDArray[np.int64]:
    tested = triplets.filter(split="test")
    classes = tested.select("tail", "is_positive", "is_asserted").with_columns(_classify(tested))
    is_sharing = pl.col("words") > 0
    excess = (pl.col("is_positive").cast(pl.Int64) * 2 - 1).sum().clip(lower_bound=0)
    return np.array(
        [
            classes["is_positive"].sum(),
            classes.filter(is_sharing & pl.col("is_positive")).height,
            classes.filter(is_sharing & ~pl.col("is_positive")).height,
            classes.group_by("tail", *CLASS).agg(n=excess)["n"].sum(),
            classes["is_asserted"].fill_null(value=False).sum(),
            classes.group_by("tail").agg(n=excess)["n"].sum(),
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
    values = (np.minimum(words, MAX_WORDS), stems >= MIN_BEGINNINGS, SIXTHS * grams // n_grams)
    return pl.DataFrame(dict(zip(CLASS, values, strict=True)))


def measure_wrong_twins(edition: Edition, relation: str) -> dict[str, Any]:
    """Return what `estimate_wrong_twins` finds in a relation of an edition."""
    facts, sampling = edition.find_facts(relation), edition.sample_relation(relation)
    is_possibility = edition.pool.relations[relation].is_possibility
    return estimate_wrong_twins(facts, sampling, is_possibility=is_possibility)


def estimate_wrong_twins(
    facts: RelationFacts, sampling: TripletSampling, *, is_possibility: bool = False
) -> dict[str, Any]:
    """Return the result of the experiment of hidden truths as JSON.

    HIDDEN of ten facts are hidden, but every head keeps one. The triplets of at most MAX_TRIED heads are
    drawn from the rest. n_hidden: hidden facts. n_tried: false twins that were drawn and that the base does
    not assert. n_wrong: those among them that are true by all facts: hidden facts, and what is above them in
    the hierarchy. missing_share: the share of the true facts that the base is assumed to lack. wrong_rate:
    the share of true ones among the twins of the edition if it lacks so many: n_wrong / n_tried, times the
    missing facts for each listed one, divided by the hidden facts for each shown one. wrong_rate_ci_low and
    wrong_rate_ci_high: likewise for the 95 % interval of n_wrong / n_tried (Clopper and Pearson 1934). They
    are null if no fact was hidden, or fewer than MIN_TRIED twins were drawn.
    """
    heads = facts.order_heads("hidden")[:MAX_TRIED]
    rows = facts.rows.join(heads.to_frame("head"), on="head", how="semi", maintain_order="left")
    listed = rows.filter(~pl.col("also_true")).select(PAIR).unique()
    hidden = _hide_facts(listed)
    shown = replace(facts, rows=rows.join(hidden, on=PAIR, how="anti", maintain_order="left"))
    unlimited = replace(sampling, n_anchors=None, turn=None)
    try:
        triplets = build_triplets(Piece(facts.relation), lambda: shown, unlimited)
        is_counted = ~pl.col("is_positive") & pl.col("is_asserted").is_null()
        drawn = triplets.filter(is_counted, split="test").select(PAIR)
    except InputError:
        drawn = listed.clear()
    keys = facts.list_true(drawn.select("head").unique()).join(facts.tail_keys, on="tail")
    true = climb(keys.select("head", "key"), facts.ancestry).join(facts.tail_keys, on="key")
    n_tried, n_wrong = drawn.height, drawn.join(true, on=PAIR, how="semi").height
    missing = (MISSING_POSSIBILITIES if is_possibility else MISSING) / 10
    is_measured = n_tried >= MIN_TRIED and hidden.height > 0
    times = missing / (1 - missing) * (listed.height - hidden.height) / max(hidden.height, 1)
    rates = (n_wrong / max(n_tried, 1), *_find_interval(n_wrong, n_tried))
    names = ("wrong_rate", "wrong_rate_ci_low", "wrong_rate_ci_high")
    counts = {"n_hidden": hidden.height, "n_tried": n_tried, "n_wrong": n_wrong, "missing_share": missing}
    scaled = [_round(min(1.0, rate * times)) if is_measured else None for rate in rates]
    return counts | dict(zip(names, scaled, strict=True))


def _find_interval(part: int, whole: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson of a share."""
    # The import takes 0.3 s, and most commands measure nothing.
    from scipy.special import betaincinv

    low = betaincinv(part, whole - part + 1, 0.025) if part else 0.0
    return float(low), float(betaincinv(part + 1, whole - part, 0.975)) if part < whole else 1.0


def _hide_facts(facts: pl.DataFrame) -> pl.DataFrame:
    """Return the facts that are hidden, drawn by hash; every head keeps the last one."""
    drawn = combine("hidden", hash_column(facts["head"]), hash_column(facts["tail"]))
    order = facts.with_columns(drawn=drawn).sort("drawn", "head", "tail")
    kept = order.unique("head", keep="last", maintain_order=True)
    waiting = order.join(kept, on=PAIR, how="anti", maintain_order="left")
    return waiting.head(facts.height * HIDDEN // 10).select(PAIR)


def list_risks(balance: Balance) -> Iterator[str]:
    """Yield a line per relation whose labels can be guessed from names, or whose false twins may be true."""
    for relation, figures in balance.items():
        if figures["tail_rate"] > MAX_GUESSABLE:
            yield (
                f"{relation}: tails give answers away: some tails are mostly true and others mostly false, "
                "so a guesser that sees the tail alone can be right on up to "
                f"{100 * figures['tail_rate']:.0f} % of the triplets"
            )
        elif figures["guessable_rate"] > MAX_GUESSABLE:
            yield (
                f"{relation}: names give answers away: a guesser that compares the letters of head and tail "
                f"can be right on up to {100 * figures['guessable_rate']:.0f} % of the triplets"
            )
        if (
            figures.get("n_wrong", 0) >= MIN_WRONG
            and figures.get("wrong_rate_ci_high") is not None
            and figures["wrong_rate"] > MAX_WRONG
        ):
            yield (
                f"{relation}: false twins may be true: about {describe_wrong_rate(figures)}, if the base "
                f"lacks {100 * figures['missing_share']:.0f} % of what is true; {figures['n_wrong']:,} of "
                f"{figures['n_tried']:,} were true when {HIDDEN} of 10 facts were hidden"
            )


def describe_wrong_rate(figures: Mapping[str, Any]) -> str:
    """Return the estimated share of wrong twins with its interval in per cent; "-" if it is not known."""
    if figures.get("wrong_rate_ci_high") is None:
        return "-"
    rate, low, high = (100 * figures[f"wrong_rate{end}"] for end in ("", "_ci_low", "_ci_high"))
    return f"{rate:.1f} % ({low:.1f} to {high:.1f} %)"


def _round(rate: float) -> float:
    return round(rate, 4)
