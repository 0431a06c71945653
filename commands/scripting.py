"""Run a configuration from Python, and read editions, predictions and the warehouse."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from commands.in_process import RunResult as RunResult
from commands.in_process import run_all
from commands.selection import select_some
from pretexeval.config.file import Config, load_config
from pretexeval.config.questions import UNSURE
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import bypass_proxies
from warehouse.query import explain_unreadable, find_warehouse

if TYPE_CHECKING:
    import polars as pl


def open_warehouse(root: str | Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the warehouse under a data root. Close it, or use it in a `with` block.

    `pretexeval sql` lists the tables and views. The warehouse is attached read-only to a database in
    memory, in which you can create tables of your own as `memory.NAME`. Every publication renames a new file
    over the old one, so a connection shows the warehouse as it was when it was opened.

    Raises:
        InputError: there is no warehouse under the root, or DuckDB cannot open it.
    """
    path = find_warehouse(Path(root))
    # DuckDB gives all connections of a process to one path the same database, even after the file was
    # replaced. An attached file is not shared, so a later publication in this process reads its own file.
    connection = duckdb.connect()
    try:
        escaped = str(path.absolute()).replace("'", "''")
        connection.execute(f"attach '{escaped}' as warehouse (read_only)")
        connection.execute("use warehouse")
    except duckdb.Error as error:
        connection.close()
        raise explain_unreadable(path, error) from error
    return connection


def load_edition(root: str | Path, edition_id: str, stage: str = "samples") -> "pl.DataFrame":
    """Return the rows of one stage of a complete edition, all relations together, read from its files.

    Stages and their columns are in `schemas/stages.py` and `schemas/question_stages.py`:

    - `triplets`: triplet_id, pair_id, relation, head, tail, head_id, tail_id, is_positive, split, …
    - `variants`: variant_id, triplet_id, relation, transformation, label, …
    - `statements`: variant_id, relation, text, …
    - `attempts`: the rewordings by a language model, with the gate's reasons
    - `samples`: sample_id, method, variant_id, triplet_id, pair_id, relation, split, transformation,
      sample_index, text, label, rephraser, status, attempts, reasons
    - `questions`: the questions about the heads

    Samples and triplets of the split `test` are tested; those of `demonstration` are shown in prompts.

    Raises:
        InputError: the edition is not complete, it has no rows of the stage, or a file cannot be read.
    """
    from pretexeval.storage.records import read_stage
    from schemas.stages import EDITION_STAGES

    stages = {each.name: each for each in EDITION_STAGES}
    if stage not in stages:
        raise InputError(f"an edition has no stage {stage!r}; it may have {', '.join(stages)}")
    rows = read_stage(Path(root), edition_id, stages[stage])
    if rows is None:
        raise InputError(f"edition {edition_id} has no {stage}")
    return rows


UNSURE_ROWS = """(
    select
        edition_id, models.name as model, samples.method, samples.relation, head, tail, is_positive,
        samples.pair_id, samples.triplet_id, samples.transformation, samples.text, samples.label,
        answers.* exclude (edition_id, kind)
    from (select * rename (item_id as sample_id) from answers where kind = 'unsure') as answers
    inner join samples using (edition_id, sample_id)
    inner join triplets using (edition_id, triplet_id)
    inner join models using (model_id)
)"""
# Rows with the text, the answer and its grade; the column that is chosen besides model and policy; the order.
SAMPLES = ("prediction_details", "method", "model, method, relation, pair_id, triplet_id, sample_id, repeat")
OF_UNSURE = (UNSURE_ROWS, *SAMPLES[1:])
QUESTIONS = ("facet_details", "setting", "model, relation, point_id, question_id, repeat")


def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = None,
    *,
    setting: str | None = None,
    method: str | None = None,
    scoring_policy: str = "strict",
) -> "pl.DataFrame":
    """Return one row per model, repeat and test sample or question: the text, the answer, and its grade.

    Of samples, the columns are those of the view `prediction_details`: model, method, relation, head, tail,
    is_positive, transformation, text, label, prediction, is_correct, response, reasoning, error, … Of
    questions, they are those of `facet_details`: model, setting, relation, head, facet, type, is_negated,
    text, options, answer, prediction, is_correct, repeat, repeat_answer, response, … All repeats of a
    question have its prediction and its grade. Of samples with a third answer, they are those of the sample,
    and answer (T, F, U or null), is_correct, response, … `is_correct` is null where the prompt failed, and
    where the scoring policy excludes the row.

    Args:
        model: the name of one model; None: all of them.
        setting: answer_only or chain_of_thought, for questions; true_false_unsure, for samples with the
            answer Unsure; None: samples with two answers.
        method: of samples: pretexeval, prototype, direct, llmeval or origin; None: all of them.
        scoring_policy: strict, coin-flip or excluded.

    Raises:
        InputError: there is no warehouse, or it has no such predictions; the message lists those that it has.
    """
    rows, column, order = {None: SAMPLES, UNSURE: OF_UNSURE}.get(setting, QUESTIONS)
    value = setting if column == "setting" else method
    chosen = {"edition_id": edition_id, "model": model, column: value, "scoring_policy": scoring_policy}
    names = ", ".join(chosen)
    where = " and ".join(f"(${name} is null or {name} = ${name})" for name in chosen)
    with open_warehouse(root) as connection:
        frame: pl.DataFrame = connection.sql(
            f"from {rows} where {where} order by {order}", params=chosen
        ).pl()
        if frame.is_empty():
            there = connection.execute(f"select distinct {names} from {rows} order by all").fetchall()
            asked = ", ".join(f"{name} = {value!r}" for name, value in chosen.items() if value is not None)
            listed = "".join(f"\n  {' | '.join(map(str, row))}" for row in there) or " none"
            raise InputError(
                f"the warehouse has no predictions with {asked}; it has ({names}):{listed}\n"
                "`pretexeval publish` loads what was evaluated since"
            )
    return frame


def ignore(_: str) -> None:
    """Report nothing."""


def run(
    config: str | Path | Config,
    report_step: Callable[[str], None] = ignore,
    *,
    models: Sequence[str] | None = None,
    limit: int | None = None,
) -> RunResult:
    """Build the edition, evaluate every model and publish, as `pretexeval run` does.

    Nothing is asked or built twice, so a second call returns at once. Without the variable PREFECT_API_URL,
    a Prefect server runs for as long as this process. vLLM starts processes of its own that import the main
    module again, so a script calls this function below `if __name__ == "__main__":`.

    Args:
        config: a TOML file, or its content as an object.
        report_step: receives a line about each step, such as `print`.
        models: the names of the models to evaluate, as `--model`; None: all of the configuration.
        limit: how many pairs of each relation to ask about, as `--limit`; None: all of them, or
            pairs_per_relation of the model.

    Raises:
        InputError: the configuration is not valid, the edition cannot be built, no model can be used or has
            such a name, a model was asked about more pairs than the limit, or publishing fails. A model that
            fails is in `failures` of the result.
    """
    if "prefect" in sys.modules and "PREFECT_API_URL" not in os.environ:
        raise InputError(
            "Prefect was imported before the first run, and reads its settings only then: call "
            "pretexeval.run before anything imports Prefect, or set PREFECT_API_URL to a server's address"
        )
    for warning in bypass_proxies():
        warnings.warn(warning, stacklevel=2)
    checked = config if isinstance(config, Config) else load_config(Path(config))
    checked = select_some(checked, models, limit, report_step)
    return run_all(checked, report_step)
