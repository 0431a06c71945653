"""An edition as Parquet files, and their description in the format Croissant."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from commands.exports.rows import COLUMNS
from pretexeval.config.schedule import find_first_day
from pretexeval.primitives.hashing import checksum_file
from schemas.question_stages import QUESTIONS
from schemas.stages import METHODS

TYPES = {"n_in_triplet": pa.int8(), "is_positive": pa.bool_()}
QUESTION_PROMPT = "the exact text that an evaluation sends in the setting answer_only; null if not tested"


@dataclass(frozen=True)
class ExportedTable:
    """A Parquet file of an export. The metadata of every column holds its meaning."""

    name: str
    row: str
    key: str
    schema: pa.Schema

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name}.parquet"

    @property
    def meanings(self) -> dict[str, str]:
        """Column -> what it means."""
        return {field.name: field.metadata[b"meaning"].decode() for field in self.schema}


SAMPLE_TABLE = ExportedTable(
    "samples",
    "sample: a statement that is true or false",
    "sample_id",
    pa.schema(
        [pa.field(name, TYPES.get(name, pa.string()), True, {"meaning": m}) for name, m in COLUMNS.items()]
    ),
)
QUESTION_TABLE = ExportedTable(
    "questions",
    QUESTIONS.row,
    "question_id",
    pa.schema([*QUESTIONS.schema, pa.field("prompt", pa.string(), True, {"meaning": QUESTION_PROMPT})]),
)


def write_table(folder: Path, table: ExportedTable, relations: Iterable[pl.DataFrame]) -> Counter[str]:
    """Write all rows with one row group per relation; return method -> tested rows."""
    counts = Counter[str]()
    with pq.ParquetWriter(folder / table.file, table.schema, compression="zstd") as writer:
        for rows in relations:
            writer.write_table(rows.select(table.schema.names).to_arrow().cast(table.schema))
            counts.update(rows.filter(split="test")["method"])
    return counts


UNKNOWN_LICENCE = (
    "Unknown: this edition records no licence of its knowledge base. Whether it may be passed on depends on "
    "the licence of that base."
)
SOURCES = {
    "samples": "PretexEval (Zhou et al., Reliable and diverse evaluation of LLM medical knowledge mastery, "
    "ICLR 2025)",
    "questions": "MultifacetEval (Zhou et al., IJCAI 2024)",
}


@dataclass(frozen=True)
class ExportedEdition:
    """An edition and how much of it is exported."""

    manifest: Mapping[str, Any]
    n_tested: Mapping[str, int]
    """Method -> number of tested samples; `questions` -> number of tested questions."""
    licence: str
    option: str
    """The option that chose the pairs, with a space before it; empty if all are tested."""

    @property
    def edition_id(self) -> str:
        """The name of the edition."""
        return str(self.manifest["edition_id"])

    @property
    def n_samples(self) -> dict[str, int]:
        """Method -> number of tested samples."""
        return {method: self.n_tested[method] for method in METHODS if method in self.n_tested}

    @property
    def n_questions(self) -> int:
        """The number of tested questions."""
        return self.n_tested.get(QUESTIONS.name, 0)

    @property
    def tables(self) -> list[ExportedTable]:
        """The tables that the edition fills."""
        samples = [SAMPLE_TABLE] if self.n_samples else []
        return samples + ([QUESTION_TABLE] if self.n_questions else [])

    @property
    def published(self) -> date | None:
        """The first day of the period that a scheduled edition is named after; null for other editions.

        An edition has no other date, because it is the same whenever and wherever it is built.
        """
        return find_first_day(str(self.manifest.get("label")))

    def describe(self) -> str:
        """Return one paragraph about the edition."""
        counts = [f"{n:,} samples by the method {method}" for method, n in self.n_samples.items()]
        counts += [f"{self.n_questions:,} questions"] if self.n_questions else []
        return (
            f"The edition {self.edition_id} of a test of knowledge. Samples are statements that are true or "
            "false relative to a knowledge base, each triplet in several logically transformed wordings "
            "(PretexEval); questions are of four types (MultifacetEval). "
            f"Tested: {', '.join(counts)}. Knowledge base: {self.manifest.get('kb')}; "
            f"seed: {self.manifest.get('seed')}; negatives: {self.manifest.get('negatives')}; "
            f"rephraser: {self.manifest.get('rephraser')}{self._describe_gate()}."
        )

    def _describe_gate(self) -> str:
        """Return what to add to the rephraser if nothing checked its rewordings."""
        rephraser = self.manifest.get("configuration", {}).get("rephraser", {})
        return ", whose rewordings nobody checked" if rephraser.get("gate") == "off" else ""

    def cite(self) -> str:
        """Return a citation in the format of BibTeX: the edition, and the methods that made it."""
        methods = " and ".join(SOURCES[table.name] for table in self.tables)
        year = f"  year = {{{self.published.year}}},\n" if self.published else ""
        return (
            f"@misc{{{self.edition_id},\n"
            f"  title = {{Edition {self.edition_id} of a test of knowledge}},\n"
            f"{year}"
            f"  note = {{Made by pretexeval from the knowledge base {self.manifest.get('kb')}, "
            f"by the method of {methods}}},\n"
            "}"
        )


CROISSANT = "croissant.json"
DATA_TYPES = {pa.string(): "sc:Text", pa.int8(): "sc:Integer", pa.bool_(): "sc:Boolean"}
# The standard context of Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format includes "
    "isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace "
    "samplingRate separator source subField transform"
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}


def write_croissant(folder: Path, edition: ExportedEdition) -> None:
    """Write the description of the Parquet files. The same edition gives the same bytes."""
    published = {} if edition.published is None else {"datePublished": edition.published.isoformat()}
    metadata = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": edition.edition_id,
        "description": edition.describe(),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": edition.licence,
        "citeAs": edition.cite(),
        **published,
        "version": "1.0.0",
        "isLiveDataset": False,
        "distribution": [_describe_file(folder, table) for table in edition.tables],
        "recordSet": [_describe_rows(table) for table in edition.tables],
    }
    text = json.dumps(metadata, indent=2, ensure_ascii=False)
    (folder / CROISSANT).write_text(text + "\n", encoding="utf-8")


def _describe_file(folder: Path, table: ExportedTable) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "description": f"All {table.name} of the edition.",
        "contentUrl": table.file,
        # The name that mlcroissant knows; the registered one is application/vnd.apache.parquet.
        "encodingFormat": "application/x-parquet",
        "sha256": checksum_file(folder / table.file),
    }


def _describe_rows(table: ExportedTable) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": f"One row per {table.row}.",
        "key": {"@id": f"{table.name}/{table.key}"},
        "field": [_describe_field(table, field) for field in table.schema],
    }


def _describe_field(table: ExportedTable, field: pa.Field) -> dict[str, Any]:
    is_list = pa.types.is_list(field.type)
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table.name}/{field.name}",
        "name": field.name,
        "description": table.meanings[field.name],
        "dataType": DATA_TYPES[field.type.value_type if is_list else field.type],
        "source": {"fileObject": {"@id": table.file}, "extract": {"column": field.name}},
    }
    return described | ({"repeated": True} if is_list else {})
