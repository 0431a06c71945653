"""The subcommands that run the pipeline: run, build, evaluate, publish, score, tables."""

import argparse
from typing import TYPE_CHECKING, Any

from cli.refresh import MEASURED, OF_EDITION, OF_EVALUATION, add_refresh, refresh_stages
from cli.selection import add_selection, select_evaluations
from cli.subcommands import Subcommands, add_command, add_config, report_error, report_progress, write_output
from config.file import Config, load_config
from storage.layout import edition_folder

if TYPE_CHECKING:
    from report.facet_scores import FacetScores


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommands."""
    example = "configs/quickstart.toml"
    examples = [example, f"{example} --model reference-small --limit 5"]
    summary = "Build the edition, evaluate every model and publish, all in this process."
    parser = add_command(subcommands, "run", run, summary, examples)
    add_config(parser)
    add_selection(parser)
    add_refresh(parser, (*OF_EDITION, *MEASURED, *OF_EVALUATION))
    parser.add_argument(
        "--wide", action="store_true", help="show all columns of the leaderboard, also those that do not fit"
    )
    summary = "Build the edition if it is missing, and evaluate the models."
    parser = add_command(subcommands, "evaluate", evaluate, summary, examples)
    add_config(parser)
    add_selection(parser)
    parser = add_command(subcommands, "build", build, "Build the edition only.", [example])
    add_config(parser)
    add_refresh(parser, OF_EDITION)
    summary = "Load everything that is complete into the warehouse and write the pages."
    add_config(add_command(subcommands, "publish", publish, summary, [example]))
    summary = "Score the stored answers under another policy; no model is asked."
    examples = [
        f"configs/quickstart.toml{policies}" for policies in ("", " --policy strict --policy coin-flip")
    ]
    parser = add_command(subcommands, "score", score, summary, examples)
    add_config(parser)
    parser.add_argument(
        "--policy",
        action="append",
        choices=("strict", "coin-flip", "excluded"),
        help="how to count a missing answer (repeat for several policies; default: those of the "
        "configuration)",
    )
    summary = (
        "Print an edition's results as in the papers' tables: methods, components, transformations, facets."
    )
    add_config(add_command(subcommands, "tables", tables, summary, ["configs/comparison.toml"]))


def run(options: argparse.Namespace) -> int:
    """Build the edition, evaluate every model and publish; print the leaderboard and the paths."""
    from cli.in_process import run_all
    from warehouse.drift import describe_drift
    from warehouse.freshness import describe_freshness, describe_stale_texts

    config = select_evaluations(load_config(options.config), options)
    report = run_all(config, report_progress, options.config)
    _print_leaderboard(config, report.edition_id, is_wide=options.wide)
    if len(config.edition.methods) > 1:
        write_output()
        _print_tables(config, report.edition_id)
    if freshness := describe_freshness(config.storage.root, report.edition_id):
        write_output(f"\n{freshness}")
    for line in describe_drift(config.storage.root, report.edition_id):
        write_output(line)
    warehouse, page = report.paths
    write_output(f"\nedition    {config.storage.root / edition_folder(report.edition_id)}")
    write_output(f'warehouse  {warehouse}   (pretexeval sql "from leaderboard" --root {config.storage.root})')
    write_output(f"page       {page}")
    if stale := describe_stale_texts(config.storage.root, report.edition_id, config.report.min_new_texts):
        report_progress(stale)
    status = _report_failures(report.failures)
    if report.left_out:
        report_error(report.left_out)
    status |= refresh_stages(config, report.edition_id, options.refresh)
    return 1 if report.left_out else status


def build(options: argparse.Namespace) -> int:
    """Build the edition and print its folder."""
    from cli.in_process import run_build

    config = load_config(options.config)
    edition_id = run_build(config, options.config)
    write_output(config.storage.root / edition_folder(edition_id))
    return refresh_stages(config, edition_id, options.refresh)


def evaluate(options: argparse.Namespace) -> int:
    """Build the edition and evaluate every model."""
    from cli.in_process import run_build, run_evaluations
    from engines.model_files import require_some_usable

    config = select_evaluations(load_config(options.config), options)
    require_some_usable(config.models)
    edition_id = run_build(config, options.config, is_evaluated_next=True)
    return _report_failures(run_evaluations(config, edition_id, options.config))


def publish(options: argparse.Namespace) -> int:
    """Publish the configuration's edition, or every complete edition if that one is not complete."""
    from cli.in_process import open_mirror, run_publish
    from tasks.edition.planning import fetch_edition

    config = load_config(options.config)
    edition = fetch_edition(config, open_mirror(config.storage))
    paths = run_publish(config, edition.edition_id if edition.is_complete() else None, options.config)
    if not edition.is_complete():
        report_progress(
            f"edition {edition.edition_id} is not complete: the pages of all complete editions were written"
        )
    for path in paths:
        write_output(path)
    return 0


