"""What each subcommand of `pretexeval` does; the exit status. Each imports what it needs."""

import argparse
import sys

from config.file import Config, load_config


def fail(message: str, status: int) -> int:
    """Say it on the console; the status."""
    print(f"pretexeval: {message}", file=sys.stderr)
    return status


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    """Build the edition, evaluate every model, publish; then the leaderboard, and where things lie."""
    from cli.in_process import run_all

    config = load_config(options.config)
    report = run_all(config, _tell)
    _print_leaderboard(config, report.edition_id)
    if len(config.edition.methods) > 1:
        print()
        _print_tables(config, report.edition_id)
    warehouse, page = report.paths
    print(f"\nedition    {config.storage.root / 'editions' / report.edition_id}")
    print(f'warehouse  {warehouse}   (pretexeval sql "from leaderboard" --root {config.storage.root})')
    print(f"page       {page}")
    return _report_failures(report.failures)


def build(options: argparse.Namespace) -> int:
    """Build the edition."""
    from cli.in_process import run_build

    config = load_config(options.config)
    print(config.storage.root / "editions" / run_build(config))
    return 0


def evaluate(options: argparse.Namespace) -> int:
    """Build the edition and evaluate every model."""
    from cli.in_process import run_build, run_evaluations
    from engines.identity import identify_model

    config = load_config(options.config)
    for model in config.models:
        identify_model(model)
    return _report_failures(run_evaluations(config, run_build(config, is_evaluated_next=True)))


def publish(options: argparse.Namespace) -> int:
    """Publish; every edition where the configuration's own was never made."""
    from cli.in_process import open_mirror, run_publish
    from tasks.edition.edition import plan_edition

    config = load_config(options.config)
    edition = plan_edition(config)
    open_mirror(config.storage).pull_edition(edition.edition_id)
    paths = run_publish(config, edition.edition_id if edition.promised else None)
    if not edition.promised:
        _tell(f"edition {edition.edition_id} is not complete: every edition that is got its page")
    for path in paths:
        print(path)
    return 0


def score(options: argparse.Namespace) -> int:
    """Judge the answers under another policy."""
    from flows.score_again import score_models
    from report.console import render_rows
    from warehouse.query import run_query

    config = load_config(options.config)
    edition_id = score_models(config, options.policy)
    query = (
        "select model, method, scoring_policy, n_samples, average_accuracy, ci_low, ci_high, no_answer_rate "
        f"from average_accuracy where edition_id = '{edition_id}' order by model, method, scoring_policy"
    )
    print(render_rows(*run_query(config.storage.root, query), "table"))
    return 0


def validate(options: argparse.Namespace) -> int:
    """Check a configuration and all that it names."""
    from preflight.config_summary import describe_plan

    config = load_config(options.config)
    print(describe_plan(config))
    return 0


def plan(options: argparse.Namespace) -> int:
    """What a run would ask and take."""
    from preflight.run_plan import plan_run
    from preflight.run_plan_text import render_plan

    print(render_plan(plan_run(load_config(options.config))))
    return 0


def doctor(options: argparse.Namespace) -> int:
    """What will not work on this machine."""
    from preflight.doctor import examine
    from preflight.findings import has_failing, render_checks

    checks = examine(options.config)
    print(render_checks(checks))
    return 1 if has_failing(checks) else 0


def tables(options: argparse.Namespace) -> int:
    """The papers' tables of the edition."""
    from tasks.edition.edition import plan_edition

    config = load_config(options.config)
    _print_tables(config, plan_edition(config).edition_id)
    return 0


def deploy(options: argparse.Namespace) -> int:
    """Register everything with a Prefect server."""
    from deploy.deployments import POOLS, deploy

    load_config(options.config)
    deploy(options.config, options.gpus, options.pool_type, options.pools or POOLS)
    return 0


def export_review(options: argparse.Namespace) -> int:
    """Write the sheets for graders."""
    from review.export import export_review

    for path in export_review(options.root, options.edition, options.grader, options.pairs, options.seed):
        print(path)
    return 0


def import_review(options: argparse.Namespace) -> int:
    """Read a graded sheet."""
    from review.import_grades import import_review

    print(import_review(options.root, options.sheet, options.grader))
    return 0


def gate(options: argparse.Namespace) -> int:
    """Measure the gate on labelled rewordings."""
    from gate.measure import measure_gate, render_measurement

    print(render_measurement(measure_gate(options.file)))
    return 0


def export_disek(options: argparse.Namespace) -> int:
    """Write the base as a DiseK table."""
    from knowledge.disek_writer import write_disek
    from knowledge.read import read_knowledge_base

    print(write_disek(read_knowledge_base(load_config(options.config).knowledge), options.file))
    return 0


def query(options: argparse.Namespace) -> int:
    """Ask the warehouse, or list its views."""
    from report.console import render_rows
    from warehouse.query import list_views, run_query

    if options.query is None:
        columns, rows = ["view", "grain"], list(list_views(options.root))
    else:
        columns, rows = run_query(options.root, options.query)
    print(render_rows(columns, rows, options.format))
    return 0


def _print_leaderboard(config: Config, edition_id: str) -> None:
    from report.console import render_leaderboard
    from warehouse.query import run_query

    query = f"select * from leaderboard where edition_id = '{edition_id}' order by rank"
    print(render_leaderboard(*run_query(config.storage.root, query)))


def _print_tables(config: Config, edition_id: str) -> None:
    from report.paper_tables import render_paper_tables
    from warehouse.query import run_query

    print(render_paper_tables(lambda sql: run_query(config.storage.root, sql), edition_id))


def _report_failures(failures: dict[str, str]) -> int:
    for name, reason in failures.items():
        fail(f"{name}: {reason}", 1)
    return 1 if failures else 0
