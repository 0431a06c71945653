"""Write the sample browser of an edition: folders of JSON, then its scripts, then its page.

`fetch` does not work for pages that are opened from a file, but scripts do. A file of data is a script that
hands one value of JSON to the page. All files of one query are in a folder that is named after what they are
made of. So nothing is queried for a folder that is there, and a page that was opened before a publication
still finds its folders.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pretexeval.primitives.hashing import hash_files, hash_text
from pretexeval.storage.files import write_bytes
from pretexeval.storage.layout import samples_folder
from report import links
from report.contents import Contents, EditionReader, Row
from report.formats import FORMS
from schemas.columns import SCORING_POLICIES
from schemas.question_stages import FACET_OF, SETTINGS
from schemas.transformations import TRANSFORMATIONS
from warehouse.query import limit_memory, open_warehouse

FOLDER = Path(__file__).parent
# In the order in which the page loads them: a script uses what those before it define.
SCRIPTS = ("elements.js", "data.js", "selection.js", "filters.js", "list.js", "detail.js", "main.js")
STATEMENTS, QUESTIONS = "statements", "questions"
"""The kinds of collections. The items of one (samples, or questions) stand in groups (pairs, or points)."""
ANSWERS = {STATEMENTS: "samples", QUESTIONS: "questions"}
"""Kind of a collection -> its kind in the table answers."""
RUNS = {
    STATEMENTS: "select distinct model_id, scoring_policy, repeat from pair_scores "
    "where edition_id = $edition_id and method = $method",
    QUESTIONS: "select distinct model_id, scoring_policy, setting from point_scores "
    "where edition_id = $edition_id",
}
CONTENTS = (
    "select model_id, setting, bit_xor(hash(answers)) as contents from answers "
    "where kind = $kind and edition_id = $edition_id group by model_id, setting"
)
MAX_GROUPS = 20_000
"""The groups of a collection that are shown, because a browser loads the list of them. MedLAMA has 17,000."""
N_PER_FILE = 100
"""The groups in a file of texts or of replies, which has 0.1 to 0.5 MB. The detail of a sample needs a file
of each model, and a file of a whole relation has up to 5 MB, or ten times as much with reasoning."""
# Without a limit, DuckDB keeps most of the warehouse in memory: 3.6 GB with 12 models on MedLAMA, not 1.4.
MEMORY_LIMIT = "1200MB"


def write_browser(root: Path, contents: Contents) -> Path | None:
    """Write the sample browser of the edition and return its page; None if no model has answered.

    The page replaces the old one only when all its data is there. The data of the old page stays until the
    next publication, for readers who have that page open.
    """
    edition_id = contents.edition["edition_id"]
    folder = root / samples_folder(edition_id)
    page = folder / "index.html"
    with open_warehouse(root) as connection:
        limit_memory(connection, MEMORY_LIMIT)
        reader = EditionReader(connection, edition_id)
        _run(reader, "macros")
        written = [
            _write_collection(reader, kind, method, contents, folder / "data")
            for kind, method in _list_collections(reader, contents)
        ]
        collections = [collection for collection in written if collection["runs"]]
        if not collections:
            return None
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    _write_page(folder, contents, collections)
    named = before + page.read_text(encoding="utf-8")
    for path in (folder / "data").iterdir():
        if path.is_dir() and path.name not in named:
            shutil.rmtree(path)
    return page


def _list_collections(reader: EditionReader, contents: Contents) -> list[tuple[str, str]]:
    """Return kind and method of the collections of the edition, that of the page's figures first."""
    found = reader.read("select distinct method from samples where edition_id = $edition_id")
    first = contents.setting.method
    methods = sorted((row["method"] for row in found), key=lambda name: (name != first, name))
    statements = [(STATEMENTS, method) for method in methods]
    return [*statements, (QUESTIONS, links.QUESTIONS)] if contents.questions else statements


