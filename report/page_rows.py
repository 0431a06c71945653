"""Read the contents of a page, and of the list of editions, from the warehouse."""

from pathlib import Path

from primitives.errors import InputError
from report.comparison_rows import read_comparisons, read_drift
from report.contents import (
    Contents,
    Row,
    Setting,
    choose_setting,
    find_setting,
    list_models,
    order_setting,
)
from report.edition_reader import EditionReader
from report.facet_scores import read_facet_scores, select_first_policy
from report.question_rows import read_question_contents
from report.wordings import name_rephraser
from warehouse.query import open_warehouse

N_MISSED_SHOWN = 5
# Views whose rows the page uses unchanged: under the setting of its figures, under any scoring policy, and
# views that do not concern a model.
SETTING_VIEWS = (
    "joint_accuracy_curve",
    "accuracy_by_relation",
    "accuracy_by_transformation",
    "accuracy_by_negative",
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
    "sample_quality",
    "rejection_reasons",
    "diversity",
    "human_review",
)
# The columns of the best model in the list of editions.
SUMMARY = (
    "model",
    "mastery",
    "mastery_ci_low",
    "mastery_ci_high",
    "average_accuracy",
    "ci_low",
    "ci_high",
    "no_answer_rate",
    "error_rate",
)


def read_contents(root: Path, edition_id: str) -> Contents:
    """Return the contents of an edition's page; raise InputError if the warehouse lacks the edition."""
    with open_warehouse(root) as connection:
        reader = EditionReader(connection, edition_id)
        edition = _read_edition(reader)
        leaderboard = _read_leaderboard(reader)
        setting, n_settings = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
        questions = read_question_contents(reader)
        asked = {score.model_id: score.model for score in questions.scores} if questions else {}
        models = list_models(leaderboard, setting, asked)
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
            example=_read_example(reader, setting.method),
            leaderboard=leaderboard,
            shortcut_baselines=reader.read(
                "select * from shortcut_baselines where edition_id = $edition_id "
                "and method = $method order by relation nulls first, baseline",
                method=setting.method,
            ),
            missed_points=_read_missed(reader, setting),
            # This view compares methods, so it has no column for the method.
            component_ablation=reader.read_setting("component_ablation", setting, "method"),
            model_comparison=read_comparisons(reader, setting, models, rows["detectable_difference"]),
            edition_drift=drift,
            n_other_editions=n_others,
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


def _read_edition(reader: EditionReader) -> Row:
    found = reader.read(
        "select edition_id, kb, label, seed, negatives, pool, rephraser, methods, configuration "
        "from editions where edition_id = $edition_id"
    )
    if not found:
        editions = reader.read("select edition_id from editions order by edition_id")
        known = ", ".join(row["edition_id"] for row in editions) or "none"
        raise InputError(
            f"the warehouse does not contain edition {reader.edition_id!r} (it contains: {known}); "
            "run `pretexeval build CONFIG`, then `pretexeval publish CONFIG`"
        )
    counts = reader.read(
        "select count(distinct pair_id) filter (split = 'test') as n_pairs, "
        "count(distinct pair_id) filter (split = 'demonstration') as n_demonstration_pairs, "
        "count(distinct relation) as n_relations from triplets where edition_id = $edition_id"
    )
    return found[0] | counts[0] | {"rephraser": name_rephraser(found[0])}


def _read_leaderboard(reader: EditionReader) -> list[Row]:
    """Return the leaderboards of all settings, the one of the figures first."""
    rows = reader.read(
        "select * from leaderboard where edition_id = $edition_id order by rank, model, model_id"
    )
    return sorted(rows, key=lambda row: order_setting(find_setting(row)))


def _read_example(reader: EditionReader, method: str) -> list[Row]:
    """Return the samples of the test pair with the shortest texts, which is the easiest to understand."""
    return reader.read(
        "with pairs as (select pair_id from samples where edition_id = $edition_id "
        "and method = $method and split = 'test' group by pair_id "
        "order by count(*) desc, sum(length(text)), pair_id limit 1) "
        "select s.transformation, s.sample_index, t.is_positive, s.text, s.label, t.relation, "
        "t.head, t.tail from samples as s inner join triplets as t using (edition_id, triplet_id) "
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


def read_editions(root: Path) -> list[Row]:
    """Return the editions of the warehouse, each with its best model under the setting of its figures."""
    with open_warehouse(root) as connection:
        editions = EditionReader(connection, "").read("select edition_id from editions order by edition_id")
        return [_read_summary(EditionReader(connection, row["edition_id"])) for row in editions]


def _read_summary(reader: EditionReader) -> Row:
    edition = _read_edition(reader)
    leaderboard = _read_leaderboard(reader)
    setting, _ = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
    ranked = [row for row in leaderboard if setting.matches(row)]
    nothing = dict.fromkeys(SUMMARY)
    best = {name: ranked[0][name] for name in SUMMARY} if ranked else nothing
    scores = select_first_policy(read_facet_scores(reader.read_unbound, reader.edition_id))
    answered = {row["model_id"] for row in leaderboard} | {score.model_id for score in scores}
    counts = {
        "facets": max(scores, key=lambda score: score.average or 0.0, default=None),
        "n_models": len(answered),
        "n_not_evaluated": len(reader.read_view("not_evaluated")),
    }
    return edition | best | counts
