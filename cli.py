"""The command `pretexeval`. Each subcommand imports what it needs: `--help` answers at once."""

import argparse
import atexit
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from config import Config, load_config
from schemas.errors import InputError

Command = Callable[[argparse.Namespace], int]
STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0, 1 where a part failed, 2 for bad input, 130 if interrupted."""
    options = _build_parser().parse_args(arguments)
    command: Command = options.command
    try:
        return command(options)
    except InputError as error:
        return _fail(str(error), 2)
    except OSError as error:
        if error.errno in STORAGE_ERRORS:
            where = f" ({error.filename})" if error.filename else ""
            return _fail(f"{error.strerror}{where}; nothing half-written was kept: mend it and run again", 1)
        raise
    except KeyboardInterrupt:
        return _fail("interrupted; run the same command again to go on", 130)


def _fail(message: str, status: int) -> int:
    print(f"pretexeval: {message}", file=sys.stderr)
    return status


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pretexeval",
        description="What does a language model really know about medicine? Test sets from knowledge "
        "bases, models evaluated on them, and their accuracy in DuckDB.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(command=command)
        return sub

    for name, command, summary in (
        (
            "run",
            _run,
            "Build the edition, evaluate every model, publish: all of it, in this process.",
        ),
        ("build", _build, "Build the edition only."),
        (
            "evaluate",
            _evaluate,
            "Build the edition where it is not there yet, and evaluate the models.",
        ),
        ("publish", _publish, "Load all that is complete into the warehouse and write the pages."),
        (
            "validate",
            _validate,
            "Check configuration, knowledge base, prototypes and models; run nothing.",
        ),
        ("plan", _plan, "Say what a run would ask and take: prompts, tokens, time, cost."),
    ):
        add(name, command, summary).add_argument("config", type=Path, help="a TOML file")
    doctor = add("doctor", _doctor, "Say what this machine has, and what will not work.")
    doctor.add_argument("config", type=Path, nargs="?", help="a TOML file; without one: the machine alone")
    score = add("score", _score, "Judge what the models answered under another policy; asks nothing.")
    score.add_argument("config", type=Path, help="a TOML file")
    score.add_argument(
        "--policy",
        action="append",
        choices=("strict", "coin-flip", "excluded"),
        help="what no answer counts for (several: once for each; default: those of the configuration)",
    )
    tables = add("tables", _tables, "The papers' tables of an edition: methods, components, transformations.")
    tables.add_argument("config", type=Path, help="a TOML file")
    deploy = add("deploy", _deploy, "Register pools, deployments and the schedule with a Prefect server.")
    deploy.add_argument("config", type=Path, help="the TOML file that the schedule runs")
    deploy.add_argument("--gpus", type=int, default=1, help="runs that load a model at once (default: 1)")
    deploy.add_argument("--pool-type", choices=("process", "docker", "kubernetes"), default="process")
    deploy.add_argument(
        "--pools", type=Path, help="what runs in containers get (default: deploy/pools.toml of the project)"
    )
    _add_review(add("review", _export_review, "Sheets for doctors to grade samples on, out and in."))
    gate = add("gate", _gate, "Measure the gate on rewordings that were read and labelled.")
    gate.add_argument("file", type=Path, help="Parquet, as docs/gate.md describes it")
    disek = add("export-disek", _export_disek, "Write the DiseK relations of a knowledge base as one table.")
    disek.add_argument("config", type=Path, help="a TOML file")
    disek.add_argument("file", type=Path, help="to write: .csv, .tsv, .jsonl or .parquet")
    sql = add("sql", _sql, "Ask the warehouse; without a query: list its views.")
    sql.add_argument("query", nargs="?", help='for example "from leaderboard"')
    sql.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")
    sql.add_argument("--format", choices=("table", "csv", "json"), default="table")
    return parser


def _add_review(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    export = actions.add_parser("export", help="Write a blinded sheet for every grader.")
    export.add_argument("edition", help="its name, as in the table editions")
    export.add_argument("--pairs", type=int, default=50, help="how many pairs to draw (default: 50)")
    export.add_argument("--seed", type=int, default=0, help="draws the pairs (default: 0)")
    export.add_argument("--grader", action="append", required=True, help="a name; several: once for each")
    export.set_defaults(command=_export_review)
    back = actions.add_parser("import", help="Check a filled sheet and load its grades.")
    back.add_argument("sheet", type=Path, help="the CSV file, as a spreadsheet saved it")
    back.add_argument("--grader", required=True, help="whose sheet it is")
    back.set_defaults(command=_import_review)
    for action in (export, back):
        action.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _run(options: argparse.Namespace) -> int:
    from flows.in_process.run import run_all

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


def _build(options: argparse.Namespace) -> int:
    from flows.in_process.run import run_build

    config = load_config(options.config)
    print(config.storage.root / "editions" / run_build(config))
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from engines.identity import identify_model
    from flows.in_process.run import run_build, run_evaluations

    config = load_config(options.config)
    for model in config.models:
        identify_model(model)
    return _report_failures(run_evaluations(config, run_build(config, is_evaluated_next=True)))


def _publish(options: argparse.Namespace) -> int:
    from flows.in_process.run import open_mirror, run_publish
    from tasks.edition import plan_edition

    config = load_config(options.config)
    edition = plan_edition(config)
    open_mirror(config.storage).pull_edition(edition.edition_id)
    paths = run_publish(config, edition.edition_id if edition.promised else None)
    if not edition.promised:
        _tell(f"edition {edition.edition_id} is not complete: every edition that is got its page")
    for path in paths:
        print(path)
    return 0


def _score(options: argparse.Namespace) -> int:
    from report.console import render_rows
    from tasks.scoring import score_models
    from warehouse.query import run_query

    config = load_config(options.config)
    edition_id = score_models(config, options.policy)
    query = (
        "select model, method, scoring_policy, n_samples, average_accuracy, ci_low, ci_high, no_answer_rate "
        f"from average_accuracy where edition_id = '{edition_id}' order by model, method, scoring_policy"
    )
    print(render_rows(*run_query(config.storage.root, query), "table"))
    return 0


def _validate(options: argparse.Namespace) -> int:
    from tasks.inspection import describe_plan

    config = load_config(options.config)
    print(describe_plan(config))
    return 0


def _plan(options: argparse.Namespace) -> int:
    from tasks.plan_text import render_plan
    from tasks.planning import plan_run

    print(render_plan(plan_run(load_config(options.config))))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from tasks.checks import has_failing, render_checks
    from tasks.doctor import examine

    checks = examine(options.config)
    print(render_checks(checks))
    return 1 if has_failing(checks) else 0


def _tables(options: argparse.Namespace) -> int:
    from tasks.edition import plan_edition

    config = load_config(options.config)
    _print_tables(config, plan_edition(config).edition_id)
    return 0


def _deploy(options: argparse.Namespace) -> int:
    from flows.deployment.deploy import POOLS, deploy

    load_config(options.config)
    deploy(options.config, options.gpus, options.pool_type, options.pools or POOLS)
    return 0


def _export_review(options: argparse.Namespace) -> int:
    from tasks.review import export_review

    for path in export_review(options.root, options.edition, options.grader, options.pairs, options.seed):
        print(path)
    return 0


def _import_review(options: argparse.Namespace) -> int:
    from tasks.review_import import import_review

    print(import_review(options.root, options.sheet, options.grader))
    return 0


def _gate(options: argparse.Namespace) -> int:
    from tasks.gate.measure import measure_gate, render

    print(render(measure_gate(options.file)))
    return 0


def _export_disek(options: argparse.Namespace) -> int:
    from knowledge.read import read_knowledge_base
    from tasks.disek import write_disek

    print(write_disek(read_knowledge_base(load_config(options.config).knowledge), options.file))
    return 0


def _sql(options: argparse.Namespace) -> int:
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
        _fail(f"{name}: {reason}", 1)
    return 1 if failures else 0


def run() -> None:
    """The command as a process of its own, which ends as soon as the command has."""
    status: list[int] = []
    # Registered first, so that it runs last: after Prefect and its server have ended.
    atexit.register(_leave, status)
    status.append(main())
    sys.exit(status[0])


def _leave(status: list[int]) -> None:
    """Leave the interpreter to the system: taking it apart takes 3 s where vLLM is in it."""
    if status:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status[0])


if __name__ == "__main__":
    run()
