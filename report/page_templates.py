"""Fill the templates of the pages: every value is escaped, and a name that is missing is an error."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from report.browser.links import LINKS
from report.contents import order_methods
from report.formats import FILTERS, NOTHING
from warehouse.drift import EXPLANATIONS

FOLDER = Path(__file__).parent


def render_template(template: str, **values: object) -> str:
    """Return the template of that file name with the values and the style sheet of all pages."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: NOTHING if value is None else value,
    )
    environment.filters.update(FILTERS, in_papers_order=order_methods)
    environment.globals.update(LINKS, has_any=has_any, explanations=EXPLANATIONS)
    style = Markup((FOLDER / "style.css").read_text(encoding="utf-8"))
    return environment.get_template(template).render(style=style, **values)


def has_any(rows: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Return whether a row has a value above zero in the column; some views lack it."""
    return any(row.get(name) for row in rows)
