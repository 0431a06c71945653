"""The heads that a reference model is to know."""

from collections import defaultdict

from knowledge.base import KnowledgeBase
from primitives.hashing import draw_order
from training.strangers import Unit


def choose_known_heads(base: KnowledgeBase, share: float, salt: str) -> frozenset[Unit]:
    """Return the (relation, head) units that a model learns: about ``share`` of all.

    The model learns units of the same head together or not at all. The same holds for units that state the
    same pair of entities (a drug may treat a disease; the disease has the drug). Otherwise a model could
    derive unseen units from known ones: when we grouped by pairs alone, a model was right on 55 % of them.
    """
    groups = {"\t".join(min(group)): group for group in _group_units(base)}
    n_units = sum(len(group) for group in groups.values())
    known: set[Unit] = set()
    for name in draw_order(groups, "known", salt):
        if len(known) + len(groups[name]) <= share * n_units:
            known.update(groups[name])
    return frozenset(known)


def _group_units(base: KnowledgeBase) -> list[set[Unit]]:
    sharing: dict[str | frozenset[str], set[Unit]] = defaultdict(set)
    group_of: dict[Unit, set[Unit]] = {}
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        group_of[relation, head] = {(relation, head)}
        for what in (head, frozenset((head, tail))):
            sharing[what].add((relation, head))
    for units in sharing.values():
        merged: set[Unit] = set().union(*(group_of[unit] for unit in units))
        for unit in merged:
            group_of[unit] = merged
    return list({id(group): group for group in group_of.values()}.values())
