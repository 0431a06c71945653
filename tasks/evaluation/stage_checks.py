"""The validation of the stages of an evaluation. The reports are in the record of the evaluation.

A report is used again as long as the rows are the same, because Great Expectations takes seconds.
"""

from collections.abc import Callable, Iterable, Set

import polars as pl

from schemas.columns import Stage
from schemas.stages import RESPONSES
from storage.files import read_stage_files
from storage.manifests import key_content
from storage.responses import ResponseStore, prefer_responses, read_response_file
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, list_prompt_keys
from tasks.quality.validation import check_stage
from tasks.quality.validation_report import Report

LONG_TEXTS = ("prompt", "response", "reasoning")


def check_requests(evaluation: Evaluation, requests: RequestFiles, known: Iterable[Report]) -> Report:
    """Return the report of the requests; raises as `check_stage` does.

    Args:
        known: reports of the last record of the evaluation.
    """
    stage = evaluation.subject.requests
    return _find_or_check(
        evaluation,
        stage,
        [ref.sha256 for ref in requests.files],
        lambda: read_stage_files(evaluation.root, list(requests.files), stage),
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
        lambda: _read_shortened(evaluation.store, set(list_prompt_keys(evaluation, requests))),
        known,
    )


def _read_shortened(store: ResponseStore, keys: Set[str]) -> pl.DataFrame:
    """Return the responses to these prompts, with the first character alone of long texts.

    That character tells whether there is a text. All texts can take gigabytes.
    """
    short = pl.col(*LONG_TEXTS).str.head(1)
    rows = (
        read_response_file(file, RESPONSES.names).filter(pl.col("prompt_key").is_in(keys)).with_columns(short)
        for file in store.list_files()
    )
    return prefer_responses([pl.DataFrame(RESPONSES.schema.empty_table()), *rows])


def _find_or_check(
    evaluation: Evaluation,
    stage: Stage,
    made_of: list[str],
    read_rows: Callable[[], pl.DataFrame],
    known: Iterable[Report],
) -> Report:
    content = key_content(stage.name, made_of)
    found = next((report for report in known if report.get("content") == content), None)
    return found or {**check_stage(stage, read_rows(), evaluation.folder), "content": content}