def _write_collection(
    reader: EditionReader, kind: str, method: str, contents: Contents, data: Path
) -> dict[str, Any]:
    """Write the data of one collection, and return its entry in the catalogue of the page."""
    runs = reader.read(RUNS[kind], **({"method": method} if kind == STATEMENTS else {}))
    collection: dict[str, Any] = {
        "name": method,
        "kind": kind,
        "forms": _list_forms(kind, method),
        "runs": runs,
    }
    if not runs:
        return collection
    _run(reader, kind, method=method)
    ((n_all, n_groups, *items),) = _run(reader, "groups", n_groups=MAX_GROUPS)
    collection |= {"nAll": n_all, "nGroups": n_groups}
    n_parts = ceil(n_groups / N_PER_FILE)
    collection["index"] = _write_folder(reader, data, "index", 1, items)
    collection["texts"] = _write_folder(reader, data, "texts", n_parts, items)
    answered = reader.read(CONTENTS, kind=ANSWERS[kind])
    contents_of = {(row["model_id"], row["setting"]): row["contents"] for row in answered}
    model_ids = [model.model_id for model in contents.models]
    runs.sort(
        key=lambda run: (
            SCORING_POLICIES.index(run["scoring_policy"]),
            run.get("repeat", 0),
            SETTINGS.index(run["setting"]) if "setting" in run else 0,
            model_ids.index(run["model_id"]),
        )
    )
    replies: dict[tuple[object, ...], str] = {}
    for run in runs:
        values = {"repeat": None, "setting": None, "kind": ANSWERS[kind]} | run
        made_of = [items, contents_of[values["model_id"], values["setting"]]]
        run["outcomes"] = _write_folder(reader, data, "outcomes", 1, made_of, **values)
        # A scoring policy changes no reply.
        key = (values["model_id"], values["repeat"], values["setting"])
        if key not in replies:
            replies[key] = _write_folder(reader, data, "replies", n_parts, made_of, **values)
        run["replies"] = replies[key]
    return collection


def _list_forms(kind: str, method: str) -> list[Row]:
    """Return what the forms of items mean, by their number in the SQL files."""
    if kind == QUESTIONS:
        return [
            {"name": name, "facet": facet, "is_negated": is_negated}
            for name, facet in FACET_OF.items()
            for is_negated in (False, True)
        ]
    has_transformations = method != "llmeval"
    return [
        {
            "name": t.name if has_transformations else f"line {k + 1}",
            "words": FORMS[t.name] if has_transformations else f"line {k + 1}",
            "is_negated": t.is_negated if has_transformations else None,
            "is_true_tail": is_true_tail,
        }
        for is_true_tail in (True, False)
        for k, t in enumerate(TRANSFORMATIONS)
    ]


def _run(reader: EditionReader, name: str, **values: object) -> Iterator[tuple[Any, ...]]:
    """Run the statements of an SQL file with the values that they use; return the rows of the last one."""
    values["edition_id"] = reader.edition_id
    sql = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    for statement in reader.connection.extract_statements(sql):
        used = {parameter: values[parameter] for parameter in statement.named_parameters}
        result = reader.connection.execute(statement, used)
    return iter(result.fetchone, None)


def _write_folder(
    reader: EditionReader, data: Path, name: str, n_files: int, made_of: object, **values: object
) -> str:
    """Write the rows of a query to numbered files of JSON; return the name of their folder.

    DuckDB itself can write no file after `lock_down` of another connection of this process.

    Args:
        name: of the SQL file.
        n_files: how many files there will be. A folder from which somebody removed a file is written again.
        made_of: what the rows depend on, beside the values and the code.
    """
    parts = [_hash_code(), name, reader.edition_id, made_of, values]
    folder = data / hash_text(json.dumps(parts, default=str, sort_keys=True), digits=20)
    if folder.is_dir() and len(list(folder.iterdir())) >= n_files:
        return folder.name
    aside = data / f".{os.getpid()}-{secrets.token_hex(4)}.next"
    aside.mkdir(parents=True)
    try:
        for number, value in _run(reader, name, n_per_file=N_PER_FILE, **values):
            write_bytes(aside / f"{number}.js", f"receive({value});\n".encode())
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return folder.name


@cache
def _hash_code() -> str:
    """Return a hash of this file and of the queries."""
    return hash_files([Path(__file__), *FOLDER.glob("*.sql")])


def _write_page(folder: Path, contents: Contents, collections: list[dict[str, Any]]) -> None:
    """Write the scripts, the style and the page, in this order."""
    styles = (FOLDER.parent / "style.css", FOLDER / "browser.css")
    files = {name: (FOLDER / "js" / name).read_bytes() for name in SCRIPTS}
    files["browser.css"] = b"\n".join(path.read_bytes() for path in styles)
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    catalogue = {
        "collections": collections,
        "models": {m.model_id: {"label": m.label, "colour": m.colour} for m in contents.models},
        "nPerFile": N_PER_FILE,
    }
    page = environment.get_template("page.html").render(
        edition_id=contents.edition["edition_id"], catalogue=catalogue, scripts=SCRIPTS
    )
    files["index.html"] = page.encode()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_bytes(path, content)
