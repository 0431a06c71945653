"""Draw how the mastery of models changes over the editions of a knowledge base, for the list of editions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from report.browser.links import link_mastered_from_index
from report.contents import Model, Row, Setting, list_models
from report.curves import draw_curves
from report.drawings import PANEL, Drawing
from report.formats import NOTHING, format_count
from report.shares import MASTERY, Curve, Share

WIDE = 660
GUTTER = 170


@dataclass(frozen=True)
class Trend:
    """The editions of one base under one setting, in the order of their first evaluations."""

    kb: str
    setting: Setting
    editions: list[Row]
    models: list[Model]
    drawing: Drawing

    def find_row(self, edition: Row, model: Model) -> Row | None:
        """Return the model's row of the edition's leaderboard; None if it has not answered it."""
        return _find_row(edition, model.model_id)


@dataclass(frozen=True)
class TrendCurve(Curve):
    """The mastery of a model over editions."""

    @property
    def text(self) -> str:
        """Return the shares in words."""
        return f"{self.name}: {', '.join(share.text for share in self.shares if share.value is not None)}"


def draw_trends(editions: Sequence[Row], places: Mapping[str, int]) -> list[Trend]:
    """Return a trend for each base and setting with several editions that models have answered.

    Args:
        editions: what `read_editions` returns, each with `has_page`.
        places: model_id -> place in the palette.
    """
    groups: dict[tuple[str, Setting], list[Row]] = {}
    for row in sorted(filter(_has_mastery, editions), key=_order):
        groups.setdefault((row["kb"] or NOTHING, row["setting"]), []).append(row)
    return [_draw_trend(kb, setting, rows, places) for (kb, setting), rows in groups.items() if len(rows) > 1]


def _has_mastery(edition: Row) -> bool:
    is_measured = any(row["mastery"] is not None for row in edition["ranked"])
    return edition["first_evaluated_at"] is not None and is_measured


def _order(edition: Row) -> tuple[object, str]:
    return edition["first_evaluated_at"], edition["edition_id"]


def _draw_trend(kb: str, setting: Setting, editions: list[Row], places: Mapping[str, int]) -> Trend:
    # The newest edition comes first here, so that the models stand in its order.
    ranked = [row for edition in reversed(editions) for row in edition["ranked"]]
    models = list_models(ranked, setting, None, dict(places))
    curves = [TrendCurve(m.label, m.colour, m.dash, _list_shares(editions, m)) for m in models]
    shown = [curve for curve in curves if any(share.value is not None for share in curve.shares)]
    title = f"Mastery over the editions of {kb}, in the order of their first evaluations"
    labels = [str(place) for place in range(1, len(editions) + 1)]
    wide = draw_curves(title, shown, WIDE, GUTTER, labels)
    return Trend(
        kb, setting, editions, models, Drawing(wide, draw_curves(title, shown, PANEL, labels=labels))
    )


def _list_shares(editions: Sequence[Row], model: Model) -> tuple[Share, ...]:
    """Return the mastery of the model on every edition, without a value where it was not evaluated."""
    shares = []
    for edition in editions:
        row = _find_row(edition, model.model_id)
        if row is None:
            shares.append(Share(MASTERY, None, None, None, ""))
            continue
        of = f"{format_count(row['n_complete_pairs'])} pairs of {edition['edition_id']}"
        low, high = row["mastery_ci_low"], row["mastery_ci_high"]
        link = link_mastered_from_index(row) if edition["has_page"] else ""
        shares.append(Share(MASTERY, row["mastery"], low, high, of, link))
    return tuple(shares)


def _find_row(edition: Row, model_id: str) -> Row | None:
    return next((row for row in edition["ranked"] if row["model_id"] == model_id), None)
