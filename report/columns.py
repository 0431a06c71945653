"""The tables of scores that a person sees, on pages, on the console, in Prefect and in exports (tables.toml).

A table is a list of columns; its rows are those of the views, as dictionaries.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from report.links import link_choices, link_joint, link_mastered, link_samples
from schemas.question_stages import FACET_OF

Row = dict[str, Any]
Link = Callable[[Row], str]
FACETS = tuple(FACET_OF.values())
LINKED_GROUPS = (None, "negative", "release", "taught", "fact")
"""The kinds of groups of accuracy_by_group that the sample browser can choose."""
TEXTS = ("model", "text", "words", "facts", "forms", "negated", "names")


@dataclass(frozen=True)
class Column:
    """A column of a table of scores."""

    name: str
    """The column of the view; that of the limits of its interval ends with _ci_low and _ci_high."""
    title: str
    kind: str
    """`model`: its name, with its colour on pages. `text`, `words`: a text as it is, or on pages with
    spaces for underscores. `share`, `change`: a share and a difference of shares, with intervals. `rate`,
    `points`: those without one. Any other kind is the name of a filter of report.formats."""
    link: Link | None = None
    """The address of the samples behind the figure, from the page of the edition."""
    note: str = ""
    """What the link shows where that is not the figure itself."""
    is_optional: bool = False
    """Whether it is shown only if it says something: texts that differ, a known share, a rate above zero."""
    n: str = ""
    """The column with the number of observations of a share."""
    of: str = ""
    """What it is the share of."""

    @property
    def is_text(self) -> bool:
        """Return whether the cells are texts, which stand on the left."""
        return self.kind in TEXTS

    @property
    def head(self) -> str:
        """Return the title as the head of a column on a page; `n` and Greek letters are symbols."""
        unit = ", points" if self.kind in ("change", "points") else ""
        is_symbol = self.title.startswith(("n ", "p,")) or self.title == "p" or not self.title.isascii()
        return (self.title if is_symbol else self.title[0].upper() + self.title[1:]) + unit

    @property
    def unit_title(self) -> str:
        """Return the title with its unit, for tables whose cells are plain numbers."""
        unit = {"share": " %", "rate": " %", "change": ", points", "points": ", points"}
        return f"{self.title}{unit.get(self.kind, '')}"

    def says_something(self, rows: Sequence[Row]) -> bool:
        """Return whether the column is shown above these rows."""
        values = [row[self.name] for row in rows if self.name in row]
        if not self.is_optional:
            return True
        if self.kind == "share":
            return any(value is not None for value in values)
        return len(set(values)) > 1 if self.is_text else any(values)


def select_columns(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """Return the columns that are shown above these rows."""
    return [column for column in columns if column.says_something(rows)]


def link_cell(column: Column, row: Row) -> str:
    """Return the address of the samples behind a cell; empty if it has none."""
    value = row[column.name]
    has_samples = value is not None and (value or column.kind in ("share", "change"))
    if column.link is None or not has_samples or row.get("grouping_by") not in LINKED_GROUPS:
        return ""
    return column.link(row)


def link_outcome(outcome: str) -> Link:
    """Return the link to the samples with this outcome; a row about a form of questions shows only these."""
    return lambda row: link_samples(row, outcome=outcome, polarity=name_polarity(row))


def name_polarity(row: Mapping[str, Any]) -> str | None:
    """Return how the browser calls the form of the questions of a row of facet_accuracy."""
    if row.get("is_negated") is None or "facet" not in row:
        return None
    return "denied" if row["is_negated"] else "affirmed"


def link_apart(here: str, there: str, what: str = "fact") -> Link:
    """Return the link to what two models judge differently: `what` (outcome or fact) is here so, there so."""
    return lambda row: link_samples(row, **{what: here}, against=row["other_model_id"], there=there)


def link_point(n: int) -> Link:
    """Return the link to the samples of a point of the curve of joint accuracy."""
    return lambda row: link_choices(row[f"choices_{n}"])


def link_form(row: Row) -> str:
    """Return the link to the affirmed or the negated questions of a facet."""
    return link_samples(row, polarity=name_polarity(row))


_OFFERS = "The link shows these questions with every offered option"
_SUREST = "The link shows the samples, those first that the model finds most likely to be true"
_CHOICES = (
    "The link shows all samples; the share is a mean over all choices of n samples of complete triplets"
)
_WITHOUT = "The link shows the samples without this component; the full method asks others"
_BY_LIKELIHOOD = (partial(link_samples, order="likeliest"), _SUREST)
_OF_FORM = partial(link_mastered, share="mastered_rate")
_AFFIRMED = (partial(link_mastered, share="mastered_rate", polarity="affirmed", judged="selected"), "")
LINKS: dict[str, tuple[Link, str]] = {
    "average_accuracy": (link_samples, ""),
    "gain_over_random": (link_samples, ""),
    "joint_accuracy": (link_joint, ""),
    "mastery": (link_mastered, ""),
    "mastery_above_shortcut": (link_mastered, "The link shows the facts that count for mastery"),
    "consistency": (partial(link_samples, triplet="consistent"), ""),
    "no_answer_rate": (link_outcome("unanswered"), ""),
    "unfinished_reasoning_rate": (link_outcome("unfinished"), ""),
    "error_rate": (link_outcome("failed"), ""),
    "true_rate": (partial(link_samples, said="true"), ""),
    "negative_accuracy": (partial(link_samples, tail="false"), ""),
    "accuracy": (link_form, ""),
    "right_offer_accuracy": (link_form, _OFFERS),
    "wrong_offer_accuracy": (link_form, _OFFERS),
    "average": (link_samples, ""),
    "mastered_rate": (_OF_FORM, ""),
    "mastered_negated_rate": (partial(link_mastered, share="mastered_negated_rate"), ""),
    "auroc": _BY_LIKELIHOOD,
    "calibration_error": _BY_LIKELIHOOD,
    "brier_score": _BY_LIKELIHOOD,
    "n_mastered_alone": (link_apart("mastered", "missed"), ""),
    "n_other_mastered_alone": (link_apart("missed", "mastered"), ""),
    "joint_8": (link_point(8), ""),
    **{f"joint_{n}": (link_point(n), _CHOICES) for n in range(1, 8)},
    **{facet: (partial(link_samples, facet=facet), "") for facet in FACETS},
    # Links of one table alone.
    "facets.mastered_rate": _AFFIRMED,
    "points_board.mastered_rate": _AFFIRMED,
    "model_comparison.difference": (
        link_apart("right", "wrong", "outcome"),
        "The link shows the samples that only the first model got right",
    ),
    "model_comparison.mastery_difference": (
        link_apart("mastered", "missed"),
        "The link shows the facts that only the first model masters",
    ),
    "components.difference": (link_samples, _WITHOUT),
    "components.joint_difference": (link_joint, _WITHOUT),
    "components.mastery_difference": (link_mastered, _WITHOUT),
    "calibration.average_accuracy": (
        link_samples,
        "The link shows all samples; the figure counts the likelier of the two words as the answer",
    ),
}
"""Column, or table and column -> the samples behind a figure, and what they are if not the figure itself."""
WITHOUT_LINKS = ("repeats", "shortcuts", "exchanged", "guessers")
"""Tables with rows about samples that the browser cannot choose."""
OBSERVED = {
    "mastery": ("n_complete_pairs", "complete pairs all right"),
    "average_accuracy": ("n_samples", "samples right"),
    "joint_accuracy": ("n_triplets", "complete triplets all right"),
}
"""Share -> the column with its n, and what it is the share of."""


def _read_tables() -> dict[str, tuple[Column, ...]]:
    content = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
    kinds = {name: kind for kind, names in content["kinds"].items() for name in names}

    def describe(table: str, written: str) -> Column:
        named, _, title = written.partition(": ")
        name = named.removesuffix("?")
        kind = kinds.get(name) or ("count" if name.startswith("n_") else "rate")
        titled = title or content["titles"].get(name) or name.replace("_", " ")
        linked = LINKS.get(f"{table}.{name}") or LINKS.get(name) or (None, "")
        link, note = (None, "") if table in WITHOUT_LINKS else linked
        return Column(name, titled, kind, link, note, named.endswith("?"), *OBSERVED.get(name, ("", "")))

    return {
        table: tuple(
            describe(table, written) for part in parts for written in content["lists"].get(part, [part])
        )
        for table, parts in content["tables"].items()
    }


TABLES = _read_tables()
"""Table -> its columns."""
