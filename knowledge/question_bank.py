"""A bank of existing questions, the source of an edition without triplets."""

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from knowledge.base import COLUMNS, KnowledgeBase
from knowledge.medqa import MedqaItem
from knowledge.synonyms import SynonymTable
from primitives.hashing import hash_json

MEDQA = "medqa"
"""What stands for the relation of all questions of MedQA."""


def _list_no_triplets() -> pl.DataFrame:
    return pl.DataFrame(schema=COLUMNS)


@dataclass(frozen=True)
class QuestionBank(KnowledgeBase):
    """The questions of MedQA, and the synonyms of their answers. There are no triplets."""

    triplets: pl.DataFrame = field(default_factory=_list_no_triplets)
    items: tuple[MedqaItem, ...] = ()
    synonyms: SynonymTable = field(default_factory=SynonymTable)

    @property
    def relations(self) -> list[str]:
        """Return the only name under which all questions are stored."""
        return [MEDQA]

    def checksum_relation(self, relation: str) -> str:
        """Return the hash of all questions and synonyms (32 hex digits); their order does not change it."""
        return self._checksum

    @cached_property
    def _checksum(self) -> str:
        items = sorted(
            [item.question, list(item.options), item.letter, item.meta_info] for item in self.items
        )
        synonyms = {answer: list(names) for answer, names in self.synonyms.by_answer.items()}
        return hash_json({"items": items, "synonyms": synonyms}, digits=32)
