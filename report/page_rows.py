"""Read the contents of a page from the warehouse."""

from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import find_manifest
from report.contents import (
    Contents,
    EditionReader,
    Model,
    Row,
    Setting,
    choose_setting,
    list_models,
)
from report.edition_differences import read_aspects
from report.edition_rows import RUNS, read_colour_places, read_edition, read_leaderboard
from report.facet_scores import QuestionContents, read_facet_scores
from report.leaders import read_comparisons, swap_sides
from report.remarks import EXCHANGED, REPLY_REMARKS
from schemas.question_stages import LETTERS, TYPES
from warehouse.query import open_warehouse

N_MISSED_SHOWN = 5
# The validation of each stage, and of the same stage in the editions of the base up to this one.
CHECKS = """
with stages as (
    select edition_id, period_start, stage, setting, model, model_id, count(*) as n_expectations,
        count_if(is_passed) as n_passed, max(n_rows) as n_rows, max(checked_at) as checked_at
    from checks
    inner join editions using (edition_id)
    where kb is not distinct from (select kb from editions where edition_id = $edition_id)
    group by all
)
select *, count(*) over so_far as n_checked_editions,
    count(*) filter (n_passed = n_expectations) over so_far as n_passed_editions
from stages
window so_far as (partition by stage, model_id, setting order by period_start nulls last, edition_id)
qualify edition_id = $edition_id
order by model nulls first, model_id, setting, stage
"""
# Views whose rows the page uses unchanged: under the setting of its figures, under any scoring policy, and
# views and a table that do not concern a model.
SETTING_VIEWS = (
    "joint_accuracy_curve",
    "accuracy_by_relation",
    "form_effects",
    "suspect_prototypes",
)
POLICY_FREE_VIEWS = ("probability_calibration",)
EDITION_VIEWS = (
    "label_risks",
    "not_evaluated",
    "sample_quality",
    "freshness",
    "rejection_reasons",
    "human_review",
)
# The labels that are likely wrong, or that all models contradict, with figures about all labels.
DOUBTED_LABELS = """
from (select *, count(*) over () as n_audited, avg(wrong_probability) over () as wrong_rate
    from label_audit where edition_id = $edition_id)
where wrong_probability > 0.5 or is_contradicted_by_all
order by wrong_probability desc, n_contradicting desc, relation, head, triplet_id
"""
# Two models once, in each relation.
RELATION_DIFFERENCES = """
from storage.paired_models
where edition_id = $edition_id and method = $method and scoring_policy = $scoring_policy and repeat = $repeat
    and relation is not null and model_id < other_model_id
order by all
"""
# Every two models in mastered points, with all facets of the edition and without negated questions.
MASTERED_DIFFERENCES = """
from differences
where edition_id = $edition_id and comparison = 'questions' and measure = 'mastered_rate'
    and scoring_policy = $scoring_policy
qualify len(part) = max(len(part)) over ()
"""
ASKED_WITH_UNSURE = (
    "select distinct model_id, model from knows_guesses_errs where edition_id = $edition_id order by all"
)


def read_contents(root: Path, edition_id: str) -> Contents:
    """Return the contents of an edition's page; raise InputError if the warehouse lacks the edition."""
    with open_warehouse(root) as connection:
        reader = EditionReader(connection, edition_id)
        manifest = find_manifest(root, edition_id) or {}
        edition = _require_edition(reader) | {name: manifest.get(name, {}) for name in ("profile", "balance")}
        leaderboard = read_leaderboard(reader)
        setting, n_settings = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
        questions = read_question_contents(reader)
        asked = {row["model_id"]: row["model"] for row in questions.scores} if questions else {}
        asked |= {row["model_id"]: row["model"] for row in reader.read(ASKED_WITH_UNSURE)}
        models = list_models(leaderboard, setting, asked, read_colour_places(reader))
        drift, n_others = read_drift(reader, setting)
        return Contents(
            edition=edition,
            setting=setting,
            n_settings=n_settings,
            models=models,
            runs=_read_runs(reader, setting),
            example=_read_example(reader, setting.method),
            leaderboard=leaderboard,
            n_other_editions=n_others,
            views=read_views(reader, setting, models) | {"edition_drift": drift},
            questions=questions,
        )


