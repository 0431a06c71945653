"""Score stored answers: write the predictions of one evaluation under every configured policy."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import link_file, read_stage_file, write_stage_file
from pretexeval.storage.layout import evaluation_file, run_file
from pretexeval.storage.records import key_content, read_reports
from pretexeval.storage.responses import ResponseStore, prefer_responses, scan_response_files
from schemas.columns import Stage
from schemas.stages import PREDICTIONS, READINGS, REQUESTS, RESPONSES
from tasks.evaluation.evaluation import Evaluation, hold_evaluation
from tasks.evaluation.judged_answers import find_needed_items, read_stored_answers, score_file
from tasks.evaluation.predictions import Scoring
from tasks.evaluation.request_files import RequestFiles, scan_requests, write_requests
from tasks.evaluation.run_record import (
    ScoredFiles,
    complete_run,
    is_complete,
    list_policies,
    remove_run,
    require_finished,
)
from tasks.quality.validation import Report, check_stage

RESULTS = (READINGS, PREDICTIONS)
LONG_TEXTS = ("prompt", "response", "reasoning")


def check_requests(evaluation: Evaluation, requests: RequestFiles, known: Iterable[Report]) -> Report:
    """Return the report of the requests; raises as `check_stage` does.

    Args:
        known: reports of the last record of the evaluation.
    """
    return _find_or_check(
        evaluation,
        REQUESTS,
        [ref.sha256 for ref in requests.files],
        lambda: scan_requests(evaluation, requests).collect(),
        known,
    )


def check_responses(evaluation: Evaluation, requests: RequestFiles, known: Iterable[Report]) -> Report:
    """Return the report of the stored responses to the requests; raises as `check_stage` does.

    Args:
        known: reports of the last record of the evaluation.
    """
    names = [path.name for path in evaluation.store.list_files()]
    return _find_or_check(
        evaluation,
        RESPONSES,
        [*(ref.sha256 for ref in requests.files), *names],
        lambda: _read_shortened(evaluation.store, scan_requests(evaluation, requests)),
        known,
    )


def _read_shortened(store: ResponseStore, requests: pl.LazyFrame) -> pl.DataFrame:
    """Return the responses to these requests, with the first character alone of long texts.

    That character tells whether there is a text. All texts can take gigabytes.
    """
    short = pl.col(*LONG_TEXTS).str.head(1)
    files = store.list_files()
    if not files:
        return RESPONSES.empty
    keys = requests.select("prompt_key").unique()
    rows = scan_response_files(files).join(keys, on="prompt_key", how="semi", maintain_order="left")
    return prefer_responses(rows.with_columns(short).collect(engine="streaming"))


def _find_or_check(
    evaluation: Evaluation,
    stage: Stage,
    made_of: list[str],
    read_rows: Callable[[], pl.DataFrame],
    known: Iterable[Report],
) -> Report:
    content = key_content(stage.name, made_of)
    known_report = next((report for report in known if report.get("content") == content), None)
    return known_report or {**check_stage(stage, read_rows(), evaluation.folder), "content": content}


def score_evaluation(evaluation: Evaluation, requests: RequestFiles) -> ScoredFiles:
    """Write the predictions under every policy that is configured or was used before, file by file.

    Raises:
        InputError: a prompt was never asked; or the requests, the stored responses or what is made of
            them does not meet the expectations of its stage. The stored responses are kept.
    """
    root, folder = evaluation.root, evaluation.folder
    known = [*requests.checks, *read_reports(root / run_file(folder))]
    checks = [check(evaluation, requests, known) for check in (check_requests, check_responses)]
    scoring = replace(evaluation.scoring, policies=list_policies(evaluation))
    needed = find_needed_items(evaluation, requests) if evaluation.asks_enough else None
    scored = list(score_relations(evaluation, requests, scoring, needed))
    for k, stage in enumerate(RESULTS):
        checks.append(check_stage(stage, pl.concat(frames[k] for _, frames in scored), folder))
    remove_run(evaluation)
    files = [
        link_file(root, ref, evaluation_file(folder, REQUESTS.name, Path(ref.path).name))
        for ref in requests.files
    ]
    files += [
        write_stage_file(root, evaluation_file(folder, stage.name, name), frames[k], stage)
        for k, stage in enumerate(RESULTS)
        for name, frames in scored
    ]
    return ScoredFiles(tuple(files), scoring.policies, tuple(checks))


def score_relations(
    evaluation: Evaluation, requests: RequestFiles, scoring: Scoring, needed: pl.DataFrame | None = None
) -> Iterator[tuple[str, tuple[pl.DataFrame, ...]]]:
    """Yield (file name, readings and predictions) of each file of requests."""
    asked = scan_requests(evaluation, requests).select("prompt_key").unique().collect()
    answers = read_stored_answers(evaluation, asked, scoring)
    row_files = {Path(path).name: ref for path, ref in evaluation.row_files().items()}
    for ref in requests.files:
        name, frame = Path(ref.path).name, read_stage_file(evaluation.root / ref.path, REQUESTS)
        if needed is not None:
            frame = frame.join(needed, on="item_id", how="semi", maintain_order="left")
        missing = frame.join(answers, on=["prompt_key", "repeat"], how="anti")["prompt_key"].n_unique()
        if missing:
            raise InputError(
                f"{evaluation.model_id} was never asked {missing} prompts of {name} in "
                f"{evaluation.edition_id}; run `pretexeval evaluate` again"
            )
        yield name, score_file(evaluation, frame, row_files[name], answers, scoring)


def score_again(evaluation: Evaluation) -> None:
    """Score the answers of a finished evaluation again, under other policies or answer words; ask no model.

    Nothing is done if the scores are up to date.

    Raises:
        InputError: the evaluation was never finished, or answers are missing.
    """
    with hold_evaluation(evaluation):
        if not is_complete(evaluation):
            score_finished(evaluation)


def score_finished(evaluation: Evaluation) -> None:
    """Score a finished evaluation again, for a caller that holds its lock. Raises as `score_again` does."""
    report, duration_s = require_finished(evaluation)
    requests = write_requests(evaluation)
    complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, duration_s)
