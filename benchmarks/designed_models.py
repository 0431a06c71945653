"""Models that answer from a rule, so that their score in every view is known beforehand.

A designed model reads the last statement of a prompt, looks it up among the edition's samples, and answers by
its rule. Its `PairKind`s say how often a sample of a pair is right, and `expect_scores` turns these into the
expected value of every measure.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb, prod
from pathlib import Path
from statistics import fmean

import polars as pl

from pretexeval.primitives.hashing import draw_order, hash_text
from schemas.transformations import TRANSFORMATIONS
from tasks.asking.prompts import STATEMENT_QUESTION

OPENING, CLOSING = STATEMENT_QUESTION.split("{}")
NO_ANSWER = "I cannot say."
Eight = tuple[float, ...]
"""A value for each transformation, in their order."""
ALL, NEVER, COIN = (1.0,) * 8, (0.0,) * 8, (0.5,) * 8
AFFIRMED = tuple(float(not each.is_negated) for each in TRANSFORMATIONS)
NEGATED = tuple(float(each.is_negated) for each in TRANSFORMATIONS)
FORWARD = tuple(float(not each.is_inverted) for each in TRANSFORMATIONS)
K = len(TRANSFORMATIONS)
FORMS = tuple(each.name for each in TRANSFORMATIONS)
HALF = ("none", "inv", "dn", "inv_dn")
# The steps of the view ablations.
STEPS = {
    "pretexeval": (("none",), ("none", "inv"), HALF, FORMS),
    "pretexttrans": (("none",), ("none", "dn"), HALF, FORMS),
}


@dataclass(frozen=True)
class Statement:
    """The facts that a designed model reads from a text: its triplet, and how the text states it."""

    text: str
    relation: str
    head: str
    tail: str
    is_positive: bool
    is_inverted: bool
    is_negated: bool


@dataclass(frozen=True)
class PairKind:
    """Pairs that a model treats alike: their share of all pairs, and how often each sample is right.

    The samples of a pair are right independently of each other, with these probabilities.
    """

    share: float
    positive: Eight
    negative: Eight


@dataclass(frozen=True)
class Pairs:
    """The test pairs of an edition, in which a rule or an expectation may need to look something up."""

    n_pairs: int
    known: frozenset[tuple[str, str]]
    """Half of the (relation, head) pairs, by their hashes: those that `knows-half` knows."""
    overlap: tuple[PairKind, ...]
    """The kinds of pairs of `name-overlap`, counted in the triplets."""


@dataclass(frozen=True)
class DesignedModel:
    """A rule, and the kinds of pairs that it makes."""

    name: str
    answer: Callable[[Statement, Pairs], bool | None]
    """Whether the statement is called true; null is no answer."""
    find_kinds: Callable[[Pairs], tuple[PairKind, ...]]
    is_exact: bool = True
    """Whether every value must be met exactly. Otherwise the rule tosses coins, and intervals decide."""
    no_answer_rate: float = 0.0
    taught_with: tuple[str, ...] = ()
    """The group of pairs that were taught alike for each kind of pairs, if a card says what it knows."""


def toss_coin(*parts: str) -> bool:
    """Return one of two values, always the same for the same parts."""
    return int(hash_text("coin", *parts), 16) % 2 == 0


def shares_word(head: str, tail: str) -> bool:
    """Return whether two names have a word in common, as the table `shortcut_scores` compares words."""
    one, other = (set(re.findall(r"[^\W_]+", name.lower())) for name in (head, tail))
    return bool(one & other)


def _believe(believes: Callable[[Statement, Pairs], bool]) -> Callable[[Statement, Pairs], bool]:
    """Return a rule that judges the triplet, and says the opposite of a statement that denies it."""
    return lambda statement, pairs: believes(statement, pairs) != statement.is_negated


def _read_half(statement: Statement, pairs: Pairs) -> bool:
    if (statement.relation, statement.head) in pairs.known:
        return statement.is_positive != statement.is_negated
    return toss_coin(statement.text)


def _find_known(pairs: Pairs) -> tuple[PairKind, ...]:
    share = len(pairs.known) / pairs.n_pairs
    return PairKind(share, ALL, ALL), PairKind(1 - share, COIN, COIN)


MODELS = (
    # It knows every fact and reads every form.
    DesignedModel(
        "knows-all", _believe(lambda statement, _: statement.is_positive), lambda _: (PairKind(1, ALL, ALL),)
    ),
    # It tosses one coin for each triplet, and answers all eight forms accordingly.
    DesignedModel(
        "consistent-coin",
        _believe(lambda s, _: toss_coin(s.relation, s.head, s.tail)),
        lambda _: tuple(PairKind(0.25, one, other) for one in (ALL, NEVER) for other in (ALL, NEVER)),
        is_exact=False,
    ),
    # It believes a triplet if its head and its tail share a word.
    DesignedModel(
        "name-overlap", _believe(lambda s, _: shares_word(s.head, s.tail)), lambda pairs: pairs.overlap
    ),
    # It knows every second head, and tosses a coin for each other statement.
    DesignedModel("knows-half", _read_half, _find_known, is_exact=False, taught_with=("pool", "nothing")),
    # It knows every fact, and does not notice that a statement denies it.
    DesignedModel(
        "blind-to-negation",
        lambda statement, _: statement.is_positive,
        lambda _: (PairKind(1, AFFIRMED, AFFIRMED),),
    ),
    # It knows every fact, but takes head for tail in inverted statements, and so believes none of them.
    DesignedModel(
        "blind-to-inversion",
        _believe(lambda statement, _: statement.is_positive and not statement.is_inverted),
        lambda _: (PairKind(1, FORWARD, ALL),),
    ),
    # It says True to everything.
    DesignedModel("always-true", lambda *_: True, lambda _: (PairKind(1, AFFIRMED, NEGATED),)),
    # It tosses a coin for each statement.
    DesignedModel(
        "random",
        lambda statement, _: toss_coin(statement.text, "random"),
        lambda _: (PairKind(1, COIN, COIN),),
        is_exact=False,
    ),
    # It gives no answer.
    DesignedModel("silent", lambda *_: None, lambda _: (PairKind(1, NEVER, NEVER),), no_answer_rate=1.0),
)


def expect_scores(model: DesignedModel, pairs: Pairs) -> dict[str, float]:
    """Return measure -> its expected value for a model on these pairs."""
    scores = expect_kinds(model.find_kinds(pairs)) | {"no answer": model.no_answer_rate}
    if model.no_answer_rate:
        del scores["share of true"]
    return scores


def expect_kinds(kinds: Sequence[PairKind]) -> dict[str, float]:
    """Return measure -> its expected value where all pairs are of these kinds."""
    scores = {
        "average accuracy": _average(kinds, _mean_right),
        "joint accuracy": _average(kinds, _joint),
        "mastery": _average(kinds, _mastery),
        "consistency": _average(kinds, _consistency),
        "share of true": _average(kinds, _say_true),
    }
    for k, form in enumerate(TRANSFORMATIONS):
        scores[f"accuracy, {form.name}"] = _average(kinds, _mean_right, [k])
    for name, is_negated in (("affirmed", False), ("denied", True)):
        places = [k for k, form in enumerate(TRANSFORMATIONS) if form.is_negated == is_negated]
        scores[f"accuracy, {name}"] = _average(kinds, _mean_right, places)
    for n in range(1, K + 1):
        scores[f"curve, n = {n}"] = _average(kinds, partial(_curve, n=n))
    for name, steps in STEPS.items():
        for number, step in enumerate(steps, start=1):
            places = [FORMS.index(form) for form in step]
            for measure, score in (("accuracy", _mean_right), ("joint", _joint), ("mastery", _mastery)):
                scores[f"ablation {name} {number}, {measure}"] = _average(kinds, score, places)
    return scores


def _average(
    kinds: Iterable[PairKind], score: Callable[[Eight, Eight], float], places: Sequence[int] = range(K)
) -> float:
    return sum(
        kind.share * score(tuple(kind.positive[k] for k in places), tuple(kind.negative[k] for k in places))
        for kind in kinds
    )


def _mean_right(positive: Eight, negative: Eight) -> float:
    return fmean(positive + negative)


def _joint(positive: Eight, negative: Eight) -> float:
    return (prod(positive) + prod(negative)) / 2


def _mastery(positive: Eight, negative: Eight) -> float:
    return prod(positive + negative)


def _consistency(positive: Eight, negative: Eight) -> float:
    return fmean(prod(each) + prod(1 - p for p in each) for each in (positive, negative))


def _say_true(positive: Eight, negative: Eight) -> float:
    """Return how often the answer is True: where it is right and the label is True, or wrong and False."""
    said = []
    for k, each in enumerate(TRANSFORMATIONS):
        said += [1 - positive[k], negative[k]] if each.is_negated else [positive[k], 1 - negative[k]]
    return fmean(said)


def _curve(positive: Eight, negative: Eight, *, n: int) -> float:
    """Return how often n samples, drawn from a triplet, are all right."""
    chosen = [prod(each) for triplet in (positive, negative) for each in combinations(triplet, n)]
    return sum(chosen) / (2 * comb(K, n))


@dataclass(frozen=True)
class Oracle:
    """Answers prompts about one edition by the rule of a designed model."""

    statements: dict[str, Statement]
    """Text -> what it states."""
    pairs: Pairs
    """Those of the whole edition."""
    pairs_by_relation: dict[str, Pairs]

    def reply(self, model: DesignedModel, prompt: str) -> str:
        """Return what the model says to a prompt, of which it reads only the last statement.

        Raises:
            KeyError: the edition has no such statement.
        """
        answer = model.answer(self.read(prompt), self.pairs)
        return f" {NO_ANSWER}" if answer is None else f" {answer}"

    def read(self, prompt: str) -> Statement:
        """Return the last statement of a prompt. Raises as `reply` does."""
        return self.statements[prompt.rpartition(OPENING)[2].removesuffix(CLOSING)]


def read_oracle(edition: Path) -> Oracle:
    """Return the oracle of the edition in this folder, from its triplets and samples."""
    columns = ("triplet_id", "head", "tail", "is_positive")
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet")
    samples = pl.read_parquet(edition / "samples" / "*.parquet").join(
        triplets.select(columns), on="triplet_id", how="left"
    )
    inverted = {each.name for each in TRANSFORMATIONS if each.is_inverted}
    is_inverted = pl.col("transformation").is_in(inverted).fill_null(False)
    is_negated = pl.col("label") != pl.col("is_positive")
    # A text of llmeval, which has no transformation, may also be one of another method, which counts.
    rows = samples.sort(pl.col("transformation").is_not_null(), maintain_order=True).select(
        *("text", "relation", "head", "tail", "is_positive"),
        is_inverted.alias("is_inverted"),
        is_negated.alias("is_negated"),
    )
    statements = {row["text"]: Statement(**row) for row in rows.iter_rows(named=True)}
    tested = triplets.filter(split="test")
    heads = tested.filter("is_positive").select("relation", "head").rows()
    order = draw_order(["\t".join(head) for head in heads], "knows half")
    known = [tuple(name.split("\t")) for name in order[::2]]
    by_relation = {str(name): part for (name,), part in tested.partition_by("relation", as_dict=True).items()}
    return Oracle(
        statements,
        _describe_pairs(tested, known),
        {r: _describe_pairs(p, known) for r, p in by_relation.items()},
    )


def _describe_pairs(triplets: pl.DataFrame, known: Iterable[tuple[str, ...]]) -> Pairs:
    heads = set(triplets.select("relation", "head").iter_rows())
    return Pairs(len(heads), frozenset(heads & set(known)), tuple(_count_overlap(triplets)))


def _count_overlap(triplets: pl.DataFrame) -> Iterable[PairKind]:
    """Yield the kinds of pairs by whether the positive and the negative triplet share a word."""
    shares = [shares_word(head, tail) for head, tail in triplets.select("head", "tail").iter_rows()]
    marked = triplets.with_columns(pl.Series("shares", shares, pl.Boolean))
    pairs = marked.group_by("pair_id").agg(
        pl.col("shares").filter("is_positive").first().alias("one"),
        pl.col("shares").filter(~pl.col("is_positive")).first().alias("other"),
    )
    for one, other, n in pairs.group_by("one", "other").len().sort("one", "other").iter_rows():
        yield PairKind(n / pairs.height, ALL if one else NEVER, NEVER if other else ALL)
