"""The description of exported Parquet files in the format Croissant."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from commands.exports.tables import ExportedEdition, ExportedTable
from pretexeval.primitives.hashing import checksum_file

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