def score(options: argparse.Namespace) -> int:
    """Score the stored answers under another policy and print the accuracies."""
    from cli.in_process import run_score
    from report.console import render_rows
    from report.score_tables import render_facets
    from warehouse.query import run_query

    config = load_config(options.config)
    edition_id = run_score(config, options.policy, options.config)
    query = (
        "select model, method, scoring_policy, n_samples, average_accuracy, ci_low, ci_high, no_answer_rate, "
        f"error_rate from average_accuracy where edition_id = '{edition_id}' "
        "order by model, method, scoring_policy"
    )
    columns, rows = run_query(config.storage.root, query)
    scores = _read_facet_scores(config, edition_id)
    if rows or not scores:
        write_output(render_rows(columns, rows, "table"))
    if scores:
        write_output(("\n" if rows else "") + render_facets(scores))
    _print_not_evaluated(config, edition_id)
    return 0


def tables(options: argparse.Namespace) -> int:
    """Print the papers' tables for the edition."""
    from tasks.edition.planning import plan_edition

    config = load_config(options.config)
    _print_tables(config, plan_edition(config).edition_id)
    return 0


def _print_leaderboard(config: Config, edition_id: str, *, is_wide: bool) -> None:
    """Print the leaderboard of the samples, the table of facets of the questions, and who has no score."""
    from report.facet_scores import select_first_policy
    from report.repeat_notes import note_repeats
    from report.score_tables import render_facets, render_leaderboard
    from warehouse.query import run_query

    # Of a model that was asked several times, the first repeat; note_repeats adds the means.
    query = f"select * from leaderboard where edition_id = '{edition_id}' and repeat = 0 order by rank"
    columns, rows = run_query(config.storage.root, query)
    scores = select_first_policy(_read_facet_scores(config, edition_id))
    has_pairs = run_query(
        config.storage.root, f"select 1 from editions where edition_id = '{edition_id}' and n_pairs > 0"
    )[1]
    if rows or has_pairs or not scores:
        write_output(render_leaderboard(columns, rows, is_wide=is_wide))
        for line in note_repeats(config.storage.root, edition_id):
            write_output(line)
    if scores:
        write_output(("\n" if rows or has_pairs else "") + render_facets(scores))
    _print_not_evaluated(config, edition_id)


def _read_facet_scores(config: Config, edition_id: str) -> "list[FacetScores]":
    from report.facet_scores import read_facet_scores
    from warehouse.query import read_rows

    return read_facet_scores(lambda sql: read_rows(config.storage.root, sql), edition_id)


def _print_not_evaluated(config: Config, edition_id: str) -> None:
    from report.score_tables import render_not_evaluated
    from warehouse.query import run_query

    query = f"from not_evaluated where edition_id = '{edition_id}'"
    if lines := render_not_evaluated(*run_query(config.storage.root, query)):
        write_output(lines)


def _print_tables(config: Config, edition_id: str) -> None:
    from report.facet_scores import select_first_policy
    from report.paper_tables import render_paper_facets, render_paper_tables
    from warehouse.query import run_query

    def query(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        return run_query(config.storage.root, sql)

    tables = (
        render_paper_tables(query, edition_id),
        render_paper_facets(select_first_policy(_read_facet_scores(config, edition_id))),
    )
    write_output("\n\n".join(table for table in tables if table))


def _report_failures(failures: dict[str, str]) -> int:
    for name, reason in failures.items():
        report_error(f"{name}: {reason}")
    return 1 if failures else 0
