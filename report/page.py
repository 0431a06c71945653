"""Write the pages of each edition and the list of editions, which are self-contained and reproducible."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json, hash_text
from pretexeval.storage.files import write_atomically, write_bytes
from pretexeval.storage.layout import WAREHOUSE, page_file, page_record, samples_folder
from report.browser.links import LINKS
from report.browser.writer import write_browser
from report.contents import Contents, find_reach, order_methods
from report.edition_rows import read_editions
from report.findings import describe_edition, is_certain, list_answers, list_notes
from report.formats import FILTERS, NOTHING
from report.page_rows import N_EDITIONS_SHOWN, read_contents
from warehouse.drift import EXPLANATIONS
from warehouse.query import read_rows

TEMPLATES = Path(__file__).parent
PAGES = {"Results": "index.html", "Validity": "validity.html", "Data": "data.html"}
"""The pages of an edition by their names: files of one folder, each with a template of the same name."""
SCRIPT = "sort.js"
"""The script of these pages, which lies beside them, because the servers allow none within a page."""


def render_template(template: str, **values: object) -> str:
    """Return the template of that file name with the values and the style sheet of all pages."""
    return _load_templates().get_template(template).render(values)


@cache
def _load_templates() -> Environment:
    """Return the templates, which are compiled once in a process: that takes longer than to render them."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: NOTHING if value is None else value,
    )
    environment.filters.update(FILTERS, in_papers_order=order_methods)
    environment.globals.update(
        LINKS,
        has_any=has_any,
        find_reach=find_reach,
        is_certain=is_certain,
        list_sections=list_sections,
        explanations=EXPLANATIONS,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )
    return environment


