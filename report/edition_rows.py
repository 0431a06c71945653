"""Read the list of editions from the warehouse: what each is, who leads it, and when it was evaluated."""

import json
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from report.contents import EditionReader, Row, Setting, choose_setting, find_setting, order_setting
from report.facet_scores import read_facet_scores
from report.formats import join_names, label_models
from report.leaders import choose_measure, find_lead, read_comparisons
from report.remarks import judge_against_shortcut
from schemas.stages import MAX_WRONG_RATE
from warehouse.query import open_warehouse

AS_WRITTEN = "as written"


def name_rephraser(rephraser: str | None, configuration: Mapping[str, Any]) -> str | None:
    """Return what the page calls the rephraser: "reviewed" only if the wordings of all relations were."""
    written = configuration.get("as_written", ())
    n_relations = len(configuration.get("prototypes", ()))
    if rephraser != "reviewed" or not written:
        return rephraser
    is_partial = len(written) < n_relations
    return f"{AS_WRITTEN} in {len(written)} relations of {n_relations}" if is_partial else AS_WRITTEN


# The columns of the first model in the list of editions.
SUMMARY = (
    "mastery",
    "mastery_ci_low",
    "mastery_ci_high",
    "best_shortcut_mastery",
    "average_accuracy",
    "average_accuracy_ci_low",
    "average_accuracy_ci_high",
    "no_answer_rate",
    "unfinished_reasoning_rate",
    "error_rate",
)
RUNS = (
    "select edition_id, setting, model_id, finished_at, n_items, n_not_needed from runs where period is null"
)
"""SQL for every evaluation of samples or questions."""


def read_editions(root: Path) -> tuple[list[Row], dict[str, int]]:
    """Return the editions except anchors, the newest first, with their leaders, and the places of all models.

    An edition of a schedule is dated by its period, however late it was made. Any other has no date itself,
    because the same configuration gives the same bytes on any day, so it is dated by the end of its first
    evaluation. Editions with neither come last.
    """
    with open_warehouse(root) as connection:
        places = read_colour_places(EditionReader(connection, ""))
        listed = "select edition_id from editions where not is_anchors order by edition_id"
        found = EditionReader(connection, "").read(listed)
        rows = [_read_summary(EditionReader(connection, row["edition_id"])) for row in found]

    def date_edition(edition: Row) -> tuple[date, datetime, str]:
        evaluated_at = edition["first_evaluated_at"] or datetime.min
        return edition["period_start"] or evaluated_at.date(), evaluated_at, edition["edition_id"]

    return sorted(rows, key=date_edition, reverse=True), places


def read_leaderboard(reader: EditionReader) -> list[Row]:
    """Return the leaderboards of all settings, the one of the figures first."""
    rows = reader.read(
        "select * from leaderboard where edition_id = $edition_id order by rank, model, model_id"
    )
    return sorted(rows, key=lambda row: order_setting(find_setting(row)))


def read_edition(reader: EditionReader) -> Row | None:
    """Return what the edition is, with its numbers of pairs and its dates; None if the warehouse lacks it."""
    found = reader.read(
        "select edition_id, kb, label, seed, negatives, pool, rephraser, methods, n_drawn_pairs, "
        "configuration, period_start, withdrawn_at, withdrawal_reason from editions "
        "where edition_id = $edition_id"
    )
    if not found:
        return None
    counts = reader.read(
        "select count(distinct pair_id) filter (split = 'test') as n_pairs, "
        "count(distinct pair_id) filter (split = 'demonstration') as n_demonstration_pairs, "
        "count(distinct relation) as n_relations from triplets where edition_id = $edition_id"
    )
    dates = reader.read(
        "select min(finished_at) as first_evaluated_at, max(finished_at) as last_evaluated_at from "
        f"({RUNS}) where edition_id = $edition_id"
    )
    configuration = json.loads(found[0]["configuration"] or "{}")
    return {
        **found[0],
        **counts[0],
        **dates[0],
        "rephraser": name_rephraser(found[0]["rephraser"], configuration),
        "is_gate_off": configuration.get("rephraser", {}).get("gate") == "off",
        "max_wrong_rate": MAX_WRONG_RATE,
        "is_limited_by_panel": configuration.get("rephraser", {}).get("max_new_words") == "auto",
    }


def read_colour_places(reader: EditionReader) -> dict[str, int]:
    """Return model_id -> place in the palette, in the order of the first evaluations in the warehouse.

    A model that is added later changes no colour, also on pages that are not written again.
    """
    rows = reader.read(
        f"select models.model_id from models left join ({RUNS}) as done using (model_id) "
        "group by models.model_id, models.name "
        "order by min(done.finished_at) nulls last, models.name, models.model_id"
    )
    return {row["model_id"]: place for place, row in enumerate(rows)}


def _read_summary(reader: EditionReader) -> Row:
    edition = read_edition(reader)
    assert edition is not None
    leaderboard = read_leaderboard(reader)
    setting, _ = choose_setting(leaderboard, edition["methods"] or ["pretexeval"])
    ranked = [row for row in leaderboard if setting.matches(row)]
    scores = read_facet_scores(reader.read, reader.edition_id)
    answered = {row["model_id"] for row in leaderboard} | {row["model_id"] for row in scores}
    freshness = reader.read_view("freshness", method=setting.method)
    new_texts = [row for row in freshness if row["n_earlier_editions"]]
    counts = {
        "facets": max(scores, key=lambda row: row["average"] or 0.0, default=None),
        "n_models": len(answered),
        "n_not_evaluated": len(reader.read_view("not_evaluated")),
        "new_text_rate": next((row["new_text_rate"] for row in new_texts), None),
    }
    return (
        edition | _describe_first(reader, setting, ranked) | counts | {"setting": setting, "ranked": ranked}
    )


def _describe_first(reader: EditionReader, setting: Setting, ranked: list[Row]) -> Row:
    """Return the scores of the first model, the names of all that lead, and how they stand to shortcuts."""
    model_ids = [row["model_id"] for row in ranked]
    rows = read_comparisons(reader, setting, model_ids)
    lead = find_lead(model_ids, rows, choose_measure(ranked[0])) if ranked else None
    if lead is None:
        others = {"leaders": None, "n_leaders": 0, "n_unknown": 0, "against_shortcut": None}
        return dict.fromkeys(SUMMARY) | others
    names = label_models({row["model_id"]: str(row["model"]) for row in ranked})
    return {name: ranked[0][name] for name in SUMMARY} | {
        "leaders": join_names([names[model_id] for model_id in lead.leaders]),
        "n_leaders": len(lead.leaders),
        "n_unknown": lead.n_others - len(lead.level) - len(lead.behind) - len(lead.before),
        "against_shortcut": judge_against_shortcut(ranked[0], len(ranked)),
    }
