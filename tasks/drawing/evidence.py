"""Evidence that a head has a tail that the base does not list for it: such a pair is no safe negative.

A base lists a part of what is true. `hierarchy` excludes the ancestors of a true tail, which are true, and
its descendants, which may be. `names` excludes a tail whose words are among those of a true tail, which it
then generalises, or of the head. `likeness` is a number: the chance that the pair is true, as the facts of
other heads tell it. The share of heads that have the tail, among those that have one of the head's tails, or
a word of its name, says how likely the tail is. The logarithms of 1 − share are added up, as if the evidence
were independent (noisy-or), and the sum is calibrated on the base itself: each listed fact is judged as if it
were not listed, and the sums of listed and unlisted pairs are compared. The chance assumes that the base
lacks MISSING of 10 facts.

All numbers but the doubts are whole, so that they are the same on every machine.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pretexeval.knowledge.names import fold_names
from pretexeval.primitives.mixing import combine, hash_column
from tasks.drawing.doubts import Doubts, Peers, SimilarHeads, fit_doubts
from tasks.drawing.name_features import Rows, mark_parts
from tasks.drawing.related_names import RelatedNames
from tasks.drawing.relation_facts import CLOSED, FUNCTIONAL, PAIR, RelationFacts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MISSING = 5
"""Number of facts of ten that a base is assumed to lack. Half of them is cautious: with 3 of 10 facts of
MedLAMA hidden, 0.28 % of the false twins were hidden facts with 3, and 0.22 % with 5."""
UNIT = 10_000
"""Chances are whole numbers from 0 to this."""
MAX_CHANCE = 500
"""The chance above which a pair is excluded: 5 %, or in a dense relation MANY_TIMES the usual chance."""
MANY_TIMES = 3
MIN_CALIBRATED = 500
"""With fewer facts than this in a relation, chances are so rough that they exclude nothing. They still make
doubtful negatives more expensive."""
MAX_HEADS = 20_000
"""Heads of a relation, drawn by hash, whose facts are counted. They bound time and memory."""
MAX_FACTS = 64
"""Facts of a head that are considered, drawn by hash."""
N_CALIBRATED = 2_000
"""Heads whose pairs calibrate the chances."""
N_FITTED = 300
"""Facts by which doubts are estimated."""
PRIOR_HEADS = 3
"""Imagined heads that are added to those that have a tail or a word, because the share of few heads says
little. Half of them have the tail if it specialises the other one, and none otherwise."""
NEPER = 256
"""The weight that divides the chance that a pair is false by e. The scale makes whole numbers fine enough."""
WEIGHTS = np.array([round(-NEPER * math.log(1 - min(p, 990) / 1000)) for p in range(1001)], np.int64)
"""The weight of each share, which is in thousandths: -NEPER · ln(1 − share). It is cut off at 99 %."""
EDGES = np.array([0, *(math.isqrt(64 << n) for n in range(24))])
"""The least sum of each class of pairs. Each class reaches to 1.4 times its least sum."""

CELLS_AT_ONCE = 4_000_000
"""Pairs of a head and a tail that are judged at once. They bound the memory."""
HEADS_AT_ONCE = 250
"""Heads whose pairs are counted at once for the calibration."""

KEY = (*PAIR, "is_positive")
Flags = NDArray[np.bool_]
Sums = NDArray[np.int64]


class Evidence:
    """The evidence of one relation. Columns are the tails that can be tested, sorted."""

    def __init__(self, facts: RelationFacts) -> None:
        """Count the facts, and calibrate the chances."""
        self.facts = facts
        self.tails = facts.tails
        self.names = facts.rows["tail"].unique().sort()
        """All tails that are true of a head, tested or not: the rows of the matrices by tail."""
        self.columns = locate(self.names, self.tails)
        order = facts.order_heads("evidence")[:MAX_HEADS].sort()
        listed, words = self.mark_tails(order), self.mark_words(order)
        self.n_of_tails, self.n_of_words = _count(listed), _count(words)
        in_columns = listed[:, self.columns]
        # Counts are doubled, so that half of the imagined heads is a whole number.
        self.with_tails = (2 * (listed.T @ in_columns) + PRIOR_HEADS * self._special).tocsr()
        """Twice the number of heads that have the tail of the row and that of the column."""
        self.with_words = (2 * (words.T @ in_columns)).tocsr()
        """Twice the number of heads with the word of the row in their names, and the tail of the column."""
        self.of_tails = _weigh(self.with_tails, self.n_of_tails)
        self.of_words = _weigh(self.with_words, self.n_of_words)
        self.chances, self.max_chance = self._calibrate(JudgedHeads(self, order, listed, words))

    def mark_tails(self, heads: pl.Series) -> "csr_array":
        """Return one row per head: its tails, in a transitive relation the closure; at most MAX_FACTS."""
        named = heads.to_frame("head")
        rows = self.facts.rows.join(named, on="head", how="semi")
        if self.facts.shape in CLOSED:
            # Most kinds of a kind may have a tail in common that only their own kinds are listed with.
            rows = self.facts.list_true(named).filter(pl.col("tail").is_in(self.names.implode()))
        drawn = self.facts.draw(rows.select(PAIR).unique(), "evidence")
        kept = drawn.group_by("head", maintain_order=True).head(MAX_FACTS)
        return _mark_pairs(heads, self.names, kept)

    @cached_property
    def vocabulary(self) -> pl.DataFrame:
        """The words of all heads, as the columns part and column."""
        words = fold_names(self.facts.heads["head"]).str.split(" ").explode().unique().drop_nulls().sort()
        return words.to_frame("part").filter(pl.col("part") != "").with_row_index("column")

    def mark_words(self, heads: pl.Series) -> "csr_array":
        """Return one row per head: the words of its name."""
        split = fold_names(heads).str.split(" ").to_frame("part").with_row_index("row")
        return mark_parts(split.explode("part").unique(), self.vocabulary, len(heads)).astype(np.int64)

    def describe(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs with likelihood, doubt and doubt_reason of the stage triplets.

        Args:
            pairs: head, tail, is_positive and positive, which is the true tail of the pair.
        """
        is_known = (pl.col(name).is_in(self.tails.implode()) for name in ("tail", "positive"))
        known = pairs.filter(*is_known).select(*KEY, "positive")
        heads = known["head"].unique().sort()
        rows, columns = locate(heads, known["head"]), locate(self.tails, known["tail"])
        judged, positives = self.judge(heads), locate(self.tails, known["positive"])
        likelihood = self.find_chances(judged.sum_up_pairs(rows, columns, positives))
        # Where each head has one tail, all others are false beyond doubt.
        is_doubtful = ~known["is_positive"].to_numpy() & (self.facts.shape != FUNCTIONAL)
        negatives = np.flatnonzero(is_doubtful)
        places, peers = (rows[negatives], columns[negatives]), self._similar.find_peers(known[negatives])
        reasons = pl.Series(judged.explain(*places), dtype=pl.String)
        doubts = known[negatives].select(
            *KEY,
            doubt=self._doubts.estimate(_add_peers(judged.sum_up_pairs(*places), peers)),
            doubt_reason=pl.coalesce(
                reasons, pl.format("{} has the tail, and is named like the head", peers.names)
            ),
        )
        described = pairs
        for doubted in (known.select(*KEY, likelihood=likelihood / UNIT), doubts):
            described = described.join(doubted, on=KEY, how="left", maintain_order="left")
        return described

    @cached_property
    def _similar(self) -> SimilarHeads:
        return SimilarHeads(self.facts)

    @cached_property
    def _doubts(self) -> Doubts:
        """The regression of N_FITTED facts, and of pairs of their heads with each other's tails.

        The tails of negatives are drawn from those of facts. Therefore the odds of a pair are those that a
        head has a tail that is drawn from all facts, times the share that the base lacks by the one it has.
        """
        facts = self.facts
        tested = facts.rows.filter(~pl.col("also_true")).select(PAIR).unique()
        drawn = combine("doubt", facts.relation, hash_column(tested["head"]), hash_column(tested["tail"]))
        listed = tested.with_columns(drawn=drawn).sort("drawn", *PAIR).head(N_FITTED).select(PAIR)
        moved = listed.with_columns(tail=listed["tail"].gather(np.roll(np.arange(listed.height), 1)))
        unlisted = moved.unique(maintain_order=True).join(
            facts.rows, on=PAIR, how="anti", maintain_order="left"
        )
        heads = listed["head"].unique().sort()
        judged, sums = self.judge(heads), list[NDArray[np.float64]]()
        for pairs, are_listed in ((listed, True), (unlisted, False)):
            rows, columns = locate(heads, pairs["head"]), locate(self.tails, pairs["tail"])
            of_pairs = judged.sum_up_pairs(rows, columns, columns if are_listed else None)
            sums.append(_add_peers(of_pairs, self._similar.find_peers(pairs)))
        n_same = tested.group_by("tail").len()["len"].cast(pl.Int64)
        share = int((n_same**2).sum()) / (tested.height * facts.heads.height)
        return fit_doubts(sums[0], sums[1], share / max(1 - share, 1 / UNIT) * MISSING / (10 - MISSING))

    def find_chances(self, sums: Sums) -> Sums:
        """Return the chances that belong to sums of evidence."""
        chances: Sums = self.chances[_classify(sums)]
        return chances

    def judge(self, heads: pl.Series) -> "JudgedHeads":
        """Return what is known of pairs of some heads with all tails.

        Args:
            heads: distinct names; the rows are in this order.
        """
        return JudgedHeads(self, heads, self.mark_tails(heads), self.mark_words(heads))

    @cached_property
    def _related(self) -> RelatedNames:
        return RelatedNames(self.names)

    @cached_property
    def _special(self) -> "csr_array":
        """One row per true tail, one column per tail: 1 where the second specialises the first."""
        columns, rows = self._related.list_general(self.columns, np.arange(len(self.names)))
        return _mark_places(rows, columns, (len(self.names), len(self.tails)))

    @cached_property
    def excluding(self) -> "csr_array":
        """One row per true tail, one column per tail: 1 where a head with the first may have the second."""
        shape = len(self.names), len(self.tails)
        excluded = _mark_places(np.zeros(0, np.int64), np.zeros(0, np.int64), shape)
        if "names" in self.facts.evidence:
            excluded += _mark_places(*self._related.list_general(np.arange(shape[0]), self.columns), shape)
        if "hierarchy" in self.facts.evidence:
            excluded += _mark_places(*self._list_relatives(), shape)
        return excluded

    def _list_relatives(self) -> tuple[Rows, Rows]:
        """Return the pairs of a name and a tail of which one is an ancestor of the other."""
        known = self.facts.relatives.filter(
            pl.col("tail").is_in(self.names.implode()), pl.col("relative").is_in(self.tails.implode())
        )
        return locate(self.names, known["tail"]), locate(self.tails, known["relative"])

    def _calibrate(self, counted: "JudgedHeads") -> tuple[Sums, int]:
        """Return the chance of each class of pairs, which rises with the sum, and the greatest safe chance.

        Of n listed facts of a class, as many times MISSING of 10 would be hidden if the base lacked as many.
        """
        n_listed, n_unlisted = np.zeros((2, len(EDGES)), np.int64)
        if self.facts.shape == FUNCTIONAL:
            return np.zeros(len(EDGES), np.int64), UNIT
        n_heads = len(counted.heads)
        heads = np.arange(0, n_heads, max(1, n_heads // N_CALIBRATED))[:N_CALIBRATED]
        column_of = np.full(len(self.names), -1)
        column_of[self.columns] = np.arange(len(self.tails))
        for start in range(0, len(heads), HEADS_AT_ONCE):
            judged = counted.select(heads[start : start + HEADS_AT_ONCE])
            facts, sums = judged.listed.tocoo(), judged.sum_up()
            is_tested = column_of[facts.col] >= 0
            rows, columns = facts.row[is_tested], column_of[facts.col[is_tested]]
            n_listed += _count_classes(judged.sum_up_pairs(rows, columns, columns))
            n_unlisted += _count_classes(sums.data) - _count_classes(_select(sums, rows, columns))
            n_unlisted[0] += len(judged.heads) * len(self.tails) - sums.nnz
        hidden = n_listed * MISSING
        chances = _fit_rising(hidden, hidden + n_unlisted * (10 - MISSING))
        n_hidden = int(hidden.sum())
        usual = UNIT * n_hidden // max(1, n_hidden + int(n_unlisted.sum()) * (10 - MISSING))
        is_calibrated = n_listed.sum() >= MIN_CALIBRATED
        return chances, max(MAX_CHANCE, MANY_TIMES * usual) if is_calibrated else UNIT


@dataclass(frozen=True, eq=False)
class JudgedHeads:
    """Some heads with what the base says of their pairs with all tails of the relation."""

    evidence: Evidence
    heads: pl.Series
    listed: "csr_array"
    """One row per head, one column per true tail: 1 where the base lists the fact."""
    words: "csr_array"
    """One row per head: the words of its name."""

    def select(self, rows: Rows) -> "JudgedHeads":
        """Return these of the heads."""
        return JudgedHeads(self.evidence, self.heads.gather(rows), self.listed[rows], self.words[rows])

    @cached_property
    def _true_facts(self) -> pl.DataFrame:
        """The true facts of the heads under all names."""
        return self.evidence.facts.list_true(self.heads.to_frame("head"))

    @cached_property
    def _true(self) -> "csr_array":
        """The pairs that are true, or the same as the head, under any name."""
        true, tails = self._true_facts, self.evidence.tails.to_frame("tail")
        return self._mark(pl.concat([true, self.evidence.facts.exclude(true, tails)]))

    @cached_property
    def _asserted(self) -> "csr_array":
        """The pairs that the base asserts to be false."""
        return self._mark(self.evidence.facts.list_false(self.heads.to_frame("head"), self._true_facts))

    @cached_property
    def _true_names(self) -> "csr_array":
        """One row per head, one column per true tail: 1 where it is true of the head or of a relative."""
        names, facts, true = self.evidence.names, self.evidence.facts, self._true_facts
        if "hierarchy" in facts.evidence and not facts.ancestry.is_empty():
            true = pl.concat([true, facts.list_inherited(self.heads.to_frame("head"))]).unique()
        return _mark_pairs(self.heads, names, true.filter(pl.col("tail").is_in(names.implode())))

    @cached_property
    def _named(self) -> "csr_array":
        """The pairs in which all words of the tail are among those of the head."""
        names = pl.concat([self.heads, self.evidence.tails]).unique().sort()
        ends = locate(names, self.heads), locate(names, self.evidence.tails)
        return _mark_places(*RelatedNames(names).list_general(*ends), (len(self.heads), len(ends[1])))

    def _find_suspects(self, rows: Rows, columns: Rows | slice) -> Flags:
        """Return which pairs the hierarchy or the names exclude."""
        suspect: Flags = (self._true_names[rows] @ self.evidence.excluding)[:, columns].toarray() > 0
        if "names" in self.evidence.facts.evidence:
            suspect |= self._named[rows][:, columns].toarray() > 0
        return suspect

    def _mark(self, pairs: pl.DataFrame) -> "csr_array":
        known = pairs.unique().filter(pl.col("tail").is_in(self.evidence.tails.implode()))
        return _mark_pairs(self.heads, self.evidence.tails, known)

    def judge_pairs(self, rows: Rows, columns: Rows | slice) -> tuple[Flags, Flags, Sums]:
        """Return for some heads (rows) and tails (columns) which pairs may not be negatives, and more.

        Returns:
            Whether a pair may not be a negative; whether it may and the base asserts that it is false; and
            the chance that it is true.
        """
        true, asserted = (marks[rows][:, columns].toarray() > 0 for marks in (self._true, self._asserted))
        chances = np.zeros(true.shape, np.int64)
        if "likeness" in self.evidence.facts.evidence:
            chances = self.evidence.find_chances(self._sum_up_block(rows, columns))
        is_doubtful = (self._find_suspects(rows, columns) | (chances > self.evidence.max_chance)) & ~asserted
        return true | is_doubtful, asserted, chances

    def iterate_possible(self) -> Iterator[Flags]:
        """Yield for each head which tails may be its negatives."""
        at_once = max(1, CELLS_AT_ONCE // max(1, len(self.evidence.tails)))
        for start in range(0, len(self.heads), at_once):
            rows = np.arange(start, min(start + at_once, len(self.heads)))
            yield from ~self.judge_pairs(rows, slice(None))[0]

    def sum_up(self) -> "csr_array":
        """Return the sum of the evidence for all pairs."""
        return (self.listed @ self.evidence.of_tails + self.words @ self.evidence.of_words).tocsr()

    def _sum_up_block(self, rows: Rows, columns: Rows | slice) -> Sums:
        """Return the sums of some heads with some tails."""
        total = np.zeros((len(rows), len(self.evidence.tails[columns])), np.int64)
        for has, of in ((self.listed, self.evidence.of_tails), (self.words, self.evidence.of_words)):
            of_rows = has[rows]
            used = np.unique(of_rows.indices)
            # Few rows of the matrix are needed, and most of its columns are not.
            total += of_rows[:, used] @ of[used][:, columns].toarray()
        return total

    def sum_up_pairs(self, rows: Rows, columns: Rows, omitted: Rows | None = None) -> Sums:
        """Return the sums of some pairs.

        Args:
            omitted: the tail, as a column, of a fact of each head, if the base is to be read as if it did not
                list this fact; the fact may be the pair itself.
        """
        total = np.zeros(len(rows), np.int64)
        is_own = np.zeros(len(rows), np.int64) if omitted is None else (columns == omitted).astype(np.int64)
        for term in self._list_terms(rows, columns):
            own = is_own[term.pair]
            shares = _find_shares(term.together - 2 * own, term.n - own)
            if omitted is not None and term.are_tails:
                shares[term.row == self.evidence.columns[omitted][term.pair]] = 0
            np.add.at(total, term.pair, WEIGHTS[shares])
        return total

    def explain(self, rows: Rows, columns: Rows) -> list[str | None]:
        """Return for some pairs the strongest evidence that they are true, in words; None without any."""
        strongest = np.zeros(len(rows), np.int64)
        reasons: list[str | None] = [None] * len(rows)
        for term in self._list_terms(rows, columns):
            names = self.evidence.names if term.are_tails else self.evidence.vocabulary["part"]
            verb = "have" if term.are_tails else "are named"
            shares = _find_shares(term.together, term.n)
            order = np.lexsort((term.row, -shares, term.pair))
            first = order[np.diff(term.pair[order], prepend=-1) > 0]
            for place in first[shares[first] > strongest[term.pair[first]]].tolist():
                pair = int(term.pair[place])
                strongest[pair] = shares[place]
                reasons[pair] = f"heads that {verb} {names[int(term.row[place])]!r} often have the tail"
        return reasons

    def _list_terms(self, rows: Rows, columns: Rows) -> Iterator["Terms"]:
        """Yield the evidence for some pairs: that of the tails of the heads, then that of their words."""
        evidence = self.evidence
        for are_tails, has, together, n in (
            (True, self.listed, evidence.with_tails, evidence.n_of_tails),
            (False, self.words, evidence.with_words, evidence.n_of_words),
        ):
            of_pairs = has[rows]
            pair = np.repeat(np.arange(len(rows)), np.diff(of_pairs.indptr))
            row = of_pairs.indices
            if len(row):
                yield Terms(are_tails, pair, row, _select(together, row, columns[pair]), n[row])


class Terms(NamedTuple):
    """The evidence of one kind for some pairs: one item per pair and tail, or word, of its head."""

    are_tails: bool
    pair: Rows
    row: Rows
    """The tail or the word, as a row of the matrix."""
    together: Sums
    """Twice the number of heads that have it and the tail of the pair."""
    n: Sums
    """The number of heads that have it."""


def _add_peers(sums: Sums, peers: Peers) -> NDArray[np.float64]:
    """Return the evidence of pairs and of their peers, which count as one head besides the imagined ones."""
    evidence: NDArray[np.float64] = sums - NEPER * np.log1p(-peers.evidence / (PRIOR_HEADS + 1))
    return evidence


def _find_shares(together: Sums, n: Sums) -> Sums:
    """Return shares in thousandths, with the imagined heads."""
    shares: Sums = np.clip(500 * together // (n + PRIOR_HEADS), 0, 1000)
    return shares


def _select(matrix: "csr_array", rows: Rows, columns: Rows) -> Sums:
    values: Sums = np.asarray(matrix[rows, columns]).ravel()
    return values


def locate(names: pl.Series, wanted: pl.Series) -> Rows:
    """Return the position of each wanted name among distinct names."""
    places = names.to_frame("name").with_row_index("place")
    located = wanted.to_frame("name").join(places, on="name", how="left", maintain_order="left")
    return located["place"].to_numpy().astype(np.int64)


def _mark_pairs(heads: pl.Series, names: pl.Series, pairs: pl.DataFrame) -> "csr_array":
    """Return one row per head and one column per name: 1 where they are among the distinct pairs."""
    places = locate(heads, pairs["head"]), locate(names, pairs["tail"])
    return _mark_places(*places, (len(heads), len(names)))


def _mark_places(rows: Rows, columns: Rows, shape: tuple[int, int]) -> "csr_array":
    # The import takes 0.3 s, and most commands draw nothing.
    from scipy.sparse import csr_array

    marks = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
    marks.data[:] = 1
    return marks


def _count(marks: "csr_array") -> Sums:
    counts: Sums = np.asarray(marks.sum(axis=0)).ravel()
    return counts


def _weigh(together: "csr_array", n: Sums) -> "csr_array":
    """Return the weight of each share: of the n heads of the row, those that have the tail of the column."""
    weighed = together.copy()
    weighed.data = WEIGHTS[_find_shares(together.data, np.repeat(n, np.diff(together.indptr)))]
    return weighed


def _fit_rising(parts: Sums, totals: Sums) -> Sums:
    """Return the shares of the classes, of UNIT, after neighbours with falling shares were pooled.

    Source: the pool-adjacent-violators algorithm (Ayer et al. 1955).
    """
    pools: list[tuple[int, int, int]] = []
    for part, total in zip(parts.tolist(), totals.tolist(), strict=True):
        pool = (part, total, 1)
        while pools and pools[-1][0] * pool[1] >= pool[0] * pools[-1][1]:
            part_before, total_before, n_before = pools.pop()
            pool = (pool[0] + part_before, pool[1] + total_before, pool[2] + n_before)
        pools.append(pool)
    # An imagined unlisted pair keeps the share of a small pool below 1.
    shares = [UNIT * part // (total + 10 - MISSING) for part, total, _ in pools]
    return np.repeat(shares, [n for _, _, n in pools])


def _classify(sums: Sums) -> Sums:
    classes: Sums = np.searchsorted(EDGES, sums, side="right") - 1
    return classes


def _count_classes(sums: Sums) -> Sums:
    return np.bincount(_classify(sums), minlength=len(EDGES))
