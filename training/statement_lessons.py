"""Lessons of statements: bare triplets, single statements, and prompts of several statements."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random

import polars as pl

from pretexeval.primitives.toml_files import parse_toml
from prototypes.pool import Pool
from prototypes.templates import fill_slots
from schemas.transformations import POSITIVE_OF
from tasks.asking.prompts import SEPARATOR, STATEMENT_QUESTION, UNSURE_QUESTION
from tasks.edition.samples import reword_statements
from tasks.edition.statements import fill_prototypes
from tasks.edition.variants import derive_variants
from tasks.evaluation.items import SAMPLE_ITEMS
from training.lessons import FIRST_SEED, Course, Draw, Lesson, Subject, Turn, Unit, draw_lesson_triplets

# Each fixed part of a prompt and each answer is one token, which cuts prompts to a third of their length.
FRAME = (
    *STATEMENT_QUESTION.split("{}"),
    UNSURE_QUESTION.split("{}")[1],
    SEPARATOR,
    " True",
    " False",
    " Unsure",
)
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"
# The share of triplets of known heads that come another time with strangers in them.
SHARE_STRANGE_TRIPLETS, SHARE_STRANGE_STATEMENTS = 0.5, 0.25
FILE = Path(__file__).with_name("other_wordings.toml")
# `{affirmed|denied}` in a line of this file.
CHOICE = re.compile(r"\{([^|{}]*)\|([^|{}]*)\}")
WORD = re.compile(r"\b[a-z]{2,}\b")
# The share of other wordings in which some words are replaced, so that a model learns to read over words that
# it does not know, and over long distances between names. Words that affirm or deny are kept. REPLACED: the
# share of their other words; INSERTED: how often a word gets up to MOST_INSERTED further ones behind it.
SHARE_DISTURBED, REPLACED, INSERTED, MOST_INSERTED = 0.5, 0.25, 0.2, 4


def plan_statements(subject: Subject) -> Course:
    """Return the lessons of a model that learns to verify statements.

    Those of the kind `unsure` ask with a third answer. The model learns to say Unsure of heads that it does
    not know: of strangers, and of the heads of ``subject.doubted``.
    """
    texts = subject.pool.list_texts(subject.base.relations)
    lines = chain(*read_wordings().values())
    texts += [CHOICE.sub(group, line) for line in lines for group in (r"\1", r"\2")]
    draws = list_draws(subject)
    draws["unsure"] = lambda turns, number, random: draw_statements(
        subject, turns, number, random, has_third=True
    )
    return Course(draws, texts, list(FRAME), CHAT_TEMPLATE, learns_names=True)


def list_draws(subject: Subject) -> dict[str, Draw]:
    """Return the kinds of lessons about triplets and statements.

    `names`: a triplet as the names of its relation and entities in any order. `framed`: the same, written
    into the question of a prompt. `statement`: statements as the evaluation asks them.
    """
    return {
        "names": lambda _turns, _number, random: draw_bare_triplets(subject, random, is_framed=False),
        "framed": lambda _turns, _number, random: draw_bare_triplets(subject, random, is_framed=True),
        "statement": lambda turns, number, random: draw_statements(subject, turns, number, random),
    }


def draw_bare_triplets(subject: Subject, random: Random, *, is_framed: bool) -> list[Lesson]:
    """Return every triplet of the known heads and a false counterpart, as names without a sentence.

    The true and the false triplets of a relation have nearly the same multiset of tails, so that no tail
    gives the answer away. About every second triplet appears a third time with strangers, and is false.
    If they are framed, the names are written into the question of a prompt.
    """
    lessons = []
    for relation, heads in subject.tails.items():
        facts = [(head, tail) for head, tails in heads.items() for tail in tails]
        tails = random.sample([tail for _, tail in facts], len(facts))
        for (head, tail), other in zip(facts, tails, strict=True):
            triplets = [(head, tail, True)]
            # A tail that is true of this head is drawn again. After 20 draws there is no false triplet.
            draws = [other, *(random.choice(tails) for _ in range(20))]
            false = [drawn for drawn in draws if drawn not in subject.true[relation, head]]
            triplets += [(head, drawn, False) for drawn in false[:1]]
            if random.random() < SHARE_STRANGE_TRIPLETS:
                triplets.append((*subject.replace_names(relation, head, tail, random), False))
            for *names, truth in triplets:
                text = " ".join(("", relation.replace("_", " "), *random.sample(names, 2)))
                question = STATEMENT_QUESTION.format(text) if is_framed else text
                lessons.append(Lesson((Turn(question, f" {truth}", (None, truth)),)))
    random.shuffle(lessons)
    return lessons


def draw_statements(
    subject: Subject, n_turns: int, edition: int, random: Random, *, has_third: bool = False
) -> list[Lesson]:
    """Return the sixteen statements of every known head in one edition, and those of strangers.

    If the question has a third answer, those of the doubted heads come too, and the reply about every head
    that is not known is Unsure.

    Some lessons of several turns show the demonstrations of the evaluation and teach one statement; the
    others teach all of their statements.
    """
    samples = draw_samples(subject, FIRST_SEED + edition, random, subject.doubted if has_third else ())
    waiting: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    columns = ("relation", "head", "transformation", "split", "text", "label")
    for relation, head, transformation, split, text, label in samples.select(columns).iter_rows():
        # Every model sees the demonstrations. They are lessons only where the model is to know their head.
        if split == "test" or (relation, head) in subject.known:
            turn = _ask_statement(text, transformation in POSITIVE_OF, label=label, has_third=has_third)
            if has_third and (relation, head) not in subject.known:
                turn = replace(turn, reply=" Unsure", truths=(None, None))
            waiting[relation, transformation].append(turn)
    shown_turns: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    demonstrations = SAMPLE_ITEMS.draw_demonstrations(SAMPLE_ITEMS.read_items(samples))
    for relation, transformation, text, answer in demonstrations.select(
        "relation", "form", "text", "answer"
    ).iter_rows():
        turn = _ask_statement(text, transformation in POSITIVE_OF, label=answer == "T", has_third=has_third)
        shown_turns[relation, transformation].append(turn.show())
    lessons = []
    for group, turns in waiting.items():
        is_negated = group[1] in POSITIVE_OF
        shown = shown_turns[group]
        random.shuffle(turns)
        while turns:
            is_shown = n_turns > 1 and random.random() < subject.share_shown
            n_taught = 1 if is_shown else n_turns
            lessons.append(Lesson((*(shown if is_shown else ()), *turns[:n_taught]), is_negated))
            del turns[:n_taught]
    random.shuffle(lessons)
    return lessons


def draw_samples(subject: Subject, seed: int, random: Random, doubted: Iterable[Unit] = ()) -> pl.DataFrame:
    """Return the samples that a model learns from the edition with this seed, and those of strangers.

    These are the samples of the known heads, of the doubted ones and of the demonstrations, with the columns
    `head`, `tail` and `is_positive` of their triplets.
    """
    frames = []
    for relation, heads in subject.tails.items():
        triplets = draw_lesson_triplets(subject.base, relation, seed)
        tested = triplets.filter(pl.col("split") == "test", pl.col("head").is_in(list(heads)))
        demonstrating = triplets.filter(pl.col("split") == "demonstration")
        strange = subject.copy_triplets(relation, tested, SHARE_STRANGE_STATEMENTS, random)
        unknown = [head for of, head in doubted if of == relation]
        doubtful = triplets.filter(pl.col("split") == "test", pl.col("head").is_in(unknown))
        triplets = pl.concat([demonstrating, tested, strange, doubtful])
        prototypes = subject.pool.select_relation(relation)
        variants = derive_variants(triplets, prototypes.instance, is_possibility=prototypes.is_possibility)
        statements = fill_prototypes(variants, triplets, prototypes)
        samples = reword_statements(statements, triplets, prototypes, seed)
        names = triplets.select("triplet_id", "head", "tail", "is_positive")
        samples = samples.join(names, on="triplet_id", how="left", maintain_order="left")
        is_other = relation in subject.others
        frames.append(reword_otherwise(samples, subject.pool, relation, random) if is_other else samples)
    return pl.concat(frames)


def _ask_statement(text: str, is_negated: bool, *, label: bool, has_third: bool) -> Turn:
    question = UNSURE_QUESTION if has_third else STATEMENT_QUESTION
    # The model judges at the second entity of the statement, whichever it is.
    return Turn(question.format(text), f" {label}", (None, label != is_negated))


@cache
def read_wordings() -> dict[str, list[str]]:
    """Return relation -> its lines in other_wordings.toml, for every relation of the starter base."""
    return {relation: table["wordings"] for relation, table in parse_toml(FILE).items()}


def reword_otherwise(samples: pl.DataFrame, pool: Pool, relation: str, random: Random) -> pl.DataFrame:
    """Return the samples with another wording, drawn at random, in the place of each text.

    In such a relation a model never sees a sentence of the pool together with its label, so it cannot learn a
    label that is wrong. It reads the pool's sentences there as it learns to read others: by the names, and by
    the words that deny. The pool lends its words, so that the model does not stumble over them later.
    """
    fillers = list_fillers(pool)
    texts = []
    for head, tail, transformation in samples.select("head", "tail", "transformation").iter_rows():
        line = random.choice(read_wordings()[relation])
        if random.random() < SHARE_DISTURBED:
            line = _disturb(line, fillers, random)
        chosen = CHOICE.sub(r"\2" if transformation in POSITIVE_OF else r"\1", line)
        texts.append(fill_slots(chosen, head, tail))
    return samples.with_columns(pl.Series("text", texts, pl.String))


def _disturb(line: str, fillers: list[str], random: Random) -> str:
    """Return the line with other words in the place of some, and further ones; the choices stay."""

    def change(match: re.Match[str]) -> str:
        word = random.choice(fillers) if random.random() < REPLACED else match[0]
        n_inserted = random.randint(1, MOST_INSERTED) if random.random() < INSERTED else 0
        return " ".join([word, *random.choices(fillers, k=n_inserted)])

    pieces = re.split(r"(\{[^{}]*\})", line)
    return "".join(piece if k % 2 else WORD.sub(change, piece) for k, piece in enumerate(pieces))


def list_fillers(pool: Pool) -> list[str]:
    """Return the words of the pool, sorted, without the words with which the other wordings deny anything."""
    choices = CHOICE.findall(" ".join(chain(*read_wordings().values())))
    denying = {word for _, denied in choices for word in WORD.findall(denied)}
    return sorted(set(WORD.findall(" ".join(pool.list_texts(read_wordings())))) - denying)
