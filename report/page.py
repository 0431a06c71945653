"""Write the pages of each edition and the list of editions, which are self-contained and reproducible."""

import json
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_files, hash_text
from pretexeval.storage.files import write_atomically
from pretexeval.storage.layout import page_file, samples_folder
from report.browser.writer import write_browser
from report.certainty import has_interval, select_certain
from report.columns import TABLES, link_cell, select_columns
from report.contents import Contents, Row, find_reach, order_methods
from report.curves import WIDTHS, list_trends
from report.edition_rows import read_editions
from report.findings import describe_edition, list_answers, list_notes
from report.formats import FILTERS, NOTHING
from report.leaders import map_pairs, name_difference
from report.links import LINKS, SAMPLES
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
        tables=TABLES,
        link_cell=link_cell,
        select_columns=select_columns,
        find_reach=find_reach,
        has_interval=has_interval,
        map_pairs=map_pairs,
        name_difference=name_difference,
        select_certain=select_certain,
        list_sections=list_sections,
        explanations=EXPLANATIONS,
        style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )
    return environment


def list_sections(page: str) -> list[tuple[str, str]]:
    """Return the id and the name of every section of a page."""
    return re.findall(r'<section id="([^"]+)" aria-label="([^"]+)">', page)


N_HEAD = 400
"""The characters of a page that hold the hash of what it was made of."""
CODE = (".py", ".html", ".css", ".sql", ".js", ".toml")
"""The files of this folder that pages are made with."""


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
    with_page = _list_compared(root, contents, others)
    inputs = _hash_inputs(root, contents, with_page)
    page = root / page_file(edition_id)
    _write_page(page.parent / SCRIPT, (TEMPLATES / SCRIPT).read_text(encoding="utf-8"))
    # The page that leads to the others comes last.
    for name, file in reversed(PAGES.items()):
        _write_page(page.parent / file, render_page(name, contents, with_page, inputs))
    return page


def _list_compared(root: Path, contents: Contents, others: Sequence[str] = ()) -> list[str]:
    """Return the editions that the page compares its edition with, and that have a page or get one now."""
    compared = {row["other_edition_id"] for row in contents.views["edition_drift"]}
    return sorted(name for name in compared if name in others or (root / page_file(name)).is_file())


def write_index(root: Path) -> Path:
    """Write `report/index.html`, the list of editions with links to their pages, and return its path."""
    editions, places = _read_index(root)
    text = render_template(
        "editions.html",
        editions=editions,
        trends=list_trends(editions, places),
        widths=WIDTHS,
        inputs=hash_made_of(editions, places),
    )
    return _write_page(root / page_file(), text)


def _read_index(root: Path) -> tuple[list[Row], dict[str, int]]:
    """Return the editions of the index, with whether they have a page, and the places of the models."""
    editions, places = read_editions(root)
    for row in editions:
        row["has_page"] = (root / page_file(row["edition_id"])).is_file()
    return editions, places


def write_pages(root: Path, edition_ids: Sequence[str]) -> list[Path]:
    """Write the pages of the editions, then the index, which links them; return the paths of the pages."""
    pages = [write_report(root, edition_id, others=edition_ids) for edition_id in edition_ids]
    write_index(root)
    return pages


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
    """Return whether the pages and the index are there, and were made of what the warehouse holds now."""
    for edition_id in edition_ids:
        folder = (root / page_file(edition_id)).parent
        if not all((folder / name).is_file() for name in (*PAGES.values(), SAMPLES)):
            return False
        contents = read_contents(root, edition_id)
        inputs = _hash_inputs(root, contents, _list_compared(root, contents))
        if not all(_is_made_of(folder / name, inputs) for name in PAGES.values()):
            return False
    return _is_made_of(root / page_file(), hash_made_of(*_read_index(root)))


def _is_made_of(page: Path, inputs: str) -> bool:
    return page.is_file() and f'content="{inputs}"' in page.read_text(encoding="utf-8")[:N_HEAD]


def _hash_inputs(root: Path, contents: Contents, with_page: Sequence[str]) -> str:
    """Return a hash of everything that the pages of an edition and its sample browser are made of."""
    edition_id = contents.edition["edition_id"].replace("'", "''")
    runs = read_rows(root, f"from runs where edition_id = '{edition_id}' order by all")
    return hash_made_of(asdict(contents), with_page, runs)


def hash_made_of(*values: object) -> str:
    """Return a hash of values and of the code and the templates that make pages of them."""
    return hash_text(_hash_code(), json.dumps(_settle(values), default=str, sort_keys=True), digits=32)


def _settle(value: object) -> object:
    """Return a value without what two readings of a view may change: last digits, and the order of rows."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {str(key): _settle(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return sorted(json.dumps(_settle(each), default=str, sort_keys=True) for each in value)
    return value


@cache
def _hash_code() -> str:
    """Return a hash of the files of this folder that pages are made with."""
    return hash_files((path for path in TEMPLATES.rglob("*") if path.suffix in CODE), digits=32)


def render_page(name: str, contents: Contents, with_page: Container[str] = (), inputs: str = "") -> str:
    """Return one of the PAGES of an edition as HTML.

    Args:
        with_page: the other editions to whose samples the page may link.
        inputs: a hash of what the page is made of, which it holds for `are_pages_current`.
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
        inputs=inputs,
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
