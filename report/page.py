"""Write the pages: one per edition, and the list of editions. Pages are self-contained and reproducible."""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from report.browser.writer import write_browser
from report.comparison_rows import N_EDITIONS_SHOWN
from report.contents import Contents, Model
from report.edition_rows import read_editions
from report.leaders import describe_lead, find_lead, select_differences
from report.made_of import describe_inputs, is_made_of, write_record
from report.page_rows import read_contents
from report.page_templates import render_template
from report.question_leaders import describe_question_lead
from report.reasoning_notes import note_unfinished, note_unfinished_questions
from report.remarks import judge_against_shortcut
from storage.files import write_atomically
from storage.layout import page_file, page_record, samples_folder

TITLE = "PretexEval"


def write_report(root: Path, edition_id: str, *, title: str = TITLE, others: Sequence[str] = ()) -> Path:
    """Write the edition's page, `report/<edition_id>/index.html` under the root, and return its path.

    The sample browser, to which the page links, is written before.

    Args:
        others: the editions whose pages are written together with this one. The page links to these, and to
            other editions that have a page.

    Raises:
        InputError: if there is no warehouse, if it does not contain the edition, or if the page
            cannot be written.
    """
    contents = read_contents(root, edition_id)
    with _explain_failure(root / samples_folder(edition_id)):
        write_browser(root, contents, title)
    compared = {row["other_edition_id"] for row in contents.edition_drift}
    with_page = {i for i in compared if i in others or (root / page_file(i)).is_file()}
    text = render_page(contents, title, with_page)
    return _write_page(root / page_file(edition_id), text)


def write_index(root: Path, *, title: str = TITLE) -> Path:
    """Write `report/index.html`, the list of editions with links to their pages, and return its path."""
    # Importing Altair takes a third of a second, which the command line should not pay at its start.
    from report.trends import draw_trends

    editions, places = read_editions(root)
    for row in editions:
        row["has_page"] = (root / page_file(row["edition_id"])).is_file()
    text = render_template("index.html", title=title, editions=editions, trends=draw_trends(editions, places))
    return _write_page(root / page_file(), text)


def write_pages(root: Path, edition_ids: Sequence[str], *, title: str = TITLE) -> list[Path]:
    """Write the pages of the editions, then the index, which links them; return the paths of the pages.

    A page is kept as it is if the warehouse, the code and the files of the page are those of the last time.
    """
    with_page = _list_with_page(root, edition_ids)
    for edition_id in edition_ids:
        with _keep_unchanged(root, edition_id, [title, edition_id, with_page]) as is_kept:
            if not is_kept:
                write_report(root, edition_id, title=title, others=edition_ids)
    with _keep_unchanged(root, None, [title, with_page]) as is_kept:
        if not is_kept:
            write_index(root, title=title)
    return [root / page_file(edition_id) for edition_id in edition_ids]


def are_pages_current(root: Path, edition_ids: Sequence[str], *, title: str = TITLE) -> bool:
    """Return whether `write_pages` would keep every page and the index as they are."""
    with_page = _list_with_page(root, edition_ids)
    return _is_current(root, None, [title, with_page]) and all(
        _is_current(root, edition_id, [title, edition_id, with_page]) for edition_id in edition_ids
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


def render_page(contents: Contents, title: str = TITLE, with_page: Container[str] = ()) -> str:
    """Return the page of an edition as HTML.

    Args:
        with_page: the other editions to whose samples the page may link.
    """
    from report.figures import draw_figures

    ranked = contents.select_setting()
    by_id = {model.model_id: model for model in contents.models}
    asked = contents.questions.scores if contents.questions else ()
    return render_template(
        "page.html",
        title=title,
        contents=contents,
        figures=draw_figures(contents),
        by_id=by_id,
        with_page=with_page,
        first=_describe_first(contents, by_id),
        question_lead=describe_question_lead(contents),
        unfinished=note_unfinished(ranked),
        unfinished_questions=note_unfinished_questions(asked),
        n_drift_editions=N_EDITIONS_SHOWN,
        quoted_id=contents.edition["edition_id"].replace("'", "''"),
    )


def _describe_first(contents: Contents, by_id: dict[str, Model]) -> dict[str, Any] | None:
    """Return what the headline says of the first model of the leaderboard; None if nothing was measured."""
    ranked = contents.select_setting()
    if not ranked or ranked[0]["average_accuracy"] is None:
        return None
    lead = find_lead(ranked, select_differences(ranked, contents.model_comparison))
    labels = {model_id: model.label for model_id, model in by_id.items()}
    return {
        "row": ranked[0],
        "label": labels[ranked[0]["model_id"]],
        "lead": describe_lead(lead, labels, len(ranked)) if lead else "",
        "against_shortcut": judge_against_shortcut(ranked[0]),
    }


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
