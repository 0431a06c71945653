"""Write the sample browser of an edition: its data in pieces, then its scripts, then its page."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pretexeval.storage.files import write_atomically, write_bytes
from pretexeval.storage.layout import edition_folder, pieces_folder, samples_folder
from report import links
from report.browser.collection import QUESTIONS, STATEMENTS, CollectionWriter, Kind, create_table
from report.browser.pieces import Earlier, PieceFolder, Series, hash_browser, read_earlier
from report.contents import Contents, Model, Row
from report.edition_reader import EditionReader
from warehouse.query import limit_memory, open_warehouse

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


FOLDER = Path(__file__).parent
# In the order in which the page loads them: a script uses what those before it define.
SCRIPTS = (
    "elements.js",
    "pieces.js",
    "fragment.js",
    "collection.js",
    "selection.js",
    "samples.js",
    "search.js",
    "filters.js",
    "list.js",
    "detail.js",
    "main.js",
)
# Without a limit, DuckDB keeps most of the warehouse in memory: 3.6 GB with 12 models on MedLAMA, not 1.4.
MEMORY_LIMIT = "1200MB"
N_CHARACTERS = 30_000
"""The characters of a response or of a reasoning that the page shows."""


def write_browser(root: Path, contents: Contents) -> Path | None:
    """Write the sample browser of the edition and return its page; None if no model has answered.

    The page replaces the old one only when all its pieces are there. The pieces of the old page stay until
    the next publication, for readers who have that page open.
    """
    edition_id = contents.edition["edition_id"]
    folder = root / samples_folder(edition_id)
    pieces = PieceFolder(root / pieces_folder(edition_id))
    made_by = hash_browser()
    earlier = read_earlier(folder, made_by)
    checksums: dict[str, Series] = {}
    model_ids = [model.model_id for model in contents.models]
    with open_warehouse(root) as connection:
        reader = EditionReader(connection, edition_id)
        _prepare(reader, earlier)
        files = sorted((root / edition_folder(edition_id) / "statements").glob("*.parquet"))
        writers = [
            CollectionWriter(reader, kind, method, pieces, earlier, checksums, model_ids, files)
            for kind, method in _list_collections(reader, contents)
        ]
        collections = [row for row in (writer.write() for writer in writers) if row is not None]
        if not collections:
            return None
        downloads = write_downloads(reader, collections, contents.models, folder)
        parts = pieces.write_series(
            json.dumps([row["part"], row["how"]], ensure_ascii=False)
            for row in reader.read("select part, how from browsed_parts order by number")
        )
    catalogue = {
        "edition": edition_id,
        "collections": collections,
        "models": {m.model_id: {"label": m.label, "colour": m.colour} for m in contents.models},
        "parts": parts,
        "downloads": [vars(download) for download in downloads],
        "checksums": checksums,
        "madeBy": made_by,
    }
    name = pieces.write(json.dumps(catalogue, ensure_ascii=False))
    page = folder / "index.html"
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    _write_files(folder, name, downloads, edition_id=edition_id, collections=collections)
    pieces.remove_others(earlier.names)
    remove_others(folder, downloads, before)
    return folder / "index.html"


def _prepare(reader: EditionReader, earlier: Earlier) -> None:
    """Create what the SQL files share: a macro, the parts of prompts, and which prompt consists of which."""
    connection = reader.connection
    limit_memory(connection, MEMORY_LIMIT)
    connection.execute(
        "create or replace temp macro clip(t) as "
        f"if(length(t) > {N_CHARACTERS}, left(t, {N_CHARACTERS}) || ' …', t)"
    )
    parts = pl.DataFrame(earlier.parts, schema={"part": pl.String, "how": pl.Int32}, orient="row")
    create_table(connection, "browsed_parts", parts.with_row_index("number"))
    connection.execute(
        "create or replace temp table browsed_cuts "
        "(prompt_hash ubigint, item_id varchar, before_number bigint, after_number bigint)"
    )


def _list_collections(reader: EditionReader, contents: Contents) -> list[tuple[Kind, str]]:
    """Return the collections of the edition with their names, that of the page's figures first."""
    found = reader.read("select distinct method from samples where edition_id = $edition_id")
    first = contents.setting.method
    methods = sorted((row["method"] for row in found), key=lambda name: (name != first, name))
    statements = [(STATEMENTS, method) for method in methods]
    return [*statements, (QUESTIONS, links.QUESTIONS)] if contents.questions else statements


def _write_files(folder: Path, catalogue: str, downloads: list[Download], **values: object) -> None:
    """Write the scripts, the style and the page, in this order."""
    for name in SCRIPTS:
        _write_changed(folder / name, (FOLDER / "js" / name).read_bytes())
    style = [(path).read_bytes() for path in (FOLDER.parent / "style.css", FOLDER / "browser.css")]
    _write_changed(folder / "browser.css", b"\n".join(style))
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    page = environment.get_template("page.html").render(
        catalogue=catalogue, downloads=downloads, scripts=SCRIPTS, **values
    )
    _write_changed(folder / "index.html", page.encode())


def _write_changed(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_bytes(path, content)
