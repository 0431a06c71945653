"""What the reference writer is taught: to reword and to list statements about any two names.

The names of a lesson are mostly drawn at random, so that it learns to copy them and not what is true.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import polars as pl

from config.engines import WriterConfig
from config.tables import LlmevalConfig, RephraserConfig
from knowledge.base import KnowledgeBase
from prototypes.pool import Pool
from prototypes.templates import RelationPrototypes
from schemas.exchange import Prompt
from schemas.transformations import POSITIVE_OF
from tasks.asking.writers import Writer
from tasks.edition.attempts import Rephraser
from tasks.edition.llmeval import N_STATEMENTS, Llmeval
from tasks.edition.statements import fill_template

NAME = "reference-writer"
# The cells whose wordings a listing draws from, in turns: what llmeval asks for is not negated.
POSITIVE = ("none", "inv", "ins", "inv_ins")
# How often the names of a lesson are a pair of the base; any two of its names otherwise.
SHARE_REAL = 0.25
# How often a rewording that is to fail does, so that a gate finds something to turn away. At a temperature
# of 0.7 fewer do than were taught.
SHARE_FAULTY = 0.3
FAULTS = ("contrary", "swapped", "name lost", "preamble")
PREAMBLE = "Here is the paraphrased statement: "
# The cell that says the contrary.
CONTRARY = POSITIVE_OF | {positive: negated for negated, positive in POSITIVE_OF.items()}

Names = tuple[str, str]
"""Head and tail."""


@dataclass(frozen=True)
class Exercise:
    """A prompt as the pipeline writes it, and the reply that is taught."""

    prompt: Prompt
    reply: str


@dataclass(frozen=True)
class Questions:
    """How the pipeline asks a writer under the default configuration."""

    rephraser: Rephraser
    llmeval: Llmeval


def build_questions() -> Questions:
    """The two instructions that the writer understands: it is taught no others."""
    writer = Writer(WriterConfig(name=NAME, model=NAME), NAME)
    config, llmeval = RephraserConfig(), LlmevalConfig()
    return Questions(
        Rephraser(writer, config.instruction, config.temperature, config.max_tokens, 1, seed=0),
        Llmeval(writer, llmeval.instruction, llmeval.max_tokens),
    )


def list_fixed_texts(relations: Sequence[str]) -> list[str]:
    """What all prompts share, to be one token each: instructions, system prompt, names of relations."""
    questions = build_questions()
    return [
        str(questions.rephraser.writer.config.system_prompt),
        questions.rephraser.instruction.partition("{statement}")[0],
        questions.llmeval.instruction.partition("{triplet}")[0] + "(",
        *(f", {relation.replace('_', ' ')}," for relation in relations),
    ]


def fill_texts(templates: Sequence[str], names: Sequence[Names]) -> list[str]:
    """Each template with its names in the slots."""
    columns = {
        "template": templates,
        "head": [head for head, _ in names],
        "tail": [tail for _, tail in names],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame.select(fill_template(pl.col("template"))).to_series().to_list()


class Lecturer:
    """Draws lessons."""

    def __init__(self, base: KnowledgeBase, pool: Pool, seed: int = 0) -> None:
        """Lessons of every relation of the base, in the words of the pool."""
        self.entities = sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())
        self.relations = [pool.select_relation(relation) for relation in base.relations]
        self._pairs: dict[str, list[Names]] = {relation: [] for relation in base.relations}
        for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
            self._pairs[relation].append((head, tail))
        self._questions = build_questions()
        self._random = Random(seed)

    def seed(self, seed: int) -> None:
        """Draw from here on what this seed gives."""
        self._random = Random(seed)

    def draw(self, kind: str, n: int) -> list[Exercise]:
        """As many exercises of a kind: reword, err or list."""
        draws: dict[str, Callable[[int], list[Exercise]]] = {
            "reword": self.draw_rewordings,
            "err": lambda n: self.draw_rewordings(n, SHARE_FAULTY),
            "list": self.draw_listings,
        }
        return draws[kind](n)

    def draw_rewordings(self, n: int, share_faulty: float = 0.0) -> list[Exercise]:
        """A prototype, and one of the further wordings of its cell; or what is not a rewording of it."""
        relations, names = self._draw_subjects(n)
        cells = [self._random.choice(list(relation.cells)) for relation in relations]
        prototypes = [each.cells[cell].prototype for each, cell in zip(relations, cells, strict=True)]
        drawn = [
            self._draw_wording(*subject, self._draw_fault(share_faulty))
            for subject in zip(relations, cells, names, strict=True)
        ]
        wordings = fill_texts([template for template, _ in drawn], [named for _, named in drawn])
        asks = (self._questions.rephraser.ask(text, 1, "test") for text in fill_texts(prototypes, names))
        return [Exercise(ask.prompt, text) for ask, text in zip(asks, wordings, strict=True)]

    def draw_listings(self, n: int) -> list[Exercise]:
        """A triplet, and eight texts of its positive cells in turns, none of them twice."""
        relations, names = self._draw_subjects(n)
        templates = [template for relation in relations for template in self._draw_texts(relation)]
        texts = fill_texts(templates, [each for each in names for _ in range(N_STATEMENTS)])
        exercises = []
        for number, (relation, (head, tail)) in enumerate(zip(relations, names, strict=True)):
            ask = self._questions.llmeval.ask(relation.relation, head, tail)
            lines = texts[number * N_STATEMENTS : (number + 1) * N_STATEMENTS]
            exercises.append(Exercise(ask.prompt, "\n".join(lines)))
        return exercises

    def _draw_subjects(self, n: int) -> tuple[list[RelationPrototypes], list[Names]]:
        relations = self._random.choices(self.relations, k=n)
        return relations, [self._draw_names(relation.relation) for relation in relations]

    def _draw_names(self, relation: str) -> Names:
        if self._random.random() < SHARE_REAL:
            return self._random.choice(self._pairs[relation])
        head, tail = self._random.sample(self.entities, 2)
        return head, tail

    def _draw_fault(self, share: float) -> str | None:
        is_faulty = share > 0 and self._random.random() < share
        return self._random.choice(FAULTS) if is_faulty else None

    def _draw_wording(
        self, relation: RelationPrototypes, cell: str, names: Names, fault: str | None
    ) -> tuple[str, Names]:
        """A wording and the names that it is filled with."""
        said = CONTRARY[cell] if fault == "contrary" else cell
        wording = self._random.choice(relation.cells[said].wordings)
        head, tail = names
        if fault == "swapped":
            return wording, (tail, head)
        if fault == "name lost":
            return wording, (head, "it")
        return (PREAMBLE + wording if fault == "preamble" else wording), names

    def _draw_texts(self, relation: RelationPrototypes) -> list[str]:
        """One of the first texts of each positive cell, then one of the others: no line comes twice."""
        texts = [relation.cells[name].texts for name in POSITIVE]
        firsts = [self._random.choice(each[: len(each) // 2]) for each in texts]
        return firsts + [self._random.choice(each[len(each) // 2 :]) for each in texts]
