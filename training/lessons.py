"""Parts that all trainings have in common: recipes, facts to know, unknown names, and the form of lessons."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order, hash_text
from pretexeval.primitives.toml_files import check_table, parse_toml
from prototypes.pool import Pool, load_pool
from tasks.asking.prompts import SEPARATOR
from tasks.drawing.pieces import TripletSampling
from tasks.edition.triplets import draw_triplets

FILE = Path(__file__).with_name("models.toml")
# Users give their editions small seeds. The seeds of the lessons start here, far away from those.
FIRST_SEED = 1_000_000
# Names that a model knows nothing about, so that it learns to answer False about unknown names. Without them,
# a model guesses that a tail that was false of every head it learned is true of others, and was right on 55 %
# of the unseen heads. Every training step draws new embeddings for them (Student.redraw_strangers).
STRANGERS = tuple(f"Stranger {n}" for n in range(1, 49))

Unit = tuple[str, str]
"""(relation, head): a model knows all of a unit or nothing of it."""


class Phase(BaseModel):
    """A phase of a training; the head of models.toml explains the keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    parts: int
    steps: int
    rate: float
    lessons: dict[str, tuple[float, int]]
    turns: int = 1
    word_weight: float = 1.0
    starts_anew: bool = False
    softens_attention: bool = False
    is_constant: bool = False


class Recipe(BaseModel):
    """All about the training of one model; the head of models.toml explains the keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["statements", "questions", "writing"]
    description: str
    phases: tuple[Phase, ...]
    layers: int
    hidden: int = 128
    vocabulary: int = 1500
    pool: str = "revised"
    knowledge: KnowledgeConfig = KnowledgeConfig()
    share: float = 0.0
    share_doubted: float = 0.0
    other_wordings: tuple[float, float] = (0.0, 0.0)
    share_shown: float = 0.0
    copies: bool = False

    @property
    def measure(self) -> str:
        """The name in measures.toml of what the pipeline measures of the model."""
        return "unsure" if self.share_doubted else self.kind


def read_recipes(names: Iterable[str], file: Path = FILE) -> dict[str, Recipe]:
    """Return the recipes of these models, or raise InputError if one is missing or has problems."""
    tables = parse_toml(file)
    if unknown := sorted(set(names) - tables.keys()):
        raise InputError(f"{file} has no recipe {unknown[0]!r}; it has {', '.join(tables)}")
    return {name: check_table(Recipe, tables[name], file, ()) for name in names}


@dataclass(frozen=True)
class Turn:
    """A question of a prompt, and the reply to it."""

    question: str
    reply: str
    """The text after the question, with the space between them."""
    truths: tuple[bool | None, ...] = ()
    """For each entity in question and reply, in order: for a tail that the model is to judge whether it is
    true of its head, else None."""
    is_taught: bool = True
    """Whether the model learns the reply. Demonstrations about other heads are only shown."""

    def show(self) -> "Turn":
        """Return the turn as a demonstration from which the model learns nothing."""
        return Turn(self.question, self.reply, (None,) * len(self.truths), is_taught=False)


@dataclass(frozen=True)
class Lesson:
    """A prompt with the replies to all of its questions."""

    turns: tuple[Turn, ...]
    is_negated: bool = False
    """Whether all questions of the prompt are negated, or none."""

    @property
    def text(self) -> str:
        """Return the prompt with its replies."""
        return SEPARATOR.join(turn.question + turn.reply for turn in self.turns)


Draw = Callable[[int, int, Random], list[Lesson]]
"""Returns some lessons, given the most turns of a lesson, the number of the draw, and the random source."""


@dataclass(frozen=True)
class Course:
    """The lessons of a model, and the texts that its tokenizer is made for."""

    draws: Mapping[str, Draw]
    """Kind of lesson -> the function that draws some."""
    texts: list[str]
    """The texts from which the byte-pair encoding is learned."""
    frame: list[str]
    """The fixed parts of lessons, which become one token each."""
    chat_template: str
    learns_names: bool = False
    """Whether the words to learn are the names of true triplets, instead of the words of replies."""


class Subject:
    """The facts that a model is to know: `known` units of a base, some relations in other wordings."""

    def __init__(self, name: str, recipe: Recipe) -> None:
        """Choose the facts by the recipe and the model's name."""
        self.base = read_knowledge_base(recipe.knowledge)
        self.pool: Pool = load_pool(recipe.pool)
        self.known = choose_known_heads(self.base, recipe.share, name)
        self.doubted = choose_known_heads(self.base, recipe.share_doubted, name, self.known)
        """Units that the model does not know and learns to be unsure of. The other unknown units are in no
        lesson, except as demonstrations."""
        order = draw_order(self.base.relations, "other wordings")
        begin, end = (round(share * len(order)) for share in recipe.other_wordings)
        self.others = frozenset(order[begin:end])
        self.share_shown = recipe.share_shown
        self.entities = sorted(self.base.triplets.select("head", "tail").unpivot()["value"].unique())
        self.true: dict[Unit, set[str]] = defaultdict(set)
        """All tails that the base calls true of a head."""
        self.tails: dict[str, dict[str, list[str]]] = {relation: {} for relation in self.base.relations}
        """Relation -> known head -> its true tails, without further names of the same tails."""
        rows = self.base.triplets.select("relation", "head", "tail", "also_true")
        for relation, head, tail, also_true in rows.iter_rows():
            self.true[relation, head].add(tail)
            if not also_true and (relation, head) in self.known:
                self.tails[relation].setdefault(head, []).append(tail)
        taught = {name for tails in self.tails.values() for head in tails for name in (head, *tails[head])}
        heads = {relation: set(self.base.select_relation(relation)["head"]) for relation in self.tails}
        self.foreign = {relation: sorted(taught - own) for relation, own in heads.items()}
        """Relation -> names that the model learns, but that are no heads of the relation."""

    def list_never_met(self) -> list[str]:
        """Return the names in no lesson: unseen heads that demonstrate nothing and are nowhere a tail."""
        met = {head for _, head in self.known | self.doubted} | set(self.base.triplets["tail"])
        for relation in self.base.relations:
            met.update(
                draw_lesson_triplets(self.base, relation, FIRST_SEED).filter(split="demonstration")["head"]
            )
        return sorted(set(self.base.triplets["head"]) - met)

    def replace_names(self, relation: str, head: str, tail: str, random: Random) -> tuple[str, str]:
        """Return head and tail with a stranger in place of the head, of the tail, or of both."""
        draw, foreign = random.random(), self.foreign[relation]
        if draw < 0.15:
            return head, random.choice(STRANGERS)
        unknown = random.choice(foreign if foreign and random.random() < 0.5 else STRANGERS)
        return unknown, random.choice(STRANGERS) if draw < 0.3 else tail

    def copy_triplets(
        self, relation: str, triplets: pl.DataFrame, share: float, random: Random
    ) -> pl.DataFrame:
        """Return copies of a share of the triplets with strangers in them, all of them false."""
        rows = [row for row in triplets.iter_rows(named=True) if random.random() < share]
        for row in rows:
            row["head"], row["tail"] = self.replace_names(relation, row["head"], row["tail"], random)
            row |= {"is_positive": False, "triplet_id": hash_text("stranger", row["triplet_id"])}
        return pl.DataFrame(rows, schema=triplets.schema)


