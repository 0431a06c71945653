"""The lessons of a reference model about the heads that it is to know, drawn again for every epoch.

The first phase teaches bare triplets: from texts of five tokens a model learns within minutes which entities
belong together, whereas training on whole prompts shows no progress for an hour. The next phases teach bare
triplets and statements in alternation, then single statements, then prompts of six statements as the
evaluation asks them.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import polars as pl

from knowledge.base import KnowledgeBase
from primitives.hashing import hash_text
from prototypes.pool import Pool
from schemas.stages import N_DEMONSTRATIONS
from schemas.transformations import POSITIVE_OF
from tasks.asking.prompts import QUESTION, Demonstration, PromptForm
from tasks.drawing.heads import Policy, TripletSampling
from tasks.edition.samples import reword_statements
from tasks.edition.statements import fill_prototypes
from tasks.edition.triplets import draw_triplets
from tasks.edition.variants import derive_variants
from tasks.evaluation.demonstrations import draw_demonstrations
from training.other_wordings import reword_otherwise
from training.strangers import SHARE_STRANGERS, Unit, find_strangers

# Users give their editions small seeds. The seeds of the epochs start here, far away from those.
FIRST_SEED = 1_000_000
# The epochs draw their triplets in turn by these policies: either never draws some tails as true ones or as
# false ones.
POLICIES: tuple[Policy, ...] = ("balanced", "uniform")
# How often a prompt opens with the demonstrations that the evaluation uses.
SHARE_EVALUATED_DEMONSTRATIONS = 0.25

Shots = tuple[Demonstration, ...]


@dataclass(frozen=True)
class Lesson:
    """A training text with its answers, and the truth of its statements."""

    text: str
    truths: tuple[bool, ...]
    """For each statement whether its triplet is true, whether or not the statement negates it."""
    is_negated: bool
    n_shown: int = 0
    """The number of first statements that only serve as demonstrations: the loss leaves them out."""


def list_demonstrating(base: KnowledgeBase) -> set[Unit]:
    """Return the units of the demonstrations: prompts of their relation show them, no edition tests them."""
    units: set[Unit] = set()
    for relation in base.relations:
        frame = _draw_triplets(base, relation, FIRST_SEED)
        units |= {(relation, head) for head in frame.filter(split="demonstration")["head"]}
    return units


def _draw_triplets(base: KnowledgeBase, relation: str, seed: int) -> pl.DataFrame:
    sampling = TripletSampling(seed, POLICIES[seed % len(POLICIES)])
    return draw_triplets(base, relation, sampling)


def draw_bare_triplets(
    base: KnowledgeBase, known: frozenset[Unit], epoch: int, *, is_framed: bool
) -> list[Lesson]:
    """Return every tested triplet of the known heads and a false counterpart, as names without a sentence.

    The true and the false triplets of a relation have nearly the same multiset of tails, so that no tail
    gives the answer away. About every second triplet appears a third time with strangers, and is false.

    Args:
        is_framed: whether the names are written into the question of a prompt.
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
            false_tail = _draw_other_tail(other, tails, true_tails[relation, head], random)
            triplets = [(head, tail, True)]
            if false_tail is not None:
                triplets.append((head, false_tail, False))
            if random.random() < SHARE_STRANGERS:
                triplets.append((*strangers.replace_names(relation, head, tail, random), False))
            for *names, truth in triplets:
                lessons.append(_build_bare_lesson(relation, random.sample(names, 2), truth, is_framed))
    random.shuffle(lessons)
    return lessons


def _build_bare_lesson(relation: str, names: list[str], truth: bool, is_framed: bool) -> Lesson:
    words = " ".join((relation.replace("_", " "), *names))
    question = QUESTION.format(" " + words) if is_framed else " " + words
    return Lesson(f"{question} {truth}", (truth,), is_negated=False)


def _draw_other_tail(tail: str, tails: list[str], excluded: set[str], random: Random) -> str | None:
    """Return the tail, or one drawn in its place, that is not excluded; None after 20 failed draws."""
    for _ in range(20):
        if tail not in excluded:
            return tail
        tail = random.choice(tails)
    return None


