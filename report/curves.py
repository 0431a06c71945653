"""The trends of mastery over the editions of a base, and where their figure has its points and lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from pretexeval.config.schedule import Period, find_period
from report.contents import N_HUES, Model, Row, Setting, list_models
from report.edition_differences import number_series
from report.formats import NOTHING, format_count, format_interval, format_percent
from report.links import link_mastered_from_index

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 300, 50, 30, 10, 28
WIDTHS = {"wide": 1000, "narrow": 340}
"""Part of the style sheet for wide and narrow windows -> the width of the figure in pixels."""
LABEL = 75
"""The pixels that the name of an edition needs."""
DASHES = ((1, 0), (6, 3), (2, 3), (9, 3, 2, 3))


@dataclass(frozen=True)
class Share:
    """The mastery of a model on an edition with its 95 % interval."""

    place: int
    """The place of the edition, from 0."""
    series: int
    """The number of the series of the edition; lines join only shares of one series."""
    row: Row
    """The row of the leaderboard."""
    link: str = ""
    """The address of the samples behind it, from the list of editions; empty without a link."""

    @property
    def text(self) -> str:
        """Return the value, the interval and n in words."""
        row = self.row
        interval = format_interval(row["mastery_ci_low"], row["mastery_ci_high"])
        of = f"{format_count(row['n_complete_pairs'])} pairs of {row['edition_id']}"
        return f"mastery {format_percent(row['mastery'])} (95 % interval {interval}; {of})"


@dataclass(frozen=True)
class Curve:
    """The mastery of a model over editions."""

    model: Model
    shares: tuple[Share, ...]

    @property
    def dash(self) -> str:
        """Return the dash pattern: neighbours in the palette differ, and so do two models of one colour."""
        return " ".join(map(str, DASHES[(self.model.place + self.model.place // N_HUES) % len(DASHES)]))

    @property
    def text(self) -> str:
        """Return the shares in words."""
        return f"{self.model.label}: {', '.join(share.text for share in self.shares)}"

    def list_lines(self) -> Iterator[list[Share]]:
        """Yield the shares of each series, which a line joins."""
        by_series = sorted(self.shares, key=lambda share: (share.series, share.place))
        for _, shares in groupby(by_series, key=lambda share: share.series):
            yield list(shares)


@dataclass(frozen=True)
class Trend:
    """The mastery of models over editions of one base and setting whose periods are of one kind.

    Editions without a period are a trend of their own, in the order of their first evaluations.
    """

    kb: str
    period: Period | None
    setting: Setting
    editions: list[Row]
    curves: list[Curve]

    @property
    def labels(self) -> list[str]:
        """Return what stands below the editions: their periods, or their places."""
        places = enumerate(self.editions, start=1)
        return [str(row["label"]) if self.period else str(place) for place, row in places]

    @property
    def text(self) -> str:
        """Return the figure in words."""
        title = f"Mastery over the editions of {self.kb}, by {self.period or 'first evaluation'}"
        return f"{title}. {'; '.join(curve.text for curve in self.curves)}."

    def find_x(self, place: int, width: int) -> float:
        """Return where an edition stands in a figure of this width."""
        return round(LEFT + (width - LEFT - RIGHT) * place / (len(self.editions) - 1), 2)

    def find_y(self, share: float) -> float:
        """Return where a share from 0 to 1 stands."""
        return round(TOP + HEIGHT * (1 - share), 2)

    def list_labels(self, width: int) -> list[tuple[float, str]]:
        """Return the names below the figure that have room, each with its place."""
        step = -(-len(self.labels) * LABEL // (width - LEFT - RIGHT))
        return [(self.find_x(place, width), self.labels[place]) for place in range(0, len(self.labels), step)]


def list_trends(editions: Sequence[Row], places: Mapping[str, int]) -> list[Trend]:
    """Return a trend for each base, kind of period and setting with several answered editions.

    Args:
        editions: what `read_editions` returns, each with `has_page`.
        places: model_id -> place in the palette.
    """
    groups: dict[tuple[str, Period | None, Setting], list[Row]] = {}
    for row in sorted(filter(_has_mastery, editions), key=_order):
        key = row["kb"] or NOTHING, find_period(str(row["label"])), row["setting"]
        groups.setdefault(key, []).append(row)
    return [
        Trend(*key, rows, _list_curves(rows, key[2], places)) for key, rows in groups.items() if len(rows) > 1
    ]


def _has_mastery(edition: Row) -> bool:
    is_measured = any(row["mastery"] is not None for row in edition["ranked"])
    return edition["first_evaluated_at"] is not None and is_measured


def _order(edition: Row) -> tuple[object, str]:
    # Editions of other kinds of periods are in other trends.
    return (edition["period_start"] or date.min, edition["first_evaluated_at"]), edition["edition_id"]


def _list_curves(editions: list[Row], setting: Setting, places: Mapping[str, int]) -> list[Curve]:
    shares: dict[str, list[Share]] = {}
    for place, (edition, series) in enumerate(zip(editions, number_series(editions), strict=True)):
        for row in edition["ranked"]:
            if row["mastery"] is not None:
                link = link_mastered_from_index(row) if edition["has_page"] else ""
                shares.setdefault(row["model_id"], []).append(Share(place, series, row, link))
    # The newest edition comes first here, so that the models stand in its order.
    ranked = [row for edition in reversed(editions) for row in edition["ranked"]]
    models = list_models(ranked, setting, {}, places)
    return [Curve(model, tuple(shares[model.model_id])) for model in models if model.model_id in shares]
