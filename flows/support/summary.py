"""What a run did, for its log, as an artifact, and for the message of its state."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prefect import get_run_logger, runtime
from prefect.artifacts import create_table_artifact

from flows.support.artifacts import locate, show_in_ui
from flows.support.configurations import name_artifact
from flows.support.run_names import find_start
from flows.support.score_changes import read_leaderboard
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from pretexeval.storage.layout import page_file
from report.columns import TABLES
from report.facet_scores import read_facet_scores
from report.score_tables import write_cell
from tasks.edition.stage_files import StageFiles
from tasks.evaluation.evaluation import find_model
from warehouse.query import read_rows

Row = dict[str, Any]


def describe_stages(edition_id: str, stages: Sequence[StageFiles]) -> str:
    """Return which stages of an edition were built and which were reused."""
    reused = [stage.stage.name for stage in stages if stage.is_reused]
    built = [stage.stage.name for stage in stages if not stage.is_reused]
    parts = [f"{what} {', '.join(names)}" for what, names in (("built", built), ("reused", reused)) if names]
    return f"{edition_id}: {'; '.join(parts)}"


def describe_answers(record: Mapping[str, Any], *, is_reused: bool, n_workers: int = 1) -> str:
    """Return how many prompts of an evaluation were asked, reused and failed, and what is odd about replies.

    Args:
        record: the record of the evaluation, or its row of the table `runs`.
        is_reused: whether the evaluation was complete before the run.
        n_workers: how many runs have asked the prompts, each a shard.
    """
    n_items = int(record.get("n_samples", record.get("n_items", 0)))
    n_asked = 0 if is_reused else int(record["n_asked"])
    asked = f"{n_asked:,} prompts asked, {n_items - n_asked:,} answers reused"
    if n_workers > 1 and not is_reused:
        asked = f"{n_items:,} answers, asked by {n_workers} workers or reused"
    counts = f"{asked}, {int(record['n_errors']):,} failed"
    return ". ".join([counts, *(record.get("remarks") or ())])


def show_summary(config: Config, edition_id: str, stages: str, outcomes: Mapping[str, str | None]) -> str:
    """Log what `regenerate` did, show it as the table of its models, and return the last line.

    Args:
        stages: what `describe_stages` returned.
        outcomes: model, with the setting of questions in brackets -> the reason why it failed, or null.
    """
    described = _describe_models(config, edition_id)
    table = [
        {"model": label, **({"outcome": reason} if reason else row)}
        for (label, reason), row in zip(outcomes.items(), described, strict=True)
    ]
    n_failed = sum(reason is not None for reason in outcomes.values())
    end = (
        f"{len(table) - n_failed} of {len(table)} evaluations are complete; "
        f"page: {locate(config, page_file(edition_id))}"
    )
    start = f"period {config.edition.label}, {stages}"
    scored = [
        f"{row['model']}: {'; '.join(filter(None, (row['outcome'], row.get('score'))))}" for row in table
    ]
    for line in (start, *scored, end):
        get_run_logger().info("%s", line)
    key = name_artifact("models", config, edition_id)
    show_in_ui(create_table_artifact, table, key=key, description=f"{start}. {end}")
    return f"{edition_id}: {end}"


def _describe_models(config: Config, edition_id: str) -> Iterator[Row]:
    """Yield the outcome of each evaluation of the configuration, and its scores with their 95 % intervals."""
    root = config.storage.root
    runs = read_rows(
        root, f"from runs where edition_id = '{edition_id}' and period is null order by finished_at"
    )
    leaderboard = read_leaderboard(root, edition_id)
    unsure = read_rows(root, f"from knows_guesses_errs where edition_id = '{edition_id}' and repeat = 0")
    facets = read_facet_scores(lambda sql: read_rows(root, sql), edition_id)
    # The record has whole seconds.
    started_at = find_start().replace(microsecond=0, tzinfo=None)
    for name, setting in config.list_evaluations():
        # An id is the name of the model and a hash.
        found = [
            row for row in runs if row["setting"] == setting and row["model_id"].rpartition("-")[0] == name
        ]
        if not found:
            yield {"outcome": "left out of the warehouse"}
            continue
        run = found[-1]
        n_workers = find_model(config, name).workers if runtime.deployment.id else 1
        is_reused = run["finished_at"] < started_at
        outcome = describe_answers(run, is_reused=is_reused, n_workers=n_workers)
        if setting is None:
            scores = [
                f"{row['method']} {_describe_score('leaderboard', 'average_accuracy', row)}"
                for row in leaderboard
                if row["model_id"] == run["model_id"] and row["repeat"] == 0
            ]
        elif setting == UNSURE:
            scores = [
                f"{row['method']} {_describe_score('unsure', share, row)}"
                for row in unsure
                if row["model_id"] == run["model_id"]
                for share in ("right_rate", "unsure_rate", "wrong_rate")
            ]
        else:
            scores = [
                _describe_score("facets", "average", row)
                for row in facets
                if (row["model_id"], row["setting"]) == (run["model_id"], setting)
            ]
        yield {"outcome": outcome, "score": "; ".join(scores)}


def _describe_score(table: str, name: str, row: Row) -> str:
    (column,) = (column for column in TABLES[table] if column.name == name)
    return f"{column.title} {write_cell(column, row)} %"
