"""Write the pages of each edition and the list of editions, which are self-contained and reproducible."""

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import write_atomically
from pretexeval.storage.layout import WAREHOUSE, page_file, samples_folder
from report.browser.writer import write_browser
from report.certainty import has_interval, select_certain
from report.columns import TABLES, link_cell, select_columns
from report.contents import Contents, find_reach, order_methods
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
    editions, places = read_editions(root)
    for row in editions:
        row["has_page"] = (root / page_file(row["edition_id"])).is_file()
    text = render_template(
        "editions.html", editions=editions, trends=list_trends(editions, places), widths=WIDTHS
    )
    return _write_page(root / page_file(), text)


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
    """Return whether the pages and the index are newer than the warehouse and the code that makes them."""
    folders = [(root / page_file(edition_id)).parent for edition_id in edition_ids]
    files = [folder / name for folder in folders for name in (*PAGES.values(), SAMPLES)]
    sources = [root / WAREHOUSE, *(path for path in TEMPLATES.rglob("*") if path.suffix in CODE)]
    try:
        oldest = min(path.stat().st_mtime_ns for path in [root / page_file(), *files])
        return oldest >= max(path.stat().st_mtime_ns for path in sources)
    except FileNotFoundError:
        return False


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
