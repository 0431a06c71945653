"""The facts of a relation as columns: the heads that are tested, and what is true of some of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from pretexeval.config.tables import EVIDENCE, EvidenceKind
from pretexeval.knowledge.base import HIERARCHY, KnowledgeBase
from pretexeval.knowledge.hierarchy import are_inverse, climb, join_hierarchies, list_groups, turn_edges
from pretexeval.knowledge.names import AliasTable, key_variants, list_keys
from pretexeval.primitives.mixing import combine, hash_column

PAIR = ["head", "tail"]
MAYBE = "maybe "
"""Prefix of a guessed shape."""
CLOSED = ("transitive", f"{MAYBE}transitive")
"""The shapes of which the closure may be true."""
EQUIVALENCE, FUNCTIONAL, DIRECTED = "equivalence", "functional", "directed"
MAYBE_SYMMETRIC = f"{MAYBE}symmetric"
REVERSIBLE = ("symmetric", MAYBE_SYMMETRIC, f"{MAYBE}transitive")
"""The shapes of which a reversed row may be true."""
MAX_CLOSURE, N_CLOSED = 6, 500
"""A small closure has at most so many facts for each listed one; it is found for about so many heads."""
MAX_CLASS, MAX_CLASS_SHARE = 12, 0.25
"""The most keys, and the greatest share of all keys, of names that may be one class of an equivalence."""
MAX_PAIR = 4
"""The most keys of two names with ids."""


class SameNames:
    """Groups of names that are the same: those with a key in common, directly or through other names.

    A name that was not given is a group of its own.
    """

    def __init__(self, keys: Iterable[tuple[str, str]]) -> None:
        """Group the names, each given with one of its keys."""
        edges = pl.DataFrame(list(keys), schema=["child", "parent"], orient="row")
        groups = list_groups(edges.with_columns(pl.format("={}", "child").alias("child")), "weak")
        named = [frozenset(key[1:] for key in group if key.startswith("=")) for group in groups]
        self._group_of = {name: min(group) for group in named for name in group}
        self._names_of = {min(group): group for group in named}

    def find_group(self, name: str) -> str:
        """Return the first name of its group, which identifies the group."""
        return self._group_of.get(name, name)

    def find_groups(self, names: Iterable[str]) -> set[str]:
        """Return the groups of the names."""
        return {self.find_group(name) for name in names}

    def list_same(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names and all names that are the same as one of them."""
        return frozenset().union(
            *(self._names_of.get(self.find_group(name), frozenset((name,))) for name in names)
        )