def read_views(reader: EditionReader, setting: Setting, models: list[Model]) -> dict[str, list[Row]]:
    """Return the rows of each view that the page uses, by the name of the view."""
    rows = {view: reader.read_setting(view, setting) for view in SETTING_VIEWS}
    rows |= {
        view: [row for row in reader.read_setting(view, setting, "scoring_policy") if row["n_samples"] > 0]
        for view in POLICY_FREE_VIEWS
    }
    rows |= {view: reader.read_view(view) for view in EDITION_VIEWS}
    groups = reader.read_setting("accuracy_by_group", setting)
    return rows | {
        "true_and_false": [row for row in groups if row["grouping_by"] == "fact"],
        "taught": [
            row | {"taught_with": row["group_name"]} for row in groups if row["grouping_by"] == "taught"
        ],
        "groups": [row for row in groups if row["grouping_by"] not in ("fact", "taught")],
        "of_base": reader.read_view("scores", grouping_by="weighting", group_name="facts", **vars(setting)),
        "repeats": reader.read_view(
            "scores", grouping_by="repeats", method=setting.method, scoring_policy=setting.scoring_policy
        ),
        "shortcut_baselines": reader.read(
            "select * from shortcut_baselines where edition_id = $edition_id "
            "and method = $method order by relation nulls first, baseline",
            method=setting.method,
        ),
        "missed": _read_missed(reader, setting),
        "served": reader.read(
            "select distinct model_id, unnest(served) as served from runs where edition_id = $edition_id "
            "and period is null order by all"
        ),
        "reply_remarks": reader.read(REPLY_REMARKS),
        "cost": reader.read_view("cost", role="evaluated"),
        "checks": reader.read(CHECKS),
        # These shares do not depend on the scoring policy.
        "knows_guesses_errs": reader.read_setting("knows_guesses_errs", setting, "scoring_policy"),
        "label_audit": reader.read(DOUBTED_LABELS),
        "exchanged": [row for row in reader.read(EXCHANGED) if setting.matches(row)],
        "steps": [row for row in reader.read_setting("ablations", setting) if row["component"] is None],
        # The components are of two methods.
        "components": [
            row for row in reader.read_setting("ablations", setting, "method") if row["component"]
        ],
        "relation_differences": reader.read(RELATION_DIFFERENCES, **vars(setting)),
        "model_comparison": read_comparisons(reader, setting, [model.model_id for model in models]),
        "drift_explanations": read_explanations(reader, setting),
    }


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
        "with asked as (select model_id, count(*) as n_asked_pairs from pair_scores "
        "where edition_id = $edition_id and method = $method and scoring_policy = $scoring_policy "
        "and repeat = $repeat group by model_id) "
        "select model_id, max(finished_at) as evaluated_at, any_value(n_asked_pairs) as n_asked_pairs, "
        "max(n_not_needed) filter (setting is null) as n_not_needed, "
        "max(n_items) filter (setting is null) as n_items "
        f"from ({RUNS}) left join asked using (model_id) "
        "where edition_id = $edition_id group by model_id order by model_id",
        **vars(setting),
    )


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
        "select *, count(*) over (partition by model_id) as n_missed from pair_details "
        "where is_complete and not is_mastered and edition_id = $edition_id and method = $method "
        "and scoring_policy = $scoring_policy and repeat = $repeat "
        "qualify row_number() over ("
        "partition by model_id order by n_correct - n_asked, relation, head, pair_id) <= $n_shown "
        "order by model_id, n_correct - n_asked, relation, head, pair_id",
        method=setting.method,
        scoring_policy=setting.scoring_policy,
        repeat=setting.repeat,
        n_shown=N_MISSED_SHOWN,
    )


def read_question_contents(reader: EditionReader) -> QuestionContents | None:
    """Return what a page shows of an edition's questions; None if it has none."""
    (counts,) = reader.read(
        "select count(distinct point_id) filter (split = 'test') as n_points, "
        "count(distinct point_id) filter (split = 'demonstration') as n_demonstration_points, "
        "count(*) filter (split = 'test') as n_questions from questions where edition_id = $edition_id"
    )
    if not counts["n_points"]:
        return None
    scores = read_facet_scores(reader.read, reader.edition_id)
    policy = {"scoring_policy": scores[0]["scoring_policy"] if scores else None}
    mastered = reader.read_view("mastered_points", **policy)
    n_facets = max((row["step"] for row in mastered), default=0)
    return QuestionContents(
        counts=counts,
        scores=scores,
        parts=[
            row
            for row in reader.read_view("facet_accuracy", **policy)
            if row["facet"] is not None and row["is_negated"] is not None
        ],
        mastered=[row for row in mastered if row["taught_with"] is None],
        example=_read_question_example(reader, policy["scoring_policy"]),
        baselines=sorted(
            (row for row in reader.read_view("option_baselines") if row["relation"] is None),
            key=lambda row: (TYPES.index(row["type"]), row["is_negated"], row["baseline"]),
        ),
        known=[row for row in mastered if row["taught_with"] and row["step"] == n_facets],
        mastered_differences=reader.read(MASTERED_DIFFERENCES, **policy),
    )


