"""Sentences for the reference models that are in no prototype pool: `other_wordings.toml`.

In some relations a model learns its facts from these sentences alone. It never sees a sentence of the pool
about such a relation together with its label, so it cannot have learned a label that is wrong. It reads the
pool's sentences there as it learned to read others: by the names, and by the words that deny.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import polars as pl

from primitives.hashing import draw_order, hash_text
from primitives.toml_files import parse_toml
from prototypes.pool import Pool
from prototypes.templates import fill_slots
from schemas.transformations import POSITIVE_OF

FILE = Path(__file__).with_suffix(".toml")
# `{affirmed|denied}` in a line of the file.
CHOICE = re.compile(r"\{([^|{}]*)\|([^|{}]*)\}")
WORD = re.compile(r"\b[a-z]{2,}\b")
# The share of sentences in which some words are replaced, so that a model learns to read over words that it
# does not know, and over long distances between names. Words that affirm or deny are kept. REPLACED: the
# share of their other words; INSERTED: how often a word gets up to MOST_INSERTED further ones behind it.
SHARE_DISTURBED, REPLACED, INSERTED, MOST_INSERTED = 0.5, 0.25, 0.2, 4


@dataclass(frozen=True)
class OtherWordings:
    """The lines of one relation, with the slots [X] and [Y] and the choices of words."""

    lines: tuple[str, ...]

    def list_templates(self) -> list[str]:
        """Return the sentences that affirm and those that deny."""
        return [CHOICE.sub(group, line) for group in (r"\1", r"\2") for line in self.lines]

    def fill(self, head: str, tail: str, *, is_negated: bool, fillers: list[str], random: Random) -> str:
        """Return a sentence, drawn at random, with these names in its slots.

        Args:
            fillers: words that take the place of others, where the sentence is disturbed.
        """
        line = random.choice(self.lines)
        if random.random() < SHARE_DISTURBED:
            line = _disturb(line, fillers, random)
        return fill_slots(CHOICE.sub(r"\2" if is_negated else r"\1", line), head, tail)


def _disturb(line: str, fillers: list[str], random: Random) -> str:
    def change(match: re.Match[str]) -> str:
        word = random.choice(fillers) if random.random() < REPLACED else match[0]
        n_inserted = random.randint(1, MOST_INSERTED) if random.random() < INSERTED else 0
        return " ".join([word, *random.choices(fillers, k=n_inserted)])

    # The pieces at odd places are the choices.
    pieces = re.split(r"(\{[^{}]*\})", line)
    return "".join(piece if k % 2 else WORD.sub(change, piece) for k, piece in enumerate(pieces))


@cache
def read_other_wordings() -> dict[str, OtherWordings]:
    """Return relation -> its lines, for every relation of the starter base."""
    return {relation: OtherWordings(tuple(table["wordings"])) for relation, table in parse_toml(FILE).items()}


def reword_otherwise(samples: pl.DataFrame, pool: Pool, relation: str, seed: int) -> pl.DataFrame:
    """Return the samples with another wording, drawn at random, in the place of each text.

    Args:
        pool: lends its words, but no sentence, so that the model does not stumble over them later.
    """
    bundled = read_other_wordings()
    wordings, fillers = bundled[relation], list_fillers(pool.list_texts(bundled))
    random = Random(hash_text("other wordings", relation, str(seed)))
    texts = [
        wordings.fill(head, tail, is_negated=transformation in POSITIVE_OF, fillers=fillers, random=random)
        for head, tail, transformation in samples.select("head", "tail", "transformation").iter_rows()
    ]
    return samples.with_columns(pl.Series("text", texts, pl.String))


def list_fillers(texts: Iterable[str]) -> list[str]:
    """Return the words of these texts, sorted, without the words with which the lines deny anything."""
    lines = [line for wordings in read_other_wordings().values() for line in wordings.lines]
    denying = {word for line in lines for _, denied in CHOICE.findall(line) for word in WORD.findall(denied)}
    return sorted({word for text in texts for word in WORD.findall(text)} - denying)


def choose_other_relations(relations: Iterable[str], part: tuple[float, float]) -> frozenset[str]:
    """Return the relations that a model learns from the other wordings alone.

    Args:
        part: where this part of all relations, in the order of their hashes, begins and ends, as shares.
    """
    order = draw_order(relations, "other wordings")
    begin, end = (round(share * len(order)) for share in part)
    return frozenset(order[begin:end])
