"""The contents of a page: rows of the warehouse views, and the setting of its figures.

A page has one setting (method, scoring policy, repeat). All its figures use this setting, except those that
compare methods or policies.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from report.axes import model_colour, model_dash
from report.facet_scores import QuestionContents
from report.paper_tables import METHODS as PAPER_METHODS
from report.remarks import list_remarks
from schemas.columns import SCORING_POLICIES
from schemas.stages import METHODS, SINGLE_METHODS

Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """The method, scoring policy and repeat that the figures of a page show."""

    method: str
    scoring_policy: str = SCORING_POLICIES[0]
    repeat: int = 0

    def matches(self, row: Row) -> bool:
        """Return whether the row of a view belongs to this setting."""
        return find_setting(row) == self

    def matches_except(self, row: Row, name: str) -> bool:
        """Return whether the row of a view belongs to this setting, apart from the value of `name`."""
        return self.matches(row | {name: getattr(self, name)})

    @property
    def n_per_triplet(self) -> int:
        """Return K, the number of samples of a triplet."""
        return 1 if self.method in SINGLE_METHODS else 8

    @property
    def n_per_pair(self) -> int:
        """Return 2K, the number of samples that must all be right for mastery."""
        return 2 * self.n_per_triplet


@dataclass(frozen=True)
class Model:
    """A model on the page; the label is its name, or its id if two models have the same name."""

    model_id: str
    label: str
    colour: str
    dash: tuple[int, ...]


@dataclass(frozen=True)
class Contents:
    """Everything on the page of one edition."""

    edition: Row
    setting: Setting
    n_settings: int
    models: list[Model]
    """In the order of the leaderboard; then those that have answered only questions."""
    runs: list[Row]
    """model_id, evaluated_at (UTC), and n_asked_pairs under the setting; null for a model without samples."""
    example: list[Row]
    """The samples of one pair: transformation, is_positive, text, label, head, tail, relation."""
    leaderboard: list[Row]
    not_asked: list[str]
    """The models that have no evaluation of this edition, but one of another edition of the same base."""
    method_curves: list[Row]
    """The rows of joint_accuracy_curve by every method."""
    n_other_editions: int
    """The number of other editions of the same base that one of these models has answered."""
    views: dict[str, list[Row]]
    """View -> its rows for this edition and setting, as `read_views` chooses and orders them."""
    questions: QuestionContents | None
    """None if the edition has no questions."""

    def select_setting(self) -> list[Row]:
        """Return the leaderboard under the setting of the figures, the best model first."""
        return [row for row in self.leaderboard if self.setting.matches(row)]

    def list_remarks(self) -> list[str]:
        """Return what a reader should know about the models under the setting of the figures."""
        labels = {model.model_id: model.label for model in self.models}
        return [text for row in self.select_setting() for text in list_remarks(row, labels[row["model_id"]])]

    def find_run(self, model_id: str) -> Row | None:
        """Return the row of the model in `runs`."""
        return next((row for row in self.runs if row["model_id"] == model_id), None)

    def list_limited(self) -> list[tuple[str, int]]:
        """Return the label and the number of pairs of each model that was asked about a part of the pairs."""
        labels = {model.model_id: model.label for model in self.models}
        ranked = [labels[row["model_id"]] for row in self.select_setting()]
        limited = [
            (labels[row["model_id"]], row["n_asked_pairs"])
            for row in self.runs
            if row["n_asked_pairs"] is not None and row["n_asked_pairs"] < self.edition["n_pairs"]
        ]
        return sorted(limited, key=lambda found: ranked.index(found[0]))

    def select_methods(self) -> list[Row]:
        """Return the leaderboard under every method, in the papers' order; empty if there is only one."""
        return order_methods(self._select_several("method"))

    def select_policies(self) -> list[Row]:
        """Return the leaderboard under every scoring policy; empty if there is only one."""
        rows = self._select_several("scoring_policy")
        return sorted(rows, key=lambda row: SCORING_POLICIES.index(row["scoring_policy"]))

    def _select_several(self, name: str) -> list[Row]:
        """Return the leaderboard under the setting, apart from the value of `name`; empty for one value."""
        rows = [row for row in self.leaderboard if self.setting.matches_except(row, name)]
        return rows if len({row[name] for row in rows}) > 1 else []

    def find_detectable(self) -> Row | None:
        """Return the difference that the edition detects between any two models (the largest of all)."""
        names = ("n_pairs", "detectable_difference", "detectable_mastery_difference")
        rows = [*self.select_setting(), *self.views["model_comparison"]]
        found = {name: [row[name] for row in rows if row[name] is not None] for name in names}
        if not found["detectable_difference"]:
            return None
        return {name: max(values, default=None) for name, values in found.items()}

    def select_model(self, view: str, model: Model) -> list[Row]:
        """Return the rows of a view that belong to one model."""
        return [row for row in self.views[view] if row["model_id"] == model.model_id]

    def list_divided_groups(self) -> set[str]:
        """Return the kinds of groups of accuracy_by_group that divide the facts of the edition."""
        found = {(row["grouping_by"], row["group_name"]) for row in self.views["accuracy_by_group"]}
        return {kind for kind, n in Counter(kind for kind, _ in found).items() if n > 1}

    def match_models(self, rows: list[Row]) -> list[tuple[Model, Row]]:
        """Return each row with its model, in the order of the models."""
        return [(model, row) for model in self.models for row in rows if row["model_id"] == model.model_id]


def order_methods(rows: list[Row]) -> list[Row]:
    """Return the rows in the papers' order of their methods; a row of all methods comes last."""
    order = [*PAPER_METHODS, None]
    return sorted(rows, key=lambda row: order.index(row["method"]))


def find_setting(row: Row) -> Setting:
    """Return the setting that the row of a view belongs to."""
    return Setting(row["method"], row["scoring_policy"], row["repeat"])


def order_setting(setting: Setting) -> tuple[int, int, int]:
    """Return the sort key of a setting: methods and policies in the order of the schema."""
    return (
        METHODS.index(setting.method),
        SCORING_POLICIES.index(setting.scoring_policy),
        setting.repeat,
    )


def choose_setting(leaderboard: list[Row], methods: list[str]) -> tuple[Setting, int]:
    """Return the setting of the figures (first method, policy and repeat), and the number of settings."""
    found = {find_setting(row) for row in leaderboard}
    if not found:
        return Setting(min(methods, key=METHODS.index)), 0
    return min(found, key=order_setting), len(found)


def list_models(
    leaderboard: list[Row],
    setting: Setting,
    asked: Mapping[str, str],
    places: Mapping[str, int],
) -> list[Model]:
    """Return the models, those of the setting first and by rank; colours never follow the ranks.

    Args:
        asked: model_id -> name of the models that have answered questions; those without a rank come last.
        places: model_id -> place in the palette.
    """
    names = {**asked} | {row["model_id"]: str(row["model"]) for row in leaderboard}
    taken = list(names.values())
    labels = {i: name if taken.count(name) == 1 else i for i, name in names.items()}
    ranked = sorted(
        leaderboard,
        key=lambda row: (not setting.matches(row), row["rank"], labels[row["model_id"]]),
    )
    return [
        Model(i, labels[i], model_colour(places[i]), tuple(model_dash(places[i])))
        for i in dict.fromkeys([*(row["model_id"] for row in ranked), *asked])
    ]
