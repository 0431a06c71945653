"""What a reference model is taught: the heads it is to know, in four phases, each with fresh draws.

Bare triplets first: that two entities belong together is learned from five tokens in minutes, where
whole prompts show nothing for an hour. Then bare triplets and statements in turns, then statements
alone, then prompts of six as the evaluation asks them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from prototypes.pool import Pool
from schemas.hashing import draw_order, hash_text
from schemas.transformations import POSITIVE_OF
from tasks.prompts import QUESTION, Demonstration, PromptForm, draw_demonstrations
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
    """A text with its answers in it, and what is so of its statements."""

    text: str
    truths: tuple[bool, ...]
    """For each statement whether its triplet is true, be it affirmed or denied."""
    is_negated: bool


def choose_known_heads(base: KnowledgeBase, share: float, salt: str) -> frozenset[Unit]:
    """(relation, head) units that a model learns: about ``share`` of all.

    Units of the same head are learned together or not at all, and so are units that state the same
    pair of entities (a drug may treat a disease; the disease has the drug): what is unseen could be
    read off what is known otherwise. With pairs alone a model was right on 55 % of the unseen.
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


def draw_bare_triplets(
    base: KnowledgeBase, known: frozenset[Unit], epoch: int, *, is_framed: bool
) -> list[Lesson]:
    """Every tested triplet of the known heads, each with a false one, as names without a sentence.

    The tails of a relation are nearly the same multiset in both, so that no tail tells the answer.

    Args:
        is_framed: whether they stand in the frame of a prompt's question.
    """
    true_tails: dict[Unit, set[str]] = defaultdict(set)
    facts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    rows = base.triplets.select("relation", "head", "tail", "also_true")
    for relation, head, tail, also_true in rows.iter_rows():
        true_tails[relation, head].add(tail)
        if not also_true and (relation, head) in known:
            facts[relation].append((head, tail))
    random = Random(hash_text("bare", str(epoch)))
    lessons = []
    for relation, pairs in facts.items():
        tails = [tail for _, tail in pairs]
        random.shuffle(tails)
        for (head, tail), other in zip(pairs, tails, strict=True):
            false_tail = _avoid(other, tails, true_tails[relation, head], random)
            for each, truth in ((tail, True), (false_tail, False)):
                if each is not None:
                    names = random.sample((head, each), 2)
                    lessons.append(_write_bare(relation, names, truth, is_framed))
    random.shuffle(lessons)
    return lessons


def _write_bare(relation: str, names: list[str], truth: bool, is_framed: bool) -> Lesson:
    words = " ".join((relation.replace("_", " "), *names))
    question = QUESTION.format(" " + words) if is_framed else " " + words
    return Lesson(f"{question} {truth}", (truth,), is_negated=False)


def _avoid(tail: str, tails: list[str], excluded: set[str], random: Random) -> str | None:
    for _ in range(20):
        if tail not in excluded:
            return tail
        tail = random.choice(tails)
    return None


def draw_samples(base: KnowledgeBase, pool: Pool, seed: int) -> pl.DataFrame:
    """The samples of the edition with this seed, with head and truth of the triplet beside each."""
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


def draw_statements(
    base: KnowledgeBase,
    pool: Pool,
    known: frozenset[Unit],
    epoch: int,
    *,
    is_alone: bool,
    n_more_negatives: int = 0,
) -> list[Lesson]:
    """Every known head's sixteen samples of one epoch, alone or six to a prompt, in drawn order.

    Args:
        n_more_negatives: further negative triplets of each head. Without any, a model takes one in
            seven of the pairs that it never saw for true.
    """
    seed = FIRST_SEED + epoch
    samples = draw_samples(base, pool, seed)
    further = (draw_samples(base, pool, seed + more * FIRST_SEED) for more in range(1, n_more_negatives + 1))
    negatives = [frame.filter(~pl.col("is_positive"), pl.col("split") == "test") for frame in further]
    samples = pl.concat([samples, *negatives])
    evaluated = draw_demonstrations(samples)
    random = Random(hash_text("statements", str(epoch)))
    shots_of_group: dict[tuple[str, str], list[Demonstration]] = defaultdict(list)
    columns = ("relation", "head", "transformation", "split", "text", "label")
    for relation, head, transformation, split, text, label in samples.select(columns).iter_rows():
        if split == "demonstration" or (relation, head) in known:
            shots_of_group[relation, transformation].append(Demonstration(text, label))
    lessons = []
    for (relation, transformation), shots in shots_of_group.items():
        random.shuffle(shots)
        demonstrations = evaluated[relation, transformation]
        prompts = [(s,) for s in shots] if is_alone else _fill_prompts(shots, demonstrations, random)
        lessons += [_write_lesson(prompt, transformation in POSITIVE_OF) for prompt in prompts]
    random.shuffle(lessons)
    return lessons


def _fill_prompts(
    shots: list[Demonstration], evaluated: tuple[Demonstration, ...], random: Random
) -> Iterable[tuple[Demonstration, ...]]:
    """Prompts of six: some after the demonstrations of the evaluation, some of six fresh shots."""
    while shots:
        n_fresh = 1 if random.random() < SHARE_EVALUATED_DEMONSTRATIONS else N_DEMONSTRATIONS + 1
        yield (*(evaluated if n_fresh == 1 else ()), *shots[:n_fresh])
        del shots[:n_fresh]


def _write_lesson(shots: tuple[Demonstration, ...], is_negated: bool) -> Lesson:
    question = PromptForm().render(shots[:-1], shots[-1].text).text
    truths = tuple(shot.label != is_negated for shot in shots)
    return Lesson(f"{question} {shots[-1].label}", truths, is_negated)
