"""Count what all models will be asked about, while the pieces of an edition pass by."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from preflight.evaluation_estimates import AskedSamples, EvaluationTally, select_asked_samples
from tasks.edition.preview import PiecePreview
from tasks.evaluation.asked_pairs import RelationSize, divide_budget, measure_relation
from tasks.evaluation.demonstrations import DemonstrationsOfGroup, draw_demonstrations_of_methods
from tasks.evaluation.requests import select_samples


@dataclass(frozen=True)
class AskedPairs:
    """How many pairs of a relation a model is asked about within its budget."""

    model: str
    relation: str
    n_asked_pairs: int
    n_pairs: int
    """The test pairs of the relation."""


@dataclass
class CountedSamples:
    """The samples of an edition, and the prompts of its evaluations. Few samples are in memory at a time.

    Models that are asked about all pairs are counted at once. Of the others, the pairs that may be asked are
    kept until it is known how many are.
    """

    tallies: Sequence[EvaluationTally]
    sizes: dict[str, RelationSize] = field(default_factory=dict)
    """Relation -> how many pairs it has."""
    n_samples: Counter[str] = field(default_factory=Counter)
    """Method -> number of its test samples."""
    _demonstrations: dict[str, dict[str, DemonstrationsOfGroup]] = field(default_factory=dict)
    """Relation -> the demonstrations of its methods."""
    _unwritten: frozenset[str] = frozenset()
    """Methods whose texts a language model has yet to write."""
    _kept: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """Relation -> the samples that the models with a limit or a budget may be asked about."""

    def add(self, piece: PiecePreview) -> None:
        """Count a piece. The first piece of a relation has its demonstrations."""
        relation = piece.relation
        if relation not in self._demonstrations:
            self._demonstrations[relation] = draw_demonstrations_of_methods(piece.samples)
        self._unwritten |= piece.unwritten_methods
        size, earlier = measure_relation(piece.samples), self.sizes.get(relation, RelationSize(0, 0))
        self.sizes[relation] = RelationSize(
            earlier.n_pairs + size.n_pairs, max(earlier.n_samples_of_pair, size.n_samples_of_pair)
        )
        tested = piece.samples.filter(split="test")
        self.n_samples.update(dict(tested.group_by("method").len().iter_rows()))
        limits = [_limit_pairs(tally, size) for tally in self.tallies]
        if known := [limit for limit in limits if limit is not None]:
            self._kept.setdefault(relation, []).append(select_samples(tested, max(known)))
        if None in limits:
            asked = self._select(relation, tested, None)
            for tally, limit in zip(self.tallies, limits, strict=True):
                if limit is None:
                    tally.add(asked)

    def count_limited(self) -> list[AskedPairs]:
        """Count what the models with a limit or a budget are asked; return the shares of the budgets.

        Raises:
            InputError: a budget is too small.
        """
        limits, asked_pairs = [], []
        for tally in filter(_is_limited, self.tallies):
            model, n_repeats = tally.evaluation.model, tally.evaluation.subject.n_repeats
            of_relations = dict.fromkeys(self.sizes, model.pairs_per_relation)
            if model.budget is not None:
                divided = divide_budget(model.budget, self.sizes, n_repeats)
                of_relations.update(divided)
                asked_pairs += [
                    AskedPairs(model.name, relation, n_asked, self.sizes[relation].n_pairs)
                    for relation, n_asked in divided.items()
                ]
            limits.append((tally, of_relations))
        for relation, kept in self._kept.items():
            samples, asked = pl.concat(kept), dict[int | None, AskedSamples]()
            for tally, of_relations in limits:
                limit = of_relations[relation]
                if limit not in asked:
                    asked[limit] = self._select(relation, samples, limit)
                tally.add(asked[limit])
        return asked_pairs

    def _select(self, relation: str, samples: pl.DataFrame, limit: int | None) -> AskedSamples:
        return select_asked_samples(samples, self._demonstrations[relation], self._unwritten, limit)


def _is_limited(tally: EvaluationTally) -> bool:
    return tally.evaluation.model.pairs_per_relation is not None or tally.evaluation.model.budget is not None


def _limit_pairs(tally: EvaluationTally, size: RelationSize) -> int | None:
    """Return how many pairs of a relation a model is asked about at most; None: all of them."""
    model = tally.evaluation.model
    if model.budget is None:
        return model.pairs_per_relation
    return model.budget // max(tally.evaluation.subject.n_repeats * size.n_samples_of_pair, 1)
