"""What a reference model is taught: the heads it is to know, in phases, each with fresh draws.

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
from primitives.hashing import draw_order, hash_text
from prototypes.pool import Pool
from schemas.stages import N_DEMONSTRATIONS
from schemas.transformations import POSITIVE_OF
from tasks.asking.prompts import QUESTION, Demonstration, PromptForm
from tasks.edition.samples import reword_statements
from tasks.edition.statements import fill_prototypes
from tasks.edition.triplets import TripletSampling, sample_triplets
from tasks.edition.variants import derive_variants
from tasks.evaluation.demonstrations import draw_demonstrations
from training.strangers import SHARE_STRANGERS, Unit, find_strangers

# Editions of users have small seeds; the epochs' lie far from them.
FIRST_SEED = 1_000_000
# How often a prompt opens with the demonstrations that the evaluation uses.
SHARE_EVALUATED_DEMONSTRATIONS = 0.25

Shots = tuple[Demonstration, ...]


@dataclass(frozen=True)
class Lesson:
    """A text with its answers in it, and what is so of its statements."""

    text: str
    truths: tuple[bool, ...]
    """For each statement whether its triplet is true, be it affirmed or denied."""
    is_negated: bool
    n_shown: int = 0
    """How many of its first statements are shown with their answers, and not taught."""


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


def list_demonstrating(base: KnowledgeBase) -> set[Unit]:
    """The units that every prompt of their relation shows, and no edition tests."""
    units: set[Unit] = set()
    for relation in base.relations:
        frame = sample_triplets(relation, base.select_relation(relation), TripletSampling(FIRST_SEED)).frame
        units |= {(relation, head) for head in frame.filter(split="demonstration")["head"]}
    return units


def draw_bare_triplets(
    base: KnowledgeBase, known: frozenset[Unit], epoch: int, *, is_framed: bool
) -> list[Lesson]:
    """Every tested triplet of the known heads, each with a false one, as names without a sentence.

    The tails of a relation are nearly the same multiset in both, so that no tail tells the answer.
    Every other one comes a third time with strangers, and is false.

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
    strangers = find_strangers(base, known)
    lessons = []
    for relation, pairs in facts.items():
        tails = [tail for _, tail in pairs]
        random.shuffle(tails)
        for (head, tail), other in zip(pairs, tails, strict=True):
            false_tail = _avoid(other, tails, true_tails[relation, head], random)
            told = [(head, tail, True)]
            if false_tail is not None:
                told.append((head, false_tail, False))
            if random.random() < SHARE_STRANGERS:
                told.append((*strangers.replace_names(relation, head, tail, random), False))
            for *names, truth in told:
                lessons.append(_write_bare(relation, random.sample(names, 2), truth, is_framed))
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


def draw_samples(base: KnowledgeBase, pool: Pool, known: frozenset[Unit], seed: int) -> pl.DataFrame:
    """The samples of what a model is taught from the edition with this seed, and of strangers.

    That is what is known and what demonstrates, with the head and the truth of the triplet beside it.
    """
    random = Random(hash_text("strangers", str(seed)))
    strangers = find_strangers(base, known)
    frames = []
    for relation in base.relations:
        prototypes = pool.relations[relation]
        triplets = sample_triplets(relation, base.select_relation(relation), TripletSampling(seed)).frame
        heads = [head for unit, head in known if unit == relation]
        tested = triplets.filter(pl.col("split") == "test", pl.col("head").is_in(heads))
        demonstrating = triplets.filter(pl.col("split") == "demonstration")
        triplets = pl.concat([demonstrating, tested, strangers.join(relation, tested, random)])
        variants = derive_variants(triplets, prototypes.instance)
        statements = fill_prototypes(variants, triplets, prototypes)
        samples = reword_statements(statements, triplets, prototypes, seed)
        truths = triplets.select("triplet_id", "head", "is_positive")
        frames.append(samples.join(truths, on="triplet_id", how="left", maintain_order="left"))
    return pl.concat(frames)


def draw_statements(
    base: KnowledgeBase, pool: Pool, known: frozenset[Unit], epoch: int, *, is_alone: bool
) -> list[Lesson]:
    """Every known head's sixteen samples of one epoch, and those of strangers, in drawn order.

    Args:
        is_alone: one statement to a lesson, not the six of a prompt.
    """
    samples = draw_samples(base, pool, known, FIRST_SEED + epoch)
    evaluated = draw_demonstrations(samples)
    random = Random(hash_text("statements", str(epoch)))
    shots_of_group: dict[tuple[str, str], list[Demonstration]] = defaultdict(list)
    columns = ("relation", "head", "transformation", "split", "text", "label")
    for relation, head, transformation, split, text, label in samples.select(columns).iter_rows():
        # Every model is shown what demonstrates; one that learned it would know what it says.
        if split == "test" or (relation, head) in known:
            shots_of_group[relation, transformation].append(Demonstration(text, label))
    lessons = []
    for (relation, transformation), shots in shots_of_group.items():
        random.shuffle(shots)
        demonstrations = evaluated[relation, transformation]
        prompts = [((), (s,)) for s in shots] if is_alone else _fill_prompts(shots, demonstrations, random)
        lessons += [_write_lesson(*prompt, transformation in POSITIVE_OF) for prompt in prompts]
    random.shuffle(lessons)
    return lessons


def _fill_prompts(
    shots: list[Demonstration], evaluated: Shots, random: Random
) -> Iterable[tuple[Shots, Shots]]:
    """Prompts of six, (shown, taught): some after the demonstrations of the evaluation, some all fresh."""
    while shots:
        is_evaluated = random.random() < SHARE_EVALUATED_DEMONSTRATIONS
        n_fresh = 1 if is_evaluated else N_DEMONSTRATIONS + 1
        yield evaluated if is_evaluated else (), tuple(shots[:n_fresh])
        del shots[:n_fresh]


def _write_lesson(shown: Shots, taught: Shots, is_negated: bool) -> Lesson:
    shots = shown + taught
    question = PromptForm().render(shots[:-1], shots[-1].text).text
    truths = tuple(shot.label != is_negated for shot in shots)
    return Lesson(f"{question} {shots[-1].label}", truths, is_negated, len(shown))
