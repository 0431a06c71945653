"""What a reference model is taught: known heads, drawn anew as an edition of its own in every epoch."""

from collections import defaultdict
from dataclasses import dataclass
from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from prototypes.pool import Pool
from schemas.hashing import draw_order, hash_text
from tasks.prompts import Demonstration, draw_demonstrations
from tasks.samples import reword_statements
from tasks.statements import fill_prototypes
from tasks.triplets import N_DEMONSTRATIONS, Sampling, sample_triplets
from tasks.variants import derive_variants

# Editions of users have small seeds; the epochs' lie far from them.
FIRST_SEED = 1_000_000
# How often a prompt opens with the demonstrations that the evaluation uses.
SHARE_EVALUATED_DEMONSTRATIONS = 0.25

Unit = tuple[str, str]


@dataclass(frozen=True)
class Lesson:
    """A prompt with the answers to all of its statements."""

    shots: tuple[Demonstration, ...]


def choose_known_heads(base: KnowledgeBase, share: float, salt: str) -> frozenset[Unit]:
    """(relation, head) units that a model learns: about ``share`` of all.

    Units that state the same pair of entities (a drug may treat a disease; the disease has the drug)
    are learned together or not at all, or what is unseen could be read off what is known.
    """
    groups = _group_units(base)
    n_units = sum(len(group) for group in groups)
    known: set[Unit] = set()
    for key in draw_order(("\t".join(min(group)) for group in groups), "known", salt):
        group = next(g for g in groups if "\t".join(min(g)) == key)
        if len(known) + len(group) <= share * n_units:
            known.update(group)
    return frozenset(known)


def _group_units(base: KnowledgeBase) -> list[set[Unit]]:
    units_of_pair: dict[frozenset[str], set[Unit]] = defaultdict(set)
    group_of: dict[Unit, set[Unit]] = {}
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        units_of_pair[frozenset((head, tail))].add((relation, head))
        group_of[relation, head] = {(relation, head)}
    for units in units_of_pair.values():
        merged = set().union(*(group_of[unit] for unit in units))
        for unit in merged:
            group_of[unit] = merged
    return list({id(group): group for group in group_of.values()}.values())


def draw_samples(base: KnowledgeBase, pool: Pool, seed: int) -> pl.DataFrame:
    """The samples of the edition with this seed, with the head beside each: all relations together."""
    frames = []
    for relation in base.relations:
        prototypes = pool.relations[relation]
        triplets = sample_triplets(relation, base.select_relation(relation), Sampling(seed)).frame
        variants = derive_variants(triplets, prototypes.instance)
        statements = fill_prototypes(variants, triplets, prototypes)
        samples = reword_statements(statements, triplets, prototypes, seed)
        heads = triplets.select("triplet_id", "head", "is_positive")
        frames.append(samples.join(heads, on="triplet_id", how="left", maintain_order="left"))
    return pl.concat(frames)


def draw_lessons(
    base: KnowledgeBase, pool: Pool, known: frozenset[Unit], epoch: int, with_negated: bool = True
) -> list[Lesson]:
    """Every known head's sixteen samples of one epoch, six to a prompt, in drawn order.

    Args:
        with_negated: false for the eight samples that are not negated. What is true is learned
            in fewer epochs before its denial is asked as well.
    """
    samples = draw_samples(base, pool, FIRST_SEED + epoch)
    if not with_negated:
        samples = samples.filter(~pl.col("transformation").str.ends_with("dn"))
    evaluated = draw_demonstrations(samples)
    random = Random(hash_text("lessons", str(epoch)))
    rows_of_group: dict[tuple[str, str], list[Demonstration]] = defaultdict(list)
    for relation, head, transformation, split, text, label in samples.select(
        "relation", "head", "transformation", "split", "text", "label"
    ).iter_rows():
        if split == "demonstration" or (relation, head) in known:
            rows_of_group[relation, transformation].append(Demonstration(text, label))
    lessons = []
    for group, rows in rows_of_group.items():
        random.shuffle(rows)
        while rows:
            if random.random() < SHARE_EVALUATED_DEMONSTRATIONS:
                lessons.append(Lesson((*evaluated[group], rows.pop())))
            else:
                n_shots = N_DEMONSTRATIONS + 1
                lessons.append(Lesson(tuple(rows[:n_shots])))
                del rows[:n_shots]
    random.shuffle(lessons)
    return lessons