def draw_samples(
    base: KnowledgeBase, pool: Pool, known: frozenset[Unit], seed: int, others: frozenset[str] = frozenset()
) -> pl.DataFrame:
    """Return the samples that a model learns from the edition with this seed, and those of strangers.

    These are the samples of the known heads and of the demonstrations, with the columns `head` and
    `is_positive` of their triplets.

    Args:
        others: the relations whose samples have sentences of `training.other_wordings` instead of the pool's.
    """
    random = Random(hash_text("strangers", str(seed)))
    strangers = find_strangers(base, known)
    frames = []
    for relation in base.relations:
        prototypes = pool.relations[relation]
        triplets = _draw_triplets(base, relation, seed)
        heads = [head for unit, head in known if unit == relation]
        tested = triplets.filter(pl.col("split") == "test", pl.col("head").is_in(heads))
        demonstrating = triplets.filter(pl.col("split") == "demonstration")
        triplets = pl.concat([demonstrating, tested, strangers.copy_triplets(relation, tested, random)])
        variants = derive_variants(triplets, prototypes.instance)
        statements = fill_prototypes(variants, triplets, prototypes)
        samples = reword_statements(statements, triplets, prototypes, seed)
        truths = triplets.select("triplet_id", "head", "tail", "is_positive")
        samples = samples.join(truths, on="triplet_id", how="left", maintain_order="left")
        frames.append(reword_otherwise(samples, pool, relation, seed) if relation in others else samples)
    return pl.concat(frames)


def draw_statements(
    base: KnowledgeBase,
    pool: Pool,
    known: frozenset[Unit],
    epoch: int,
    *,
    is_alone: bool,
    others: frozenset[str] = frozenset(),
) -> list[Lesson]:
    """Return the sixteen samples of every known head for one epoch, and those of strangers, in random order.

    Args:
        is_alone: whether a lesson holds a single statement instead of a prompt of six.
    """
    samples = draw_samples(base, pool, known, FIRST_SEED + epoch, others)
    evaluated = draw_demonstrations(samples)
    random = Random(hash_text("statements", str(epoch)))
    shots_of_group: dict[tuple[str, str], list[Demonstration]] = defaultdict(list)
    columns = ("relation", "head", "transformation", "split", "text", "label")
    for relation, head, transformation, split, text, label in samples.select(columns).iter_rows():
        # Every model sees the demonstrations. They are lessons only where the model is to know their head.
        if split == "test" or (relation, head) in known:
            shots_of_group[relation, transformation].append(Demonstration(text, label))
    lessons = []
    for (relation, transformation), shots in shots_of_group.items():
        random.shuffle(shots)
        demonstrations = evaluated[relation, transformation]
        prompts = [((), (s,)) for s in shots] if is_alone else _fill_prompts(shots, demonstrations, random)
        lessons += [_build_lesson(*prompt, transformation in POSITIVE_OF) for prompt in prompts]
    random.shuffle(lessons)
    return lessons


def _fill_prompts(
    shots: list[Demonstration], evaluated: Shots, random: Random
) -> Iterable[tuple[Shots, Shots]]:
    """Yield prompts of six as (shown, taught).

    Some prompts show the demonstrations of the evaluation and teach one statement; the others teach all six.
    """
    while shots:
        is_evaluated = random.random() < SHARE_EVALUATED_DEMONSTRATIONS
        n_fresh = 1 if is_evaluated else N_DEMONSTRATIONS + 1
        yield evaluated if is_evaluated else (), tuple(shots[:n_fresh])
        del shots[:n_fresh]


def _build_lesson(shown: Shots, taught: Shots, is_negated: bool) -> Lesson:
    shots = shown + taught
    question = PromptForm().render(shots[:-1], QUESTION.format(shots[-1].text)).text
    truths = tuple(shot.label != is_negated for shot in shots)
    return Lesson(f"{question} {shots[-1].label}", truths, is_negated, len(shown))
