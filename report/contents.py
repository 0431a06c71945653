"""The contents of a page: rows of the warehouse views, and the setting of its figures.

A page has one setting (method, scoring policy, repeat). All its figures use this setting, except those that
compare methods or policies.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import duckdb

from report.facet_scores import QuestionContents
from report.formats import label_models
from report.paper_tables import METHODS as PAPER_METHODS
from schemas.columns import SCORING_POLICIES
from schemas.stages import METHODS, SINGLE_METHODS

Row = dict[str, Any]
N_HUES = 12
"""The colours of the style sheet; beyond them, dashes and marks tell models of the same colour apart."""
DETECTABLE = {"average accuracy": "detectable_difference", "mastery": "detectable_mastery_difference"}
MARKS = ("circle", "square", "diamond", "triangle", "drop")


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
    place: int
    """Its place in the palette of all pages, which never follows the rank."""

    @property
    def colour(self) -> str:
        """Return the colour of the model, the same on every page."""
        return f"var(--model-{self.place % N_HUES})"

    @property
    def mark(self) -> str:
        """Return the shape of its swatch, which tells similar colours apart."""
        return MARKS[self.place % len(MARKS)]


@dataclass(frozen=True)
class Contents:
    """Everything on the page of one edition."""

    edition: Row
    setting: Setting
    n_settings: int
    models: list[Model]
    """In the order of the leaderboard; then those that have answered only questions, or only with Unsure."""
    runs: list[Row]
    """model_id, evaluated_at (UTC), and n_asked_pairs under the setting; null for a model without samples."""
    example: list[Row]
    """The samples of one pair: transformation, is_positive, text, label, head, tail, relation."""
    leaderboard: list[Row]
    n_other_editions: int
    """The number of other editions of the same base that one of these models has answered."""
    views: dict[str, list[Row]]
    """View -> its rows for this edition and setting, as `read_views` chooses and orders them."""
    questions: QuestionContents | None
    """None if the edition has no questions."""

    def select_setting(self) -> list[Row]:
        """Return the leaderboard under the setting of the figures, the best model first."""
        return [row for row in self.leaderboard if self.setting.matches(row)]

    @property
    def labels(self) -> dict[str, str]:
        """Return model_id -> the name of the model on the page."""
        return {model.model_id: model.label for model in self.models}

    def label(self, model_id: str) -> str:
        """Return the name of the model on the page."""
        return self.labels[model_id]

    def label_rows(self, rows: list[Row]) -> list[Row]:
        """Return rows with the name of the model on the page as `model`."""
        return [row | {"model": self.labels.get(row["model_id"], row["model"])} for row in rows]

    @property
    def relation_measure(self) -> str:
        """Return what the map of relations shows: mastery, unless no model masters anything."""
        is_mastered = any(row["mastery"] for row in self.views["accuracy_by_relation"])
        return "mastery" if is_mastered else "average_accuracy"

    def map_rows(self, view: str, part: str) -> dict[str, dict[str, Row]]:
        """Return part -> model_id -> the row of the view: a line per part and a column per model."""
        found: dict[str, dict[str, Row]] = {}
        for row in self.views[view]:
            found.setdefault(row[part], {})[row["model_id"]] = row
        return found

    def map_relations(self) -> dict[str, dict[str, Row]]:
        """Return relation -> model_id -> its row; by mean mastery, then mean accuracy, the best first."""

        def key(rows: Mapping[str, Row]) -> tuple[float, ...]:
            names = ("mastery", "average_accuracy")
            return tuple(round(-fmean(row[name] or 0.0 for row in rows.values()), 9) for name in names)

        found = self.map_rows("accuracy_by_relation", "relation")
        return dict(sorted(found.items(), key=lambda item: (key(item[1]), item[0])))

    def list_limited(self) -> list[tuple[list[str], int]]:
        """Return the labels of the models that were asked about a part of the pairs, by its size."""
        limited: dict[int, list[str]] = {}
        for row in self.runs:
            n_pairs = row["n_asked_pairs"]
            if n_pairs is not None and n_pairs < self.edition["n_pairs"]:
                limited.setdefault(n_pairs, []).append(self.label(row["model_id"]))
        return [(sorted(labels), n_pairs) for n_pairs, labels in sorted(limited.items(), reverse=True)]

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

    def list_detectable(self) -> dict[str, list[float]]:
        """Return measure -> the true differences that the edition detects between two models, sorted."""
        found = {
            measure: sorted(row[name] for row in self.views["model_comparison"] if row[name] is not None)
            for measure, name in DETECTABLE.items()
        }
        return {measure: values for measure, values in found.items() if values}

    def select_model(self, view: str, model: Model) -> list[Row]:
        """Return the rows of a view that belong to one model."""
        return [row for row in self.views[view] if row["model_id"] == model.model_id]

    def list_divided_groups(self) -> set[str]:
        """Return the kinds of groups of accuracy_by_group that divide the facts of the edition."""
        found = {(row["grouping_by"], row["group_name"]) for row in self.views["groups"]}
        return {kind for kind, n in Counter(kind for kind, _ in found).items() if n > 1}

    def has_shared_ranks(self) -> bool:
        """Return whether models that cannot be told apart share ranks."""
        return any(row.get("rank_low") != row.get("rank_high") for row in self.select_setting())

    def date_rows(self, rows: list[Row]) -> list[Row]:
        """Return rows of the leaderboard with the time of the evaluation."""
        times = {run["model_id"]: run["evaluated_at"] for run in self.runs}
        return [row | {"evaluated_at": times.get(row["model_id"])} for row in rows]

    def list_points(self) -> list[Row]:
        """Return the scores on questions, each with how far it is above random answers."""
        return [
            row | {"above_random": None if row["average"] is None else row["average"] - row["average_random"]}
            for row in (self.questions.scores if self.questions else [])
        ]

    def list_costs(self) -> list[Row]:
        """Return the prompts and tokens of each model, and how the endpoints or the engine report it."""
        served: dict[str, list[str]] = {}
        for row in self.views["served"]:
            served.setdefault(row["model_id"], []).append(row["served"])
        rows = self.order_rows(self.views["cost"])
        return [row | {"served": "; ".join(served.get(row["model_id"], ())) or None} for row in rows]

    def pivot_curve(self) -> list[Row]:
        """Return a row per model with its points of the curve of joint accuracy: joint_1, joint_2, …."""
        rows: dict[str, Row] = {}
        for row in self.order_rows(self.views["joint_accuracy_curve"]):
            names = {end: f"joint_accuracy{end}" for end in ("", "_ci_low", "_ci_high")}
            point = {f"joint_{row['n']}{end}": row[name] for end, name in names.items()}
            rows[row["model_id"]] = rows.get(row["model_id"], row) | point | {f"choices_{row['n']}": row}
        return list(rows.values())

    def order_rows(self, rows: list[Row]) -> list[Row]:
        """Return the rows of models on the page, in the order of the models."""
        places = {model.model_id: place for place, model in enumerate(self.models)}
        known = (row for row in rows if row["model_id"] in places)
        return sorted(known, key=lambda row: places[row["model_id"]])


def find_reach(rows: list[Row], *names: str) -> float:
    """Return the largest absolute difference or limit with these names: the end of their scale."""
    ends = [row[f"{name}{end}"] for row in rows for name in names for end in ("", "_ci_low", "_ci_high")]
    return max((abs(end) for end in ends if end), default=1.0)


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
        asked: model_id -> name of the models that have answered questions, or samples with Unsure; those
            without a rank come last.
        places: model_id -> place in the palette.
    """
    names = {**asked} | {row["model_id"]: str(row["model"]) for row in leaderboard}
    labels = label_models(names)
    ranked = sorted(
        leaderboard,
        key=lambda row: (not setting.matches(row), row["rank"], labels[row["model_id"]]),
    )
    return [
        Model(i, labels[i], places[i]) for i in dict.fromkeys([*(row["model_id"] for row in ranked), *asked])
    ]


class EditionReader:
    """Queries on the warehouse for one edition."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, edition_id: str) -> None:
        """Read the edition through an open connection."""
        self.connection = connection
        self.edition_id = edition_id

    def read(self, sql: str, **values: object) -> list[Row]:
        """Return the rows as dictionaries; `$edition_id` and the values are bound as parameters."""
        if "$edition_id" in sql:
            values.setdefault("edition_id", self.edition_id)
        result = self.connection.execute(sql, values)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def read_view(self, view: str, **fixed: object) -> list[Row]:
        """Return the edition's rows of the view with these values, in its order."""
        values = {"edition_id": self.edition_id} | fixed
        conditions = " and ".join(f"{name} = ${name}" for name in values)
        return self.read(f"select * from {view} where {conditions}", **values)

    def read_setting(self, view: str, setting: Setting, *but: str) -> list[Row]:
        """Return the view's rows under the setting; `but` names setting columns that the view lacks."""
        fixed = {name: value for name, value in vars(setting).items() if name not in but}
        return self.read_view(view, **fixed)
