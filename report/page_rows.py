"""Read the contents of a page from the warehouse."""

from pathlib import Path

from primitives.errors import InputError
from report.comparison_rows import read_comparisons, read_drift, read_explanations
from report.contents import (
    Contents,
    Row,
    Setting,
    choose_setting,
    list_models,
)
from report.edition_reader import EditionReader
from report.edition_rows import RUNS, read_colour_places, read_edition, read_leaderboard
from report.question_rows import read_question_contents
from warehouse.query import open_warehouse

N_MISSED_SHOWN = 5
# Views whose rows the page uses unchanged: under the setting of its figures, under any scoring policy, and
# views that do not concern a model.
SETTING_VIEWS = (
    "joint_accuracy_curve",
    "accuracy_by_relation",
    "accuracy_by_transformation",
    "accuracy_by_negative",
    "accuracy_by_age",
    "transformation_ablation",
    "known_mastery",
    "suspect_prototypes",
    "suspect_facts",
    "detectable_difference",
)
POLICY_FREE_VIEWS = ("probability_calibration", "calibration_bins")
EDITION_VIEWS = (
    "not_evaluated",
    "served_models",
    "repeat_spread",
    "sample_quality",
    "freshness",
    "check_history",
    "rejection_reasons",
    "diversity",
    "human_review",
)


def read_contents(root: Path, edition_id: str) -> Contents:
    """Return the contents of an edition's page; raise InputError if the warehouse lacks the edition."""
    with open_warehouse(root) as connection:
        reader = EditionReader(connection, edition_id)
        edition = _require_edition(reader)
        leaderboard = read_leaderboard(reader)
        setting, n_settings = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
        questions = read_question_contents(reader)
        asked = {score.model_id: score.model for score in questions.scores} if questions else {}
        models = list_models(leaderboard, setting, asked, read_colour_places(reader))
        drift, n_others = read_drift(reader, setting)
        rows = _read_views(reader, setting)
        return Contents(
            edition=edition,
            relations=reader.read(
                "select relation, count(distinct pair_id) as n_pairs from triplets "
                "where edition_id = $edition_id and split = 'test' "
                "group by relation order by relation"
            ),
            setting=setting,
            n_settings=n_settings,
            models=models,
            runs=_read_runs(reader, setting),
            not_asked=_read_not_asked(reader),
            example=_read_example(reader, setting.method),
            leaderboard=leaderboard,
            shortcut_baselines=reader.read(
                "select * from shortcut_baselines where edition_id = $edition_id "
                "and method = $method order by relation nulls first, baseline",
                method=setting.method,
            ),
            missed_points=_read_missed(reader, setting),
            method_curves=reader.read_setting("joint_accuracy_curve", setting, "method"),
            # This view compares methods, so it has no column for the method.
            component_ablation=reader.read_setting("component_ablation", setting, "method"),
            model_comparison=read_comparisons(reader, setting, models, rows["detectable_difference"]),
            edition_drift=drift,
            n_other_editions=n_others,
            drift_explanations=read_explanations(reader, setting),
            views=reader.read(
                "select view_name as name, comment as grain from duckdb_views() "
                "where not internal order by view_name"
            ),
            questions=questions,
            **rows,
        )


def _read_views(reader: EditionReader, setting: Setting) -> dict[str, list[Row]]:
    """Return the rows of the views that the page uses unchanged, by the name of the view."""
    of_setting = {view: reader.read_setting(view, setting) for view in SETTING_VIEWS}
    of_any_policy = {
        view: [row for row in reader.read_setting(view, setting, "scoring_policy") if row["n_samples"] > 0]
        for view in POLICY_FREE_VIEWS
    }
    return of_setting | of_any_policy | {view: reader.read_view(view) for view in EDITION_VIEWS}


def _require_edition(reader: EditionReader) -> Row:
    found = read_edition(reader)
    if found is None:
        editions = reader.read("select edition_id from editions order by edition_id")
        known = ", ".join(row["edition_id"] for row in editions) or "none"
        raise InputError(
            f"the warehouse does not contain edition {reader.edition_id!r} (it contains: {known}); "
            "run `pretexeval build CONFIG`, then `pretexeval publish CONFIG`"
        )
    return found


def _read_runs(reader: EditionReader, setting: Setting) -> list[Row]:
    """Return when each model was last evaluated, and how many pairs it was asked about under the setting."""
    return reader.read(
        "with asked as (select model_id, count(*) filter (asked_bits > 0) as n_asked_pairs from pair_scores "
        "where edition_id = $edition_id and method = $method and scoring_policy = $scoring_policy "
        "and repeat = $repeat group by model_id) "
        "select model_id, max(finished_at) as evaluated_at, any_value(n_asked_pairs) as n_asked_pairs "
        f"from ({RUNS}) left join asked using (model_id) "
        "where edition_id = $edition_id group by model_id order by model_id",
        **vars(setting),
    )


def _read_not_asked(reader: EditionReader) -> list[str]:
    """Return the models without an evaluation of this edition, failed or not, but of its base."""
    rows = reader.read(
        f"with evaluated as ({RUNS} union all "
        "select edition_id, model_id, failed_at from failures) "
        "select distinct name as model from models where model_id in (select model_id from evaluated "
        "inner join editions using (edition_id) where kb = (select kb from editions "
        "where edition_id = $edition_id)) and model_id not in (select model_id from evaluated "
        "where edition_id = $edition_id and model_id is not null) order by model"
    )
    return [row["model"] for row in rows]


def _read_example(reader: EditionReader, method: str) -> list[Row]:
    """Return the samples of the test pair with the shortest texts, which is the easiest to understand."""
    return reader.read(
        "with pairs as (select pair_id from samples where edition_id = $edition_id "
        "and method = $method and split = 'test' group by pair_id "
        "order by count(*) desc, sum(length(text)), pair_id limit 1) "
        "select s.pair_id, s.method, s.transformation, s.sample_index, t.is_positive, s.text, s.label, "
        "t.relation, t.head, t.tail "
        "from samples as s inner join triplets as t using (edition_id, triplet_id) "
        "where s.edition_id = $edition_id and s.method = $method "
        "and s.pair_id in (from pairs) order by t.is_positive desc, s.sample_index",
        method=method,
    )


def _read_missed(reader: EditionReader, setting: Setting) -> list[Row]:
    """Return the missed points with the most errors of each model, and the number of all it missed."""
    return reader.read(
        "select *, count(*) over (partition by model_id) as n_missed from missed_points "
        "where edition_id = $edition_id and method = $method "
        "and scoring_policy = $scoring_policy and repeat = $repeat "
        "qualify row_number() over ("
        "partition by model_id order by n_correct, relation, head, pair_id) <= $n_shown "
        "order by model_id, n_correct, relation, head, pair_id",
        method=setting.method,
        scoring_policy=setting.scoring_policy,
        repeat=setting.repeat,
        n_shown=N_MISSED_SHOWN,
    )
