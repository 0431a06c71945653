"""The exercises of the reference writer: to reword and to list statements about any two names.

Most exercises draw their names at random, so that the writer learns to copy names and learns no facts.
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
from tasks.edition.llmeval import N_STATEMENTS, Llmeval
from tasks.edition.rephraser import Rephraser
from tasks.edition.sentences import write_sentence

NAME = "reference-writer"
# A listing draws its wordings from these cells in turn; llmeval asks for statements that are not negated.
POSITIVE = ("none", "inv", "ins", "inv_ins")
# The share of exercises whose names are a pair of the base; the others use any two of its names.
SHARE_REAL = 0.25
# The share of wrong replies among the exercises of kind "err": a gate needs something to reject. At a
# temperature of 0.7 the writer fails less often than the exercises do.
SHARE_FAULTY = 0.3
FAULTS = ("contrary", "swapped", "name lost", "preamble")
PREAMBLE = "Here is the paraphrased statement: "
# Cell -> the cell that states the contrary.
CONTRARY = POSITIVE_OF | {positive: negated for negated, positive in POSITIVE_OF.items()}

Names = tuple[str, str]
"""Head and tail."""


@dataclass(frozen=True)
class Exercise:
    """A prompt as the pipeline writes it, and the reply that the writer learns."""

    prompt: Prompt
    reply: str


@dataclass(frozen=True)
class DefaultInstructions:
    """The two tasks of a writer, with the instructions of the default configuration."""

    rephraser: Rephraser
    llmeval: Llmeval


def build_default_instructions() -> DefaultInstructions:
    """Return the only two instructions that the writer learns to understand."""
    writer = Writer(WriterConfig(name=NAME, model=NAME), NAME)
    config, llmeval = RephraserConfig(), LlmevalConfig()
    return DefaultInstructions(
        Rephraser(writer, config.instruction, config.temperature, config.max_tokens, 1, seed=0),
        Llmeval(writer, llmeval.instruction, llmeval.max_tokens),
    )


def list_fixed_texts(relations: Sequence[str]) -> list[str]:
    """Return the texts that become one token each: instructions, system prompt, names of relations."""
    instructions = build_default_instructions()
    return [
        str(instructions.rephraser.writer.config.system_prompt),
        instructions.rephraser.instruction.partition("{statement}")[0],
        instructions.llmeval.instruction.partition("{triplet}")[0] + "(",
        *(f", {relation.replace('_', ' ')}," for relation in relations),
    ]


def fill_texts(templates: Sequence[str], names: Sequence[Names]) -> list[str]:
    """Return each template with its names in the slots."""
    columns = {
        "template": templates,
        "head": [head for head, _ in names],
        "tail": [tail for _, tail in names],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame.select(write_sentence(pl.col("template"))).to_series().to_list()


class ExerciseSource:
    """Draws exercises of every relation of a base, in the words of a pool."""

    def __init__(self, base: KnowledgeBase, pool: Pool, seed: int = 0) -> None:
        """Collect the names and the pairs of the base, and the prototypes of its relations."""
        self.entities = sorted(base.triplets.select("head", "tail").unpivot()["value"].unique())
        self.relations = [pool.select_relation(relation) for relation in base.relations]
        self._pairs: dict[str, list[Names]] = {relation: [] for relation in base.relations}
        for relation, head, tail in base.triplets.select("relation", "head", "tail").iter_rows():
            self._pairs[relation].append((head, tail))
        self._instructions = build_default_instructions()
        self._random = Random(seed)

    def seed(self, seed: int) -> None:
        """Restart the random generator with this seed."""
        self._random = Random(seed)

    def draw(self, kind: str, n: int) -> list[Exercise]:
        """Return ``n`` exercises of a kind: "reword", "err" (some replies are wrong) or "list"."""
        draws: dict[str, Callable[[int], list[Exercise]]] = {
            "reword": self.draw_rewordings,
            "err": lambda n: self.draw_rewordings(n, SHARE_FAULTY),
            "list": self.draw_listings,
        }
        return draws[kind](n)

    def draw_rewordings(self, n: int, share_faulty: float = 0.0) -> list[Exercise]:
        """Return exercises that reword a prototype as another wording of its cell.

        Args:
            share_faulty: share of exercises with a reply that is not a rewording.
        """
        relations, names = self._draw_subjects(n)
        cells = [self._random.choice(list(relation.cells)) for relation in relations]
        prototypes = [each.cells[cell].prototype for each, cell in zip(relations, cells, strict=True)]
        drawn = [
            self._draw_wording(*subject, self._draw_fault(share_faulty))
            for subject in zip(relations, cells, names, strict=True)
        ]
        wordings = fill_texts([template for template, _ in drawn], [named for _, named in drawn])
        asks = (
            self._instructions.rephraser.build_prompt(text, 1, "test")
            for text in fill_texts(prototypes, names)
        )
        return [Exercise(ask.prompt, text) for ask, text in zip(asks, wordings, strict=True)]

    def draw_listings(self, n: int) -> list[Exercise]:
        """Return exercises that list eight different texts of a triplet, from its positive cells in turn."""
        relations, names = self._draw_subjects(n)
        templates = [template for relation in relations for template in self._draw_texts(relation)]
        texts = fill_texts(templates, [each for each in names for _ in range(N_STATEMENTS)])
        exercises = []
        for number, (relation, (head, tail)) in enumerate(zip(relations, names, strict=True)):
            ask = self._instructions.llmeval.build_prompt(relation.relation, head, tail)
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
        """Return a wording, and the names to fill it with."""
        source = CONTRARY[cell] if fault == "contrary" else cell
        wording = self._random.choice(relation.cells[source].wordings)
        head, tail = names
        if fault == "swapped":
            return wording, (tail, head)
        if fault == "name lost":
            return wording, (head, "it")
        return (PREAMBLE + wording if fault == "preamble" else wording), names

    def _draw_texts(self, relation: RelationPrototypes) -> list[str]:
        """Draw a text from the first half of each positive cell, then one from the second: no duplicates."""
        texts = [relation.cells[name].texts for name in POSITIVE]
        firsts = [self._random.choice(each[: len(each) // 2]) for each in texts]
        return firsts + [self._random.choice(each[len(each) // 2 :]) for each in texts]
