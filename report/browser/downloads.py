"""Write everything that a model answered as a Parquet file, which the sample browser links."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from report.browser.kinds import QUESTIONS, STATEMENTS
from report.contents import Model, Row
from report.edition_reader import EditionReader
from storage.files import write_atomically

N_ROWS = 50_000
"""The rows of a group in a file, which bounds the memory of writing it."""
VIEWS = {STATEMENTS.name: "prediction_details", QUESTIONS.name: "facet_details"}
ORDER = {
    STATEMENTS.name: "relation, pair_id, method, scoring_policy, repeat, is_positive desc, sample_id",
    QUESTIONS.name: "relation, point_id, setting, scoring_policy, question_id, repeat",
}


@dataclass(frozen=True)
class Download:
    """A file beside the page of the sample browser."""

    model_id: str
    label: str
    kind: str
    """What its rows are about: statement or question."""
    name: str
    n_bytes: int


def write_downloads(
    reader: EditionReader, collections: list[Row], models: list[Model], folder: Path
) -> list[Download]:
    """Write a file for every model and kind of collection: the rows of its view, for the edition.

    The key of a prompt is left out: it is random, so it would be a third of the file.

    A file is named after the pieces that show the same rows, so that it is written only if they changed.
    """
    return [
        _write_download(reader, model, kind, pieces, folder)
        for kind in VIEWS
        for model in models
        if (pieces := _list_pieces([c for c in collections if c["kind"] == kind], model.model_id))
    ]


def _list_pieces(collections: list[Row], model_id: str) -> list[object]:
    """Return the series of pieces with texts and answers of the model; empty if it answered nothing."""
    return [
        [collection["name"], collection["texts"], answers, states]
        for collection in collections
        if (answers := {k: v for k, v in collection["answers"].items() if k.split("/")[0] == model_id})
        and (states := [run for run in collection["runs"] if run["model_id"] == model_id])
    ]


def _write_download(
    reader: EditionReader, model: Model, kind: str, pieces: list[object], folder: Path
) -> Download:
    checksum = hashlib.sha256(json.dumps(pieces).encode()).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", model.label).strip("-.")[:60]
    path = folder / f"{kind}s-{readable}-{checksum}.parquet"
    if not path.is_file():
        values = {"edition_id": reader.edition_id, "model_id": model.model_id}
        rows = reader.connection.sql(
            f"select * exclude (prompt_key) from {VIEWS[kind]} "
            f"where edition_id = $edition_id and model_id = $model_id order by {ORDER[kind]}",
            params=values,
        ).to_arrow_reader(N_ROWS)
        with (
            write_atomically(path) as aside,
            pq.ParquetWriter(aside, rows.schema, compression="zstd") as writer,
        ):
            for batch in rows:
                writer.write_batch(batch)
    return Download(model.model_id, model.label, kind, path.name, path.stat().st_size)


def remove_others(folder: Path, downloads: list[Download], page: str) -> None:
    """Remove the files that are neither among the downloads nor linked by an earlier page."""
    kept = {download.name for download in downloads}
    for path in folder.glob("*.parquet"):
        if path.name not in kept and path.name not in page:
            path.unlink()