def _read_question_example(reader: EditionReader, scoring_policy: str | None) -> list[Row]:
    """Return the questions of the test point with the most answers, then the shortest texts."""
    questions = reader.read(
        "with answered as (select item_id as question_id, count(*) as n from answers "
        "where kind = 'questions' and repeat = 0 and edition_id = $edition_id group by item_id), "
        "points as (select point_id from questions left join answered using (question_id) "
        "where edition_id = $edition_id and split = 'test' group by point_id "
        "order by sum(coalesce(n, 0)) desc, count(*) desc, sum(length(text)), point_id limit 1) "
        "select question_id, relation, head, type, is_negated, text, options, offered, answer "
        "from questions where edition_id = $edition_id and point_id in (from points) "
        "order by is_negated, question_id"
    )
    said = reader.read(
        "select setting, model_id, item_id as question_id, prediction, is_correct from answers "
        "where kind = 'questions' and repeat = 0 and edition_id = $edition_id "
        "and scoring_policy = $scoring_policy and list_contains($question_ids, item_id) "
        "order by setting, model_id",
        scoring_policy=scoring_policy,
        question_ids=[row["question_id"] for row in questions],
    )
    for row in questions:
        row["lettered"] = list(zip(LETTERS, row["options"], strict=False))
        row["said"] = [answer for answer in said if answer["question_id"] == row["question_id"]]
    return sorted(questions, key=lambda row: (TYPES.index(row["type"]), row["is_negated"]))


# With an edition per week, drift would soon fill the page, so only the nearest editions count.
N_EDITIONS_SHOWN = 4


def read_drift(reader: EditionReader, setting: Setting) -> tuple[list[Row], int]:
    """Return the rows of this edition against the nearest others, and the number of all others.

    A row has `aspects`: in what the editions differ.
    """
    compared = list_in_time(reader)
    here = compared.index(reader.edition_id)
    others = sorted(compared[:here] + compared[here + 1 :], key=lambda name: abs(compared.index(name) - here))
    rows = []
    for other in sorted(others[:N_EDITIONS_SHOWN], key=compared.index):
        first, second = sorted((reader.edition_id, other), key=compared.index)
        found = reader.read_view("edition_drift", **vars(setting), edition_id=first, other_edition_id=second)
        rows += found if first == reader.edition_id else [swap_sides(row) for row in found]
    aspects = read_aspects(reader, {row["other_edition_id"] for row in rows})
    return [row | {"aspects": aspects[row["other_edition_id"]]} for row in rows], len(others)


def read_explanations(reader: EditionReader, setting: Setting) -> list[Row]:
    """Return what anchors say about the drift to this edition; empty if none were asked in its period."""
    # The view takes a second, and most warehouses have no anchors.
    if not reader.read("select 1 from runs where period is not null limit 1"):
        return []
    return reader.read(
        "select * from drift_explanations where other_edition_id = $edition_id and method = $method "
        "and scoring_policy = $scoring_policy and repeat = $repeat "
        "order by is_successive desc, model, model_id, edition_id, anchor_edition_id",
        **vars(setting),
    )


def list_in_time(reader: EditionReader) -> list[str]:
    """Return this and the other editions of its base with a common model, in the order of edition_drift."""
    found = reader.read(
        "select edition_id from editions where kb = (select kb from editions "
        "where edition_id = $edition_id) and (edition_id = $edition_id or edition_id in "
        "(select edition_id from runs where setting is null and model_id in "
        "(select model_id from runs where setting is null and edition_id = $edition_id))) "
        "order by period_start nulls last, edition_id"
    )
    return [row["edition_id"] for row in found]
