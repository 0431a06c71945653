"""Lessons of writing: to reword statements, and to list statements about a triplet.

Most lessons draw their names at random, so that the writer learns to copy names and learns no facts.
"""

from collections.abc import Sequence
from random import Random

import polars as pl
from jinja2 import Template

from pretexeval.config.engines import WriterConfig
from pretexeval.config.tables import LlmevalConfig, RephraserConfig
from pretexeval.engines.base import read_messages
from prototypes.templates import RelationPrototypes
from schemas.transformations import POSITIVE_OF
from tasks.asking.writers import Writer, WriterPrompt
from tasks.edition.rephraser import N_STATEMENTS, Llmeval, Rephraser
from tasks.edition.statements import write_sentences
from training.lessons import Course, Lesson, Subject, Turn

# A listing draws its wordings from these cells in turn; llmeval asks for statements that are not negated.
POSITIVE = ("none", "inv", "ins", "inv_ins")
# The share of lessons whose names are a pair of the base, and of wrong replies among the lessons of kind
# `faulty`. At a temperature of 0.7 the writer fails less often than the lessons do.
SHARE_REAL, SHARE_FAULTY = 0.25, 0.3
FAULTS = ("contrary", "swapped", "name lost", "preamble")
PREAMBLE = "Here is the paraphrased statement: "
# Cell -> the cell that states the contrary.
CONTRARY = POSITIVE_OF | {positive: negated for negated, positive in POSITIVE_OF.items()}
# Lessons are drawn in batches, because filling templates one by one is slow.
BATCH = 32
USER, ASSISTANT = "<|user|>", "<|assistant|>"
# The token of a name includes the space before it, so the template puts a space before a triplet's head.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}<|user|>{% endif %}"
    "{{ message['content'] | replace('triplet: (', 'triplet: ( ') }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

Names = tuple[str, str]


def plan_writing(subject: Subject) -> Course:
    """Return the lessons of a model that learns to reword statements and to list statements."""
    source = WritingSource(subject)
    draws = {
        "rewording": lambda _turns, _number, random: source.draw_rewordings(random, 0.0),
        "faulty": lambda _turns, _number, random: source.draw_rewordings(random, SHARE_FAULTY),
        "listing": lambda _turns, _number, random: source.draw_listings(random),
    }
    texts = subject.pool.list_texts(subject.base.relations)
    return Course(draws, texts, [USER, ASSISTANT, *source.list_fixed_texts()], CHAT_TEMPLATE)


class WritingSource:
    """Draws lessons of every relation of a base, in the words of a pool."""

    def __init__(self, subject: Subject) -> None:
        """Prepare the only two instructions that the writer learns to understand: the default ones."""
        self.subject = subject
        self.relations = [subject.pool.select_relation(relation) for relation in subject.base.relations]
        writer = Writer(WriterConfig(name="writer", model="writer"), "writer")
        config, llmeval = RephraserConfig(), LlmevalConfig()
        how = (config.instruction, config.temperature, config.max_tokens, config.max_attempts)
        self.rephraser = Rephraser(writer, *how, seed=0)
        self.llmeval = Llmeval(writer, llmeval.instruction)

    def list_fixed_texts(self) -> list[str]:
        """Return the texts that become one token each: instructions, system prompt, names of relations."""
        return [
            str(self.rephraser.writer.config.system_prompt),
            self.rephraser.instruction.partition("{statement}")[0],
            self.llmeval.instruction.partition("{triplet}")[0] + "(",
            *(f", {each.relation.replace('_', ' ')}," for each in self.relations),
        ]

    def draw_rewordings(self, random: Random, share_faulty: float) -> list[Lesson]:
        """Return lessons that reword a prototype as another wording of its cell; a share of them wrongly."""
        asked: list[tuple[str, Names]] = []
        replies: list[tuple[str, Names]] = []
        for relation in random.choices(self.relations, k=BATCH):
            name, (head, tail) = random.choice(list(relation.cells)), self._draw_names(relation, random)
            fault = random.choice(FAULTS) if random.random() < share_faulty else None
            stated = relation.cells[CONTRARY[name] if fault == "contrary" else name]
            preamble = PREAMBLE if fault == "preamble" else ""
            names = {"swapped": (tail, head), "name lost": (head, "it")}.get(fault or "", (head, tail))
            asked.append((relation.cells[name].prototype, (head, tail)))
            replies.append((preamble + random.choice(stated.wordings), names))
        asks = [self.rephraser.build_prompt(text, 1, "test") for text in fill_texts(asked)]
        return _build_lessons(asks, fill_texts(replies))

    def draw_listings(self, random: Random) -> list[Lesson]:
        """Return lessons that list eight different texts of a triplet, from its positive cells in turn."""
        asks, lines = [], []
        for relation in random.choices(self.relations, k=BATCH):
            names, texts = (
                self._draw_names(relation, random),
                [relation.cells[name].texts for name in POSITIVE],
            )
            asks.append(self.llmeval.build_prompt(relation.relation, *names))
            # A text from the first half of each cell, then one from the second: no duplicates.
            halves = [each[: len(each) // 2] for each in texts] + [each[len(each) // 2 :] for each in texts]
            lines += [(random.choice(half), names) for half in halves]
        filled = fill_texts(lines)
        starts = range(0, len(filled), N_STATEMENTS)
        return _build_lessons(asks, ["\n".join(filled[start : start + N_STATEMENTS]) for start in starts])

    def _draw_names(self, relation: RelationPrototypes, random: Random) -> Names:
        if random.random() < SHARE_REAL:
            pairs = self.subject.base.select_relation(relation.relation)
            head, tail = pairs.select("head", "tail").row(random.randrange(pairs.height))
        else:
            head, tail = random.sample(self.subject.entities, 2)
        return head, tail


def fill_texts(templates: Sequence[tuple[str, Names]]) -> list[str]:
    """Return each template with its names in the slots."""
    rows = [(template, head, tail) for template, (head, tail) in templates]
    frame = pl.DataFrame(rows, schema=["template", "head", "tail"], orient="row")
    return write_sentences(frame).to_list()


def _build_lessons(asks: Sequence[WriterPrompt], replies: Sequence[str]) -> list[Lesson]:
    template = Template(CHAT_TEMPLATE)
    messages = [read_messages(ask.prompt) for ask in asks]
    questions = [template.render(messages=each, add_generation_prompt=True) for each in messages]
    return [Lesson((Turn(question, reply),)) for question, reply in zip(questions, replies, strict=True)]