@dataclass(frozen=True, eq=False)
class RelationFacts:
    """The rows of one relation of the knowledge base."""

    relation: str
    rows: pl.DataFrame
    also_false: pl.DataFrame
    hierarchy: pl.DataFrame
    """The hierarchy of the base."""
    evidence: tuple[EvidenceKind, ...] = EVIDENCE
    """Kinds of evidence that exclude negatives besides what the base lists."""
    shape: str | None = None
    """The shape that follows from its rows (tasks/drawing/shapes.py); None if none does."""
    aliases: AliasTable = field(default_factory=AliasTable)
    """The aliases by which names are the same."""
    base: KnowledgeBase | None = None
    """The base, whose other relations may say the same as this one; None: none does."""

    @cached_property
    def heads(self) -> pl.DataFrame:
        """The heads that can be tested, sorted, each with the hash of its name as number."""
        names = self.rows.filter(~pl.col("also_true"))["head"].unique().sort()
        return pl.DataFrame({"head": names, "number": hash_column(names)})

    def order_heads(self, *salt: str) -> pl.Series:
        """Return the heads in a drawn order; of equal numbers, the first name comes first."""
        numbers = combine(*salt, self.relation, self.heads["number"].to_numpy())
        return self.heads.select("head", drawn=numbers).sort("drawn", "head")["head"]

    def order_tails(self, *salt: str) -> pl.Series:
        """Return the tails of the tested facts in a drawn order, as `order_heads` does."""
        numbers = combine(*salt, self.relation, hash_column(self.tails))
        return pl.DataFrame({"tail": self.tails, "drawn": numbers}).sort("drawn", "tail")["tail"]

    def draw(self, facts: pl.DataFrame, *salt: str) -> pl.DataFrame:
        """Return facts sorted by head and then in a drawn order; of equal numbers, by tail."""
        names = hash_column(facts["head"]), hash_column(facts["tail"])
        numbers = combine(*salt, self.relation, *names)
        return facts.with_columns(drawn=numbers).sort("head", "drawn", "tail").drop("drawn")

    @cached_property
    def tails(self) -> pl.Series:
        """The tails of the facts that can be tested, sorted."""
        return self.rows.filter(~pl.col("also_true"))["tail"].unique().sort()

    @cached_property
    def frequencies(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Count the facts of each head and of each tail of the relation.

        The draw cannot keep every fact: a tail that most heads have is false of too few heads, and a head
        whose name betrays its tail is left out. So the tested facts are not a random part of the base, and
        the warehouse weighs them by how common their tails are (warehouse/means.py).
        The population is one fact of every head, and each of its facts has the same chance. It contains the
        general tails that are not asked.

        Returns:
            Two tables. Heads: head and head_frequency, the number of its tails. Tails: tail, tail_frequency,
            the number of its heads, and tail_commonness, the share of the population whose tails are rarer.
        """
        is_asked = ~pl.col("also_true")
        if "is_general" in self.rows.columns:
            is_asked |= pl.col("is_general")
        listed = self.rows.filter(is_asked).select(PAIR).unique()
        listed = listed.with_columns(head_frequency=pl.len().over("head"))
        heads = listed.select("head", "head_frequency").unique()
        part = (1 / pl.col("head_frequency")).sum()
        tails = listed.group_by("tail").agg(tail_frequency=pl.len(), part=part)
        parts = tails.sort("tail").group_by("tail_frequency").agg(pl.col("part").sum()).sort("tail_frequency")
        rarer = (parts["part"].cum_sum() - parts["part"]) / heads.height
        common = parts.select("tail_frequency", tail_commonness=rarer.round(6))
        return heads, tails.drop("part").join(common, on="tail_frequency")

    @cached_property
    def same_tails(self) -> SameNames:
        """The groups of its tails that are the same."""
        return SameNames(self.tail_keys.iter_rows())

    @cached_property
    def head_keys(self) -> pl.DataFrame:
        """The keys of every head, as the columns head and key."""
        return self._list_keys(self.rows, "head")

    @cached_property
    def tail_keys(self) -> pl.DataFrame:
        """The keys of every tail of a true or a false fact, as the columns tail and key."""
        ends = ["tail", "tail_id"]
        return self._list_keys(pl.concat([self.rows.select(ends), self.also_false.select(ends)]), "tail")

    def _list_keys(self, rows: pl.DataFrame, end: str) -> pl.DataFrame:
        return self._join_keys(list_keys(rows, end), key_variants(rows[end].unique()), end)

    def _join_keys(self, keys: pl.DataFrame, variants: pl.DataFrame, end: str) -> pl.DataFrame:
        named = [self.aliases.alias_keys.join(keys, on="name", how="semi")]
        if "names" in self.evidence:
            named.append(variants)
        return pl.concat([keys, *named]).unique(maintain_order=True).rename({"name": end})

    def list_true(self, heads: pl.DataFrame) -> pl.DataFrame:
        """Return the distinct true facts of some heads, under all names of their tails.

        These are the tails of all heads that share a key with them, the facts of relations that say the same,
        what follows from the shape of the relation, and the tails that share a key with these.

        Args:
            heads: the column head.
        """
        listed = self._list_facts(heads, self.head_keys, self.rows).join(self.tail_keys, on="tail")
        own = self.head_keys.join(heads, on="head", how="semi")
        restated = own.join(self.restated, left_on="key", right_on="child").select("head", key="parent")
        keys = pl.concat([listed.select("head", "key"), restated]).unique()
        if self.shape in CLOSED or self.may_be_closed:
            keys = climb(keys, self.links)
        elif not self._turned.is_empty():
            keys = climb(keys, self._turned)
        implied = [keys]
        # The reverse of a fact costs one twin, so it is also excluded where nothing says which shape it is.
        if self.shape in REVERSIBLE or (self.shape is None and "hierarchy" in self.evidence):
            implied.append(own.join(self.links, left_on="key", right_on="parent").select("head", key="child"))
        classes = own.join(self.classes, on="key").select("head", "number").unique()
        implied.append(classes.join(self.classes, on="number").select("head", "key"))
        keys = pl.concat(implied).unique()
        return keys.join(self.tail_keys, on="key").select(PAIR).unique()

    @cached_property
    def links(self) -> pl.DataFrame:
        """The distinct facts as edges from a key of the head, child, to a key of the tail, parent."""
        return pl.concat([self._own_links, self.restated]).unique()

    @cached_property
    def _own_links(self) -> pl.DataFrame:
        return self._link(self.rows, self.head_keys, self.tail_keys)

    def _link(self, rows: pl.DataFrame, heads: pl.DataFrame, tails: pl.DataFrame) -> pl.DataFrame:
        of_heads = rows.select(PAIR).unique().join(heads, on="head").rename({"key": "child"})
        edges = of_heads.join(tails, on="tail").select("child", parent="key").unique()
        return edges.filter(pl.col("child") != pl.col("parent"))

    @cached_property
    def restated(self) -> pl.DataFrame:
        """The facts of relations that say the same, or the inverse, as edges like those of `links`."""
        found = [self._link(rows, *keys) for rows, keys in self._restatements]
        return pl.concat([self._turned, *found]).unique()

    @cached_property
    def _hierarchies(self) -> list[pl.DataFrame]:
        """The edges of the hierarchy of the base, and of each other relation that may be one."""
        if self.base is None:
            return [self.hierarchy]
        others = list_hierarchies(self.base, self.relation)
        return [self.hierarchy, *(list_edges(self.base, name) for name in others)]

    @cached_property
    def _turned(self) -> pl.DataFrame:
        """The edges of the hierarchies that are the inverse of this relation, turned round."""
        found = [turn_edges(edges) for edges in self._hierarchies if self._is_inverse(edges)]
        return pl.concat([pl.DataFrame(schema=HIERARCHY), *found]).unique()

    def _is_inverse(self, edges: pl.DataFrame) -> bool:
        return "hierarchy" in self.evidence and are_inverse(self._own_links, edges)

    @cached_property
    def ancestry(self) -> pl.DataFrame:
        """The edges of the hierarchy of the base and of the other relations that may be one.

        An inverse of this relation is no hierarchy of its names: everything would be above or below every
        head. Of two inverse hierarchies, one is turned round.
        """
        return join_hierarchies([edges for edges in self._hierarchies if not self._is_inverse(edges)])

    def list_restating(self) -> list[str]:
        """Return the names of the other relations that say the same as this one, or the inverse."""
        return sorted({name for rows, _ in self._restatements for name in rows["relation"].unique()})

    @cached_property
    def _restatements(self) -> list[tuple[pl.DataFrame, list[pl.DataFrame]]]:
        """The facts of relations that say the same, with the keys of their heads and of their tails.

        The facts of an inverse relation are turned round.
        """
        if self.base is None or "hierarchy" not in self.evidence:
            return []
        others = self.base.triplets.filter(pl.col("relation") != self.relation)
        found = []
        for ends in (PAIR, PAIR[::-1]):
            facts = others.select("relation", head=ends[0], tail=ends[1])
            keys = [self._join_keys(*self.base.keys[end], own) for end, own in zip(ends, PAIR, strict=True)]
            rows = self._select_restating(facts, keys, is_inverse=ends != PAIR)
            if not rows.is_empty():
                found.append((rows, keys))
        return found

    def _select_restating(
        self, facts: pl.DataFrame, keys: list[pl.DataFrame], *, is_inverse: bool
    ) -> pl.DataFrame:
        """Return the facts of the relations that say the same.

        A relation says the same if half of its facts whose head and tail this one knows are facts of this
        one. For an inverse, it also suffices that this one knows both names of half of its facts.
        """
        known, ends = facts, list(zip(PAIR, keys, (self.head_keys, self.tail_keys), strict=True))
        for end, of_end, own in ends:
            known = known.join(of_end.join(own, on="key", how="semi"), on=end, how="semi")
        # In most bases, no relation says the same as another one.
        if known.is_empty():
            return known
        known = known.unique().with_row_index("row")
        for end, of_end, own in ends:
            same = of_end.join(own.rename({end: f"own_{end}"}), on="key").drop("key")
            known = known.join(same.unique(), on=end)
        listed = known.join(self.rows, left_on=["own_head", "own_tail"], right_on=PAIR, how="semi")
        facts = facts.join(known, on="relation", how="semi").unique()
        counted = facts.group_by("relation").agg(n=pl.len())
        for rows, name in ((known, "n_known"), (listed, "n_listed")):
            counts = rows.group_by("relation").agg(pl.col("row").n_unique().alias(name))
            counted = counted.join(counts, on="relation", how="left").fill_null(0)
        is_same = (2 * pl.col("n_listed") >= pl.col("n_known")) & (pl.col("n_listed") > 0)
        if is_inverse:
            is_same |= 2 * pl.col("n_known") >= pl.col("n")
        return facts.join(counted.filter(is_same), on="relation", how="semi")

    @cached_property
    def classes(self) -> pl.DataFrame:
        """The classes of an equivalence, as the columns number and key; empty for other shapes.

        If the shape is guessed, these are single pairs, small groups with names that are heads and tails, and
        all small groups if most of their names are in such groups.
        """
        links = self.links if self.shape == EQUIVALENCE or self.is_guessed else self.links.clear()
        groups = list_groups(links, "weak")
        if self.is_guessed:
            shared = set(links["child"]).intersection(links["parent"])
            limit = min(MAX_CLASS, MAX_CLASS_SHARE * sum(map(len, groups)))
            small = [group for group in groups if len(group) <= limit]
            sharing = [group for group in small if not shared.isdisjoint(group)]
            are_most = 2 * sum(map(len, sharing)) > sum(map(len, small))
            groups = small if are_most else sharing + [group for group in small if len(group) <= MAX_PAIR]
        keys = pl.DataFrame({"key": groups}, schema={"key": pl.List(pl.String)})
        return keys.with_row_index("number").explode("key")

    @cached_property
    def may_be_closed(self) -> bool:
        """Return whether rows that look like a sorted list of pairs may be the levels of a hierarchy.

        Then they run in no circle, and the closure of some evenly chosen heads is small. The closure of a
        list of pairs is nearly everything, so that all of it takes too much memory in a large base.
        """
        if self.shape != MAYBE_SYMMETRIC or max(map(len, list_groups(self.links, "strong")), default=0) > 1:
            return False
        names = self.links["child"].unique().sort()
        some = names.gather_every(max(1, len(names) // N_CLOSED))
        facts = self.links.filter(pl.col("child").is_in(some.implode())).select(head="child", key="parent")
        return climb(facts, self.links).height <= MAX_CLOSURE * facts.height

    @property
    def is_guessed(self) -> bool:
        """Return whether its shape is guessed."""
        return self.shape is not None and self.shape.startswith(MAYBE)

    def list_asserted(self, heads: pl.DataFrame) -> pl.DataFrame:
        """Return the distinct facts of some heads that the base asserts to be false, true ones among them."""
        keys = list_keys(self.also_false, "head").rename({"name": "head"})
        return self._list_facts(heads, keys, self.also_false)

    def list_false(self, heads: pl.DataFrame, true: pl.DataFrame) -> pl.DataFrame:
        """Return the facts that `list_asserted` returns, without those that are true or undecided.

        What is above a true tail in the hierarchy is true, and what is below it is undecided.

        Args:
            true: the true facts of the heads.
        """
        asserted = self.list_asserted(heads)
        known = [self.exclude(true, asserted.select("tail").unique())]
        if "hierarchy" in self.evidence:
            others = asserted.join(self.relatives, on="tail")
            known.append(
                others.join(true, left_on=["head", "relative"], right_on=PAIR, how="semi").select(PAIR)
            )
        return asserted.join(pl.concat(known), on=PAIR, how="anti")

    @cached_property
    def relatives(self) -> pl.DataFrame:
        """Pairs of tails of which one is above the other in the hierarchy: tail and relative, both ways."""
        return self._pair_relatives(self.tail_keys, "tail")

    @cached_property
    def _related_heads(self) -> pl.DataFrame:
        return self._pair_relatives(self.head_keys, "head")

    def _pair_relatives(self, keys: pl.DataFrame, end: str) -> pl.DataFrame:
        above = climb(keys, self.ancestry).join(keys.select("key", relative=end), on="key")
        pairs = above.select(end, "relative").unique()
        return pl.concat([pairs, pairs.select(pl.col("relative").alias(end), relative=end)]).unique()

    def list_inherited(self, heads: pl.DataFrame) -> pl.DataFrame:
        """Return, as facts of some heads, what is true of those above or below them in the hierarchy."""
        known = self._related_heads.join(heads, on="head", how="semi")
        facts = self.list_true(known.select(head="relative").unique()).rename({"head": "relative"})
        inherited = known.join(facts, on="relative").select(PAIR)
        if self.shape in CLOSED:
            # A part of a kind of a part is a part.
            own = self.head_keys.join(heads, on="head", how="semi")
            above = climb(own, pl.concat([self.links, self.ancestry]).unique())
            inherited = pl.concat([inherited, above.join(self.tail_keys, on="key").select(PAIR)])
        return inherited.unique()

    def _list_facts(self, heads: pl.DataFrame, keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        own = self.head_keys.join(heads, on="head", how="semi")
        peers = own.join(keys.rename({"head": "peer"}), on="key").select("head", "peer").unique()
        return peers.join(rows.select(peer="head", tail="tail"), on="peer").select(PAIR).unique()

    def exclude(self, true: pl.DataFrame, tails: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs of a head and a tail of which the base says that they are true or the same.

        Args:
            true: the true facts of the heads.
            tails: the column tail: the tails that could be drawn.
        """
        heads = true.select("head").unique()
        of_heads = self.head_keys.join(heads, on="head", how="semi").select("head", "key")
        of_tails = true.join(self.tail_keys, on="tail").select("head", "key")
        keys = pl.concat([of_heads, of_tails]).unique()
        possible = self.tail_keys.join(tails, on="tail", how="semi")
        return keys.join(possible, on="key").select(PAIR).unique()

    def list_tested(self, heads: pl.DataFrame) -> pl.DataFrame:
        """Return the distinct facts of some heads that can be positives."""
        tested = self.rows.filter(~pl.col("also_true"))
        return tested.join(heads, on="head", how="semi").select(PAIR).unique()

    def list_ids(self, names: pl.DataFrame) -> pl.DataFrame:
        """Return some names with their ids; if a name has several ids, the smallest of them.

        Args:
            names: the column head or tail; its ids are in the column `<end>_id`.
        """
        end = names.columns[0]
        found = [
            rows.select(end, f"{end}_id").join(names, on=end, how="semi")
            for rows in (self.rows, self.also_false)
        ]
        return pl.concat(found).group_by(end).agg(pl.col(f"{end}_id").min())

    def list_ages(self, heads: pl.DataFrame) -> pl.DataFrame:
        """Return the age of each fact of some heads; empty if the base has no ages."""
        rows = self.rows.join(heads, on="head", how="semi")
        if "first_release" not in rows.columns:
            rows = rows.head(0).with_columns(first_release=pl.lit(None, pl.String))
        known = rows.filter(pl.col("first_release").is_not_null()).select(*PAIR, "first_release")
        return known.group_by(PAIR).agg(pl.col("first_release").min()).with_columns(is_positive=pl.lit(True))


def collect_facts(
    base: KnowledgeBase, relation: str, evidence: tuple[EvidenceKind, ...] = EVIDENCE
) -> RelationFacts:
    """Return the facts of a relation of the knowledge base."""
    rows, also_false = base.select_relation(relation), base.select_false(relation)
    shape = base.shapes.get(relation)
    return RelationFacts(relation, rows, also_false, base.hierarchy, evidence, shape, base.aliases, base)


def list_hierarchies(base: KnowledgeBase, relation: str) -> list[str]:
    """Return the other relations whose facts are, or may be, a hierarchy of the names of this one."""
    shapes = (*CLOSED, EQUIVALENCE, MAYBE_SYMMETRIC)
    return [name for name, shape in base.shapes.items() if name != relation and shape in shapes]


def list_edges(base: KnowledgeBase, relation: str) -> pl.DataFrame:
    """Return the edges of a hierarchy of other relations, which are both ways within a class."""
    rows, shape = base.select_relation(relation), base.shapes[relation]
    facts = RelationFacts(relation, rows, rows.clear(), base.hierarchy, shape=shape, aliases=base.aliases)
    same = facts.links.join(facts.classes, left_on="child", right_on="key", how="semi")
    found = [same, turn_edges(same)]
    return pl.concat([*found, *([facts.links] if shape in CLOSED else [])]).unique()
