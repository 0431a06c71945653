"""Write the pages: one per edition, and the list of editions. Pages are self-contained and reproducible."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from primitives.errors import InputError
from report.comparison_rows import N_EDITIONS_SHOWN
from report.contents import Contents, Model, Row, order_methods
from report.formats import FILTERS, NOTHING
from report.page_rows import read_contents, read_editions
from report.reasoning_notes import note_unfinished, note_unfinished_questions
from storage.files import write_atomically
from storage.layout import page_file

FOLDER = Path(__file__).parent
TITLE = "PretexEval"


def write_report(root: Path, edition_id: str, *, title: str = TITLE) -> Path:
    """Write the edition's page, `report/<edition_id>/index.html` under the root, and return its path.

    Raises:
        InputError: if there is no warehouse, if it does not contain the edition, or if the page
            cannot be written.
    """
    text = render_page(read_contents(root, edition_id), title)
    return _write_page(root / page_file(edition_id), text)


def write_index(root: Path, *, title: str = TITLE) -> Path:
    """Write `report/index.html`, the list of editions with links to their pages, and return its path."""
    editions = read_editions(root)
    for row in editions:
        row["has_page"] = (root / page_file(row["edition_id"])).is_file()
    text = _render("index.html", title=title, editions=editions)
    return _write_page(root / page_file(), text)


def write_pages(root: Path, edition_ids: Sequence[str], *, title: str = TITLE) -> list[Path]:
    """Write the pages of the editions, then the index, which links them; return the paths of the pages."""
    pages = [write_report(root, edition_id, title=title) for edition_id in edition_ids]
    write_index(root, title=title)
    return pages


def render_page(contents: Contents, title: str = TITLE) -> str:
    """Return the page of an edition as HTML."""
    # Importing Altair takes a third of a second, which the command line should not pay at its start.
    from report.figures import draw_figures

    ranked = contents.select_setting()
    by_id = {model.model_id: model for model in contents.models}
    asked = contents.questions.scores if contents.questions else ()
    return _render(
        "page.html",
        title=title,
        contents=contents,
        figures=draw_figures(contents),
        by_id=by_id,
        best=_choose_best(ranked, by_id),
        n_ranked=len(ranked),
        unfinished=note_unfinished(ranked),
        unfinished_questions=note_unfinished_questions(asked),
        n_drift_editions=N_EDITIONS_SHOWN,
        quoted_id=contents.edition["edition_id"].replace("'", "''"),
    )


def _choose_best(ranked: list[Row], by_id: dict[str, Model]) -> dict[str, Any] | None:
    """Return the first row of the leaderboard with its label; None if nothing could be measured."""
    if not ranked or ranked[0]["average_accuracy"] is None:
        return None
    return {"row": ranked[0], "label": by_id[ranked[0]["model_id"]].label}


def _render(template: str, **values: object) -> str:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: NOTHING if value is None else value,
    )
    environment.filters.update(FILTERS, in_papers_order=order_methods)
    style = Markup((FOLDER / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(style=style, **values)


def _write_page(path: Path, text: str) -> Path:
    """Write the page in one rename, so that a reader of the old page is not disturbed; return its path."""
    try:
        with write_atomically(path) as aside:
            aside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error}); make room or make the folder writable, then "
            "run `pretexeval publish CONFIG`"
        ) from error
    return path
