"""Compare two models on the same pairs of an edition, and write the comparison as text and as JSON.

All figures come from the table differences of the warehouse.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb

from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.untrusted_text import escape_controls
from report.certainty import LEVEL, adjust, has_interval, is_distinguishable
from report.columns import TABLES
from report.console import format_share
from report.contents import EditionReader, Row, Setting, find_setting, order_setting
from report.formats import format_words
from report.remarks import N_EFFECTIVE
from report.score_tables import render_table
from warehouse.query import open_warehouse
from warehouse.selection import EvaluatedModel, find_edition, find_model

Verdict = Literal["worse", "better", "not distinguishable", "too few"]


@dataclass(frozen=True)
class ComparisonQuestion:
    """A comparison as a person asks for it; a value of None is chosen."""

    baseline: str
    candidate: str
    measure: str
    """mastery, average_accuracy or joint_accuracy."""
    edition: str | None = None
    margin: float = 0.0
    """How much lower the score of the candidate may be, as a share."""
    method: str | None = None
    policy: str | None = None
    allows_other_style: bool = False
    """Whether the prompts of the two models may have different styles."""


@dataclass(frozen=True)
class ModelDifference:
    """The scores of two models on the same pairs; differences are candidate − baseline."""

    edition_id: str
    setting: Setting
    measure: str
    margin: float
    baseline: EvaluatedModel
    candidate: EvaluatedModel
    baseline_style: str
    """The style of its prompts: completion or chat."""
    candidate_style: str
    n_baseline_pairs: int
    """The pairs that the baseline answered, some of which the candidate may not have answered."""
    n_candidate_pairs: int
    whole: Row
    """The row of all relations; `score` is that of the candidate, `other_score` that of the baseline."""
    relations: tuple[Row, ...]

    @property
    def verdict(self) -> Verdict:
        """Return what the paired interval over all relations says of the candidate."""
        return judge(self.whole)

    @property
    def is_regression(self) -> bool:
        """Return whether the interval lies below −margin: the candidate is worse by more than that."""
        return has_interval(self.whole) and bool(self.whole["difference_ci_high"] < -self.margin)


def judge(row: Row) -> Verdict:
    """Return what the interval of a difference says: it must not contain 0 for a verdict."""
    if not has_interval(row):
        return "too few"
    if not is_distinguishable(row):
        return "not distinguishable"
    return "better" if row["difference"] > 0 else "worse"


def judge_relations(rows: Sequence[Row]) -> list[tuple[Verdict, float | None]]:
    """Return the verdict on each relation, and its p-value, adjusted for their number (Holm 1979).

    The chance that any relation gets a verdict although the models are equal in all of them is at most 5 %. A
    verdict is therefore harder to get than from the interval of the relation alone. A relation with too few
    facts has none.
    """
    judged: list[tuple[Verdict, float | None]] = []
    for row, value in zip(rows, adjust(rows), strict=True):
        is_open = value is not None and value >= LEVEL
        judged.append(("not distinguishable" if is_open else judge(row), value))
    return judged


def compare_models(root: Path, asked: ComparisonQuestion) -> ModelDifference:
    """Return the paired comparison of two models on the same pairs of an edition.

    Raises:
        InputError: the edition or a model is unknown, ambiguous or not evaluated; both are the same model;
            they share no setting or no pairs; too few pairs are complete; the styles of their prompts differ.
    """
    with open_warehouse(root) as connection:
        edition_id = _choose_edition(connection, asked)
        models = [find_model(connection, edition_id, text) for text in (asked.baseline, asked.candidate)]
        baseline, candidate = models
        if baseline == candidate:
            raise InputError(
                f"{asked.baseline!r} and {asked.candidate!r} are the same model, {baseline.model_id}"
            )
        reader = EditionReader(connection, edition_id)
        settings = [_list_settings(reader, model) for model in models]
        setting = _choose_setting(asked, models, settings)
        styles = [_read_style(reader, model) for model in models]
        if styles[0] != styles[1] and not asked.allows_other_style:
            raise InputError(
                f"{baseline.name} was asked in the style {styles[0]}, {candidate.name} in the "
                f"style {styles[1]}, so a difference may come from the prompts: set the same "
                "prompt_style for both, or accept this with --allow-other-style"
            )
        whole, *relations = _read_rows(reader, asked.measure, setting, models)
    return ModelDifference(
        edition_id,
        setting,
        asked.measure,
        asked.margin,
        baseline,
        candidate,
        styles[0],
        styles[1],
        settings[0][setting],
        settings[1][setting],
        whole,
        tuple(relations),
    )


def _choose_edition(connection: duckdb.DuckDBPyConnection, asked: ComparisonQuestion) -> str:
    """Return the edition that is meant; without a text, the one that both models were evaluated on.

    Of several editions of a schedule, it is the newest.
    """
    if asked.edition is not None:
        return find_edition(connection, asked.edition)
    listed = connection.execute(
        "select edition_id, coalesce(period_start, date '0001-01-01') from editions "
        "semi join (from runs where setting is null and period is null) using (edition_id) "
        "order by edition_id"
    ).fetchall()
    found, reasons = [], []
    for edition_id, start in listed:
        try:
            for text in (asked.baseline, asked.candidate):
                find_model(connection, edition_id, text)
            found.append((start, edition_id))
        except InputError as error:
            reasons.append(str(error))
    newest = [edition_id for start, edition_id in found if start == max(found)[0]]
    if not newest:
        raise InputError("\n".join(reasons) or "no model was evaluated: run `pretexeval run CONFIG` first")
    if len(newest) > 1:
        raise InputError(
            f"both models were evaluated on {', '.join(newest)}: say which edition with --edition"
        )
    return str(newest[0])


def _read_style(reader: EditionReader, model: EvaluatedModel) -> str:
    """Return the style of the prompts of the model."""
    (row,) = reader.read(
        "select prompt_style from runs where edition_id = $edition_id and model_id = $model_id "
        "and setting is null and period is null",
        model_id=model.model_id,
    )
    return str(row["prompt_style"])


def _list_settings(reader: EditionReader, model: EvaluatedModel) -> dict[Setting, int]:
    """Return the settings under which the model has scores, each with its number of pairs."""
    rows = reader.read(
        "select method, scoring_policy, repeat, count(*) as n_pairs from pair_scores "
        "where edition_id = $edition_id and model_id = $model_id group by all",
        model_id=model.model_id,
    )
    return {find_setting(row): row["n_pairs"] for row in rows}


def _choose_setting(
    asked: ComparisonQuestion, models: list[EvaluatedModel], settings: list[dict[Setting, int]]
) -> Setting:
    """Return the first setting of both models that is as it was asked for."""
    common = [
        setting
        for setting in settings[0].keys() & settings[1].keys()
        if asked.method in (None, setting.method) and asked.policy in (None, setting.scoring_policy)
    ]
    if not common:
        wanted = " and ".join(each for each in (asked.method, asked.policy) if each)
        having = "; ".join(
            f"{model.name} has "
            + (", ".join(sorted({f"{s.method} under {s.scoring_policy}" for s in found})) or "no scores")
            for model, found in zip(models, settings, strict=True)
        )
        raise InputError(
            f"the two models were not scored by the same method under the same policy"
            f"{f' ({wanted})' if wanted else ''}: {having}; "
            "`pretexeval run CONFIG` scores stored answers under every policy of [scoring]"
        )
    return min(common, key=order_setting)


def _read_rows(
    reader: EditionReader, measure: str, setting: Setting, models: list[EvaluatedModel]
) -> list[Row]:
    """Return the rows of the measure: that of all relations, then one per relation."""
    baseline, candidate = models
    rows = reader.read(
        "with rates as (select run, no_answer_rate from scores where grouping_by = 'edition') "
        "select paired.*, one.no_answer_rate, other.no_answer_rate as other_no_answer_rate "
        "from storage.paired_models as paired inner join rates as one using (run) "
        "inner join rates as other on paired.other_run = other.run "
        "where edition_id = $edition_id and model_id = $candidate and other_model_id = $baseline "
        "and method = $method and scoring_policy = $scoring_policy and repeat = $repeat "
        "order by relation nulls first",
        candidate=candidate.model_id,
        baseline=baseline.model_id,
        **vars(setting),
    )
    if not rows:
        raise InputError(
            f"{baseline.name} and {candidate.name} share no answered pair of {reader.edition_id}: they were "
            "asked about different ones (pairs_per_relation), or have no answers that count"
        )
    chosen = [row for row in rows if row["measure"] == measure]
    if not chosen or chosen[0]["relation"] is not None:
        raise InputError(
            f"{measure} cannot be compared under the policy {setting.scoring_policy}: of the "
            f"{rows[0]['n_matched']} shared pairs, too few have an answer to every sample from both models; "
            "take --policy strict or --measure average_accuracy"
        )
    return chosen


def render_difference(found: ModelDifference) -> str:
    """Return the comparison as sentences and a table with a line per relation."""
    setting = found.setting
    head = (
        f"edition {found.edition_id}, method {setting.method}, scoring policy {setting.scoring_policy}\n"
        f"first:  {found.baseline.name} ({found.baseline.model_id})\n"
        f"second: {found.candidate.name} ({found.candidate.model_id})"
    )
    verdicts = [found.verdict, *(verdict for verdict, _ in judge_relations(found.relations))]
    rows = zip((found.whole, *found.relations), verdicts, strict=True)
    named = [row | {"relation": row["relation"] or "all", "verdict": verdict} for row, verdict in rows]
    table = render_table(TABLES["relation_differences"], named)
    return "\n\n".join([head, write_verdict(found), table, "\n".join(list_notes(found))])


def write_verdict(found: ModelDifference) -> str:
    """Return one sentence: which model is worse, by how much, and on how many pairs."""
    row, names = found.whole, (found.candidate.name, found.baseline.name)
    said = {
        "worse": "{} is worse than {}",
        "better": "{} is better than {}",
        "not distinguishable": "{} and {} are not distinguishable",
        "too few": "{} and {} share too few facts to be compared",
    }[found.verdict].format(*names)
    return (
        f"{said} in {format_words(found.measure)}: {write_points(row)}, on "
        f"{count_noun(row['n_pairs'], 'shared pair')}."
    )


def write_points(row: Row, name: str = "difference") -> str:
    """Return a difference and its interval in percentage points: +1.0 points (95 % interval -2.0 to +4.0)."""
    ends = (row[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high"))
    value, low, high = ("" if end is None else f"{100 * end + 0.0:+.1f}" for end in ends)
    interval = (
        f"95 % interval {low} to {high}" if has_interval(row, name) else "too few facts for an interval"
    )
    return f"{value} points ({interval})"


def list_notes(found: ModelDifference) -> list[str]:
    """Return what a reader needs to judge the verdict, one sentence or two each."""
    row = found.whole
    margin = f"more than {100 * found.margin:g} points lower" if found.margin else "lower"
    said, told = ("Regression", "says") if found.is_regression else ("No regression found", "does not say")
    notes = [f"{said}: the interval {told} that the second score is {margin}."]
    if row["detectable_difference"] is not None:
        notes.append(
            f"A true difference of {100 * row['detectable_difference']:.1f} points would be found here in "
            "four cases out of five."
        )
    if max(found.n_baseline_pairs, found.n_candidate_pairs) > row["n_matched"]:
        notes.append(
            f"Only shared pairs count: the first model answered {found.n_baseline_pairs:,} pairs, the second "
            f"{found.n_candidate_pairs:,}."
        )
    if row["n_effective"] < N_EFFECTIVE:
        notes.append(
            f"The pairs amount to only {row['n_effective']:.1f} independent heads or tails, so the interval "
            "is only a rough guide."
        )
    rates = (row["other_no_answer_rate"], row["no_answer_rate"])
    if any(rates):
        shares = " and ".join(f"{format_share(rate)} %" for rate in rates)
        notes.append(f"No answer: {shares} of the samples. The scoring policy decides how they count.")
    styles = (found.baseline_style, found.candidate_style)
    if len(set(styles)) > 1:
        notes.append(
            f"The prompts have different styles ({' and '.join(styles)}), which may cause a difference."
        )
    if len(found.relations) > 1:
        notes.append(
            f"The verdicts on the {len(found.relations)} relations are corrected for their number (Holm), so "
            "one of them may be not distinguishable although its interval does not contain 0. They help to "
            "find a cause; only the row of all decides."
        )
    return notes


def render_difference_json(found: ModelDifference) -> str:
    """Return the comparison as one JSON object; differences are second − first, all shares from 0 to 1."""
    setting = found.setting
    content = {
        "edition_id": found.edition_id,
        "method": setting.method,
        "scoring_policy": setting.scoring_policy,
        "repeat": setting.repeat,
        "measure": found.measure,
        "margin": found.margin,
        "first": found.baseline._asdict()
        | {"n_pairs": found.n_baseline_pairs, "prompt_style": found.baseline_style},
        "second": found.candidate._asdict()
        | {"n_pairs": found.n_candidate_pairs, "prompt_style": found.candidate_style},
        "verdict": found.verdict,
        "is_regression": found.is_regression,
        "all": {"verdict": found.verdict} | _describe(found.whole),
        "relations": [
            {"relation": row["relation"], "verdict": verdict, "adjusted_p_value": value} | _describe(row)
            for row, (verdict, value) in zip(found.relations, judge_relations(found.relations), strict=True)
        ],
        "notes": list_notes(found),
    }
    return escape_controls(json.dumps(content, indent=2, ensure_ascii=False))


def _describe(row: Row) -> dict[str, Any]:
    """Return the figures of a row by names that say to which model each belongs."""
    figures = {name: row[name] for name in ("n_pairs", "n_observations")}
    figures |= {"first_score": row["other_score"], "second_score": row["score"]}
    names = ("difference", "difference_ci_low", "difference_ci_high", "detectable_difference", "n_effective")
    figures |= {name: row[name] for name in names}
    return figures | {"n_only_first": row["n_lost"], "n_only_second": row["n_gained"]}