def draw_lesson_triplets(base: KnowledgeBase, relation: str, seed: int) -> pl.DataFrame:
    """Return the triplets of a relation in the edition with this seed; policies of negatives take turns."""
    sampling = TripletSampling(seed, "uniform" if seed % 2 else "balanced")
    return draw_triplets(base, relation, sampling)


def choose_known_heads(
    base: KnowledgeBase, share: float, salt: str, without: frozenset[Unit] = frozenset()
) -> frozenset[Unit]:
    """Return the (relation, head) units that a model learns: about ``share`` of all, none of ``without``.

    The model learns units of the same head together or not at all. The same holds for units that state the
    same pair of entities (a drug may treat a disease; the disease has the drug). Otherwise a model could
    derive unseen units from known ones: with groups by pairs alone, a model was right on 55 % of them.
    """
    linked: dict[object, set[object]] = {}
    for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
        nodes = ((relation, head), head, frozenset((head, tail)))
        merged = set(nodes).union(*(linked.get(node, ()) for node in nodes))
        linked.update(dict.fromkeys(merged, merged))
    units = [{node for node in group if isinstance(node, tuple)} for group in linked.values()]
    groups = {"\t".join(min(group)): group for group in units}
    n_units = sum(len(group) for group in groups.values())
    known: set[Unit] = set()
    for name in draw_order(groups, "known", salt):
        is_free = groups[name].isdisjoint(without)
        if is_free and len(known) + len(groups[name]) <= share * n_units:
            known.update(groups[name])
    return frozenset(known)
