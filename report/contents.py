"""What a page says: rows of the warehouse views, and what its figures hold fixed.

A page has one setting (method, scoring policy, repeat) for its figures, which all hold fixed but
those that compare methods or policies.
"""

from dataclasses import dataclass
from typing import Any

from report.palette import model_colour, model_dash
from report.paper_tables import METHODS as PAPER_METHODS
from schemas.stages import METHODS, SCORING_POLICIES

Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What the figures of a page hold fixed."""

    method: str
    scoring_policy: str = SCORING_POLICIES[0]
    repeat: int = 0

    def holds(self, row: Row) -> bool:
        """Whether the row of a view is under this setting."""
        return find_setting(row) == self

    def vary(self, row: Row, name: str) -> bool:
        """Whether the row of a view is under this setting but for what `name` says."""
        return self.holds(row | {name: getattr(self, name)})

    @property
    def n_per_triplet(self) -> int:
        """K: samples of a triplet."""
        return 1 if self.method == "direct" else 8

    @property
    def n_per_pair(self) -> int:
        """2K: samples that must all be right for mastery."""
        return 2 * self.n_per_triplet


@dataclass(frozen=True)
class Model:
    """A model on the page; its name, or its id where two models share a name."""

    model_id: str
    label: str
    colour: str
    dash: tuple[int, ...]


@dataclass(frozen=True)
class Contents:
    """Everything on the page of one edition. Rows have the columns of the view of that name."""

    edition: Row
    relations: list[Row]
    setting: Setting
    n_settings: int
    models: list[Model]
    """In the order of the leaderboard."""
    example: list[Row]
    """The samples of one pair: transformation, is_positive, text, label, head, tail, relation."""
    leaderboard: list[Row]
    joint_accuracy_curve: list[Row]
    accuracy_by_relation: list[Row]
    accuracy_by_transformation: list[Row]
    shortcut_baselines: list[Row]
    known_mastery: list[Row]
    missed_points: list[Row]
    component_ablation: list[Row]
    transformation_ablation: list[Row]
    model_comparison: list[Row]
    """Each two models once, the better one first."""
    detectable_difference: list[Row]
    edition_drift: list[Row]
    """This edition first, whichever stands first in the view."""
    n_other_editions: int
    """Of the same base, asked of one of these models."""
    probability_calibration: list[Row]
    """Of models of which there are probabilities."""
    calibration_bins: list[Row]
    sample_quality: list[Row]
    rejection_reasons: list[Row]
    diversity: list[Row]
    human_review: list[Row]
    views: list[Row]

    def select_setting(self) -> list[Row]:
        """The leaderboard under the setting of the figures, best model first."""
        return [row for row in self.leaderboard if self.setting.holds(row)]

    def select_methods(self) -> list[Row]:
        """The leaderboard under every method, in the papers' order; empty if there is but one."""
        return order_methods(self._select_several("method"))

    def select_policies(self) -> list[Row]:
        """The leaderboard under every scoring policy; empty if there is but one."""
        rows = self._select_several("scoring_policy")
        return sorted(rows, key=lambda row: SCORING_POLICIES.index(row["scoring_policy"]))

    def _select_several(self, name: str) -> list[Row]:
        """The leaderboard under the setting but for what `name` says; none if all have the same."""
        rows = [row for row in self.leaderboard if self.setting.vary(row, name)]
        return rows if len({row[name] for row in rows}) > 1 else []

    def find_detectable(self) -> Row | None:
        """What the edition detects between any two models: the most that detectable_difference asks for."""
        names = ("n_pairs", "detectable_difference", "detectable_mastery_difference")
        found = {
            name: [row[name] for row in self.detectable_difference if row[name] is not None] for name in names
        }
        if not found["detectable_difference"]:
            return None
        return {name: max(values, default=None) for name, values in found.items()}

    def select_model(self, view: str, model: Model) -> list[Row]:
        """The rows of a view that belong to one model."""
        rows: list[Row] = getattr(self, view)
        return [row for row in rows if row["model_id"] == model.model_id]


def order_methods(rows: list[Row]) -> list[Row]:
    """The rows in the papers' order of their methods; those of all methods last."""
    order = [*PAPER_METHODS, None]
    return sorted(rows, key=lambda row: order.index(row["method"]))


def swap_sides(row: Row) -> Row:
    """A row of a view of two things (models, editions), told from the other one."""
    turned = dict(row)
    for name in row:
        other = f"n_other_{name[2:]}" if name.startswith("n_") else f"other_{name}"
        if other in row:
            turned[name], turned[other] = row[other], row[name]
    for name in ("difference", "mastery_difference"):
        low, high = f"{name}_ci_low", f"{name}_ci_high"
        for to, origin in ((name, name), (low, high), (high, low)):
            turned[to] = None if row[origin] is None else -row[origin]
    return turned


def find_setting(row: Row) -> Setting:
    """The setting that the row of a view belongs to."""
    return Setting(row["method"], row["scoring_policy"], row["repeat"])


def order_setting(setting: Setting) -> tuple[int, int, int]:
    """Where the setting stands among others: methods and policies in the order of the schema."""
    return (
        METHODS.index(setting.method),
        SCORING_POLICIES.index(setting.scoring_policy),
        setting.repeat,
    )


def choose_setting(leaderboard: list[Row], methods: list[str]) -> tuple[Setting, int]:
    """The setting of the figures (first method, policy and repeat), and how many there are."""
    found = {find_setting(row) for row in leaderboard}
    if not found:
        return Setting(min(methods, key=METHODS.index)), 0
    return min(found, key=order_setting), len(found)


def list_models(leaderboard: list[Row], setting: Setting) -> list[Model]:
    """The models, those of the setting first and by rank; colours go by name, not by rank."""
    names = {row["model_id"]: str(row["model"]) for row in leaderboard}
    taken = list(names.values())
    labels = {i: name if taken.count(name) == 1 else i for i, name in names.items()}
    by_name = sorted(labels, key=lambda i: (labels[i], i))
    ranked = sorted(
        leaderboard,
        key=lambda row: (not setting.holds(row), row["rank"], labels[row["model_id"]]),
    )
    return [
        Model(i, labels[i], model_colour(by_name.index(i)), tuple(model_dash(by_name.index(i))))
        for i in dict.fromkeys(row["model_id"] for row in ranked)
    ]