def has_any(rows: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Return whether a row has a value above zero in the column; some views lack it."""
    return any(row.get(name) for row in rows)


def list_sections(page: str) -> list[tuple[str, str]]:
    """Return the id and the name of every section of a page."""
    return re.findall(r'<section id="([^"]+)" aria-label="([^"]+)">', page)


KINDS = (".py", ".html", ".css", ".sql", ".js")
"""The files of this folder that pages are made with."""
LIBRARIES = ("altair", "vl-convert-python", "jinja2", "duckdb", "polars", "pyarrow")


def describe_inputs(root: Path, *arguments: object) -> str:
    """Return a hash of everything that pages of the warehouse depend on.

    Raises:
        FileNotFoundError: there is no warehouse.
    """
    status = (root / WAREHOUSE).stat()
    return hash_json([status.st_ino, status.st_size, status.st_mtime_ns, _hash_code(), *arguments])


def is_made_of(record: Path, inputs: str) -> bool:
    """Return whether the files beside the record were made of the inputs, and nobody changed them since."""
    try:
        content = json.loads(record.read_bytes())
        return bool(content["inputs"] == inputs and content["files"] == _list_files(record, content["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_record(record: Path, inputs: str, pattern: str) -> None:
    """Write what the files beside the record that match the pattern were made of."""
    names = sorted(str(path.relative_to(record.parent)) for path in record.parent.glob(pattern))
    files = _list_files(record, [name for name in names if name != record.name])
    write_bytes(record, json.dumps({"inputs": inputs, "files": files}).encode())


def _list_files(record: Path, names: list[str]) -> dict[str, list[int]]:
    """Return the size and the time of each of the files; raise OSError if one is missing."""
    found = {name: (record.parent / name).stat() for name in names if not (record.parent / name).is_dir()}
    return {name: [status.st_size, status.st_mtime_ns] for name, status in found.items()}


@cache
def _hash_code() -> str:
    """Return a hash of the files of this folder and of the libraries."""
    files = [path for path in sorted(TEMPLATES.rglob("*")) if path.suffix in KINDS]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return hash_text(*texts, *map(version, LIBRARIES))


def write_report(root: Path, edition_id: str, *, others: Sequence[str] = ()) -> Path:
    """Write the edition's PAGES in `report/<edition_id>/` under the root, and return the path of the first.

    The sample browser, to which they link, is written before.

    Args:
        others: the editions whose pages are written together with this one. The page links to these, and to
            other editions that have a page.

    Raises:
        InputError: if there is no warehouse, if it does not contain the edition, or if the page
            cannot be written.
    """
    contents = read_contents(root, edition_id)
    with _explain_failure(root / samples_folder(edition_id)):
        write_browser(root, contents)
    compared = {row["other_edition_id"] for row in contents.views["edition_drift"]}
    with_page = {i for i in compared if i in others or (root / page_file(i)).is_file()}
    page = root / page_file(edition_id)
    _write_page(page.parent / SCRIPT, (TEMPLATES / SCRIPT).read_text(encoding="utf-8"))
    # The page that leads to the others comes last.
    for name, file in reversed(PAGES.items()):
        _write_page(page.parent / file, render_page(name, contents, with_page))
    return page


def write_index(root: Path) -> Path:
    """Write `report/index.html`, the list of editions with links to their pages, and return its path."""
    # Importing Altair takes a third of a second, which the command line should not pay at its start.
    from report.curves import draw_trends

    editions, places = read_editions(root)
    for row in editions:
        row["has_page"] = (root / page_file(row["edition_id"])).is_file()
    text = render_template("editions.html", editions=editions, trends=draw_trends(editions, places))
    return _write_page(root / page_file(), text)


def write_pages(root: Path, edition_ids: Sequence[str]) -> list[Path]:
    """Write the pages of the editions, then the index, which links them; return the paths of the pages.

    A page is kept as it is if the warehouse, the code and the files of the page are those of the last time.
    """
    with_page = _list_with_page(root, edition_ids)
    for edition_id in edition_ids:
        with _keep_unchanged(root, edition_id, [edition_id, with_page]) as is_kept:
            if not is_kept:
                write_report(root, edition_id, others=edition_ids)
    with _keep_unchanged(root, None, [with_page]) as is_kept:
        if not is_kept:
            write_index(root)
    return [root / page_file(edition_id) for edition_id in edition_ids]


def list_later_pages(root: Path, edition_id: str) -> list[str]:
    """Return the editions of the same base and of later periods that have a page, which compares them."""
    later = read_rows(
        root,
        "select later.edition_id from editions as later inner join editions as this using (kb) "
        f"where this.edition_id = '{edition_id}' and later.period_start > this.period_start order by all",
    )
    names = [row["edition_id"] for row in later]
    return [name for name in names if (root / page_file(name)).is_file()]


def are_pages_current(root: Path, edition_ids: Sequence[str]) -> bool:
    """Return whether `write_pages` would keep every page and the index as they are."""
    with_page = _list_with_page(root, edition_ids)
    return _is_current(root, None, [with_page]) and all(
        _is_current(root, edition_id, [edition_id, with_page]) for edition_id in edition_ids
    )


def _list_with_page(root: Path, edition_ids: Sequence[str]) -> list[str]:
    """Return the editions that have a page, and those that get one."""
    existing = {path.parent.name for path in (root / page_file()).parent.glob("*/index.html")}
    return sorted(existing.union(edition_ids))


def _is_current(root: Path, edition_id: str | None, arguments: list[object]) -> bool:
    inputs = _find_inputs(root, arguments)
    return inputs is not None and is_made_of(root / page_record(edition_id), inputs)


def _find_inputs(root: Path, arguments: list[object]) -> str | None:
    """Return what a page would be made of now; null without a warehouse."""
    try:
        return describe_inputs(root, *arguments)
    except FileNotFoundError:
        return None


@contextmanager
def _keep_unchanged(root: Path, edition_id: str | None, arguments: list[object]) -> Iterator[bool]:
    """Say whether the page that is there can be kept; if not, record what the new one was made of."""
    record = root / page_record(edition_id)
    # Before the page is made: if the warehouse is replaced meanwhile, the next time writes it again.
    inputs = _find_inputs(root, arguments)
    is_kept = inputs is not None and is_made_of(record, inputs)
    yield is_kept
    if inputs is not None and not is_kept:
        with _explain_failure(record):
            write_record(record, inputs, "**/*" if edition_id else "index.html")


def render_page(name: str, contents: Contents, with_page: Container[str] = ()) -> str:
    """Return one of the PAGES of an edition as HTML.

    Args:
        with_page: the other editions to whose samples the page may link.
    """
    return render_template(
        PAGES[name],
        title=name,
        pages=PAGES,
        contents=contents,
        edition=contents.edition,
        setting=contents.setting,
        views=contents.views,
        asked=contents.questions,
        has_pairs=contents.edition["n_pairs"] or not contents.questions,
        by_id={model.model_id: model for model in contents.models},
        with_page=with_page,
        finding=describe_edition(contents),
        answers=list_answers(contents),
        notes=list_notes(contents),
        n_drift_editions=N_EDITIONS_SHOWN,
        quoted_id=contents.edition["edition_id"].replace("'", "''"),
    )


def _write_page(path: Path, text: str) -> Path:
    """Write the page in one rename, so that a reader of the old page is not disturbed; return its path."""
    with _explain_failure(path), write_atomically(path) as aside:
        aside.write_text(text, encoding="utf-8")
    return path


@contextmanager
def _explain_failure(path: Path) -> Iterator[None]:
    """Turn a failure to write into an InputError that says what to do."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error}); make room or make the folder writable, then "
            "run `pretexeval publish CONFIG`"
        ) from error
