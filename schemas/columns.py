"""Columns and stages, and the columns that several stages share."""

from dataclasses import dataclass
from typing import get_args

import polars as pl
import pyarrow as pa

from schemas import transformations
from schemas.choices import ScoringPolicy

SPLITS = ("test", "demonstration")
SCORING_POLICIES: tuple[str, ...] = get_args(ScoringPolicy)
ID16 = "^[0-9a-f]{16}$"
ID32 = "^[0-9a-f]{32}$"


@dataclass(frozen=True)
class Column:
    """One column of a stage, and the conditions on its values."""

    name: str
    type: pa.DataType
    meaning: str
    """Metadata of the column in every Parquet file: a changed text changes the bytes of all files."""
    is_nullable: bool = False
    values: tuple[str, ...] | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class Stage:
    """The contract of one stage: its columns, its key, and what one row is."""

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema. The metadata of each field holds its meaning."""
        return pa.schema(
            [pa.field(c.name, c.type, c.is_nullable, {"meaning": c.meaning}) for c in self.columns]
        )

    @property
    def empty(self) -> pl.DataFrame:
        """Return a frame of these columns without rows."""
        return pl.DataFrame(schema=pl.Schema(self.schema))

    @property
    def names(self) -> list[str]:
        """Return the column names, in order."""
        return [c.name for c in self.columns]


def define_id(name: str, meaning: str, *, is_nullable: bool = False, pattern: str = ID16) -> Column:
    """Return a column of ids."""
    return Column(name, pa.string(), meaning, is_nullable, pattern=pattern)


RELATION = Column("relation", pa.string(), "relation of the knowledge base")
TRIPLET_ID = define_id("triplet_id", "hash of relation, head, tail, their ids and the truth value")
PAIR_ID = define_id("pair_id", "hash of the positive and the negative triplet of one (head, relation)")
SPLIT = Column("split", pa.string(), "test, or held out to demonstrate the task", values=SPLITS)
VARIANT_ID = define_id("variant_id", "hash of triplet_id and transformation")
TRANSFORMATION = Column(
    "transformation",
    pa.string(),
    "which of the eight transformations made the variant",
    values=transformations.NAMES,
)
LABEL = Column("label", pa.bool_(), "whether the text is true: is_positive XOR is negated")
SAMPLE_ID = define_id("sample_id", "hash of method, variant (or triplet and index) and text")
ITEM_ID = define_id("item_id", "what the model was asked: a sample_id or a question_id")
MODEL_ID = define_id("model_id", "name and identity of the evaluated model", pattern="^[A-Za-z0-9._-]+$")
PROMPT_KEY = define_id("prompt_key", "hash of what was sent and to whom", pattern=ID32)
REPEAT = Column("repeat", pa.int16(), "0, 1, … where the same prompt is asked several times")
SCORING_POLICY = Column("scoring_policy", pa.string(), "how no answer counts", values=SCORING_POLICIES)
