"""Score stored answers: write the predictions of one evaluation under every configured policy."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from pathlib import Path

import polars as pl

from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef, link_file, read_stage_file, write_stage_file
from pretexeval.storage.layout import evaluation_file, next_requests_folder, run_file
from pretexeval.storage.records import key_content, read_reports
from pretexeval.storage.responses import prefer_responses, scan_response_files
from schemas.stages import PREDICTIONS, READINGS, REQUESTS, RESPONSES
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.judged_answers import find_needed_items, read_stored_answers, score_file
from tasks.evaluation.request_files import RequestFiles, check_files, scan_requests, write_requests
from tasks.evaluation.run_record import (
    ScoredFiles,
    complete_run,
    list_policies,
    remove_run,
    require_finished,
)
from tasks.quality.validation import Report, validate_parts, write_down

RESULTS = (READINGS, PREDICTIONS)
# Requests whose responses are in memory at a time, with what is read of them: about 1 kB each.
N_SCORED = 500_000


def check_requests(evaluation: Evaluation, requests: RequestFiles, known: Iterable[Report]) -> Report:
    """Return the report of the requests; raises as `validate_parts` does.

    Args:
        known: reports of the last record of the evaluation.
    """
    content = key_content(REQUESTS.name, [ref.sha256 for ref in requests.files])
    return _find(known, content) or check_files(evaluation, REQUESTS, requests.files)


def check_responses(evaluation: Evaluation, requests: RequestFiles, known: Iterable[Report]) -> Report:
    """Return the report of the stored responses to the requests; raises as `validate_parts` does.

    Args:
        known: reports of the last record of the evaluation.
    """
    names = [path.name for path in evaluation.store.list_files()]
    content = key_content(RESPONSES.name, [*(ref.sha256 for ref in requests.files), *names])
    if known_report := _find(known, content):
        return known_report
    parts = (_read_shortened(evaluation, files) for files in _divide(requests))
    report = validate_parts(RESPONSES, parts if names else [RESPONSES.empty], evaluation.folder)
    return write_down(report) | {"content": content}


def _find(known: Iterable[Report], content: str) -> Report | None:
    return next((report for report in known if report.get("content") == content), None)


def _divide(requests: RequestFiles) -> Iterator[list[FileRef]]:
    """Yield lists of files that have about as many requests as each other, and at most about N_SCORED."""
    n_parts = -(-requests.n_samples // N_SCORED)
    ends = accumulate(ref.n_rows for ref in requests.files)
    numbers = ((end - 1) * n_parts // requests.n_samples for end in ends)
    for _, group in groupby(zip(numbers, requests.files, strict=True), key=lambda pair: pair[0]):
        yield [ref for _, ref in group]


def _read_shortened(evaluation: Evaluation, requests: Sequence[FileRef]) -> pl.DataFrame:
    """Return the responses to the requests of files, with the first character alone of long texts.

    That character tells whether there is a text. All texts can take gigabytes.
    """
    short = pl.col("prompt", "response", "reasoning").str.head(1)
    keys = scan_requests(evaluation, requests).select("prompt_key").unique()
    stored = scan_response_files(evaluation.store.list_files())
    rows = stored.join(keys, on="prompt_key", how="semi", maintain_order="left")
    return prefer_responses(rows.with_columns(short).collect(engine="streaming"))


def score_evaluation(evaluation: Evaluation, requests: RequestFiles) -> ScoredFiles:
    """Write the predictions under every policy that is configured or was used before, file by file.

    Raises:
        InputError: a prompt was never asked; or the requests, the stored responses or what is made of
            them does not meet the expectations of its stage. The stored responses are kept.
    """
    root, folder = evaluation.root, evaluation.folder
    known = [*requests.checks, *read_reports(root / run_file(folder))]
    checks = [check(evaluation, requests, known) for check in (check_requests, check_responses)]
    policies = list_policies(evaluation)
    # Files of the last evaluation stay readable until all new ones are checked.
    pending, new = next_requests_folder(folder), {stage: list[FileRef]() for stage in RESULTS}
    needed = find_needed_items(evaluation, requests) if evaluation.asks_enough else None
    for name, frames in _score_files(evaluation, requests, policies, needed):
        for stage, frame in zip(RESULTS, frames, strict=True):
            path = evaluation_file(pending, stage.name, name)
            new[stage].append(write_stage_file(root, path, frame, stage))
    checks += [check_files(evaluation, stage, refs) for stage, refs in new.items()]
    remove_run(evaluation)
    placed = {REQUESTS: requests.files, **new}
    files = [
        link_file(root, ref, evaluation_file(folder, stage.name, Path(ref.path).name))
        for stage, refs in placed.items()
        for ref in refs
    ]
    return ScoredFiles(tuple(files), policies, tuple(checks))


def _score_files(
    evaluation: Evaluation, requests: RequestFiles, policies: tuple[str, ...], needed: pl.DataFrame | None
) -> Iterator[tuple[str, tuple[pl.DataFrame, ...]]]:
    """Yield (file name, readings and predictions) of each file of requests.

    Args:
        needed: the item_id of the items that are scored; None: all.
    """
    row_files = {Path(path).name: ref for path, ref in evaluation.row_files().items()}
    kind = evaluation.subject.kind
    for files in _divide(requests):
        keys = scan_requests(evaluation, files).select("prompt_key").unique()
        answers = read_stored_answers(evaluation, keys)
        for ref in files:
            name, frame = Path(ref.path).name, read_stage_file(evaluation.root / ref.path, REQUESTS)
            if needed is not None:
                frame = frame.join(needed, on="item_id", how="semi", maintain_order="left")
            missing = frame.join(answers, on=["prompt_key", "repeat"], how="anti")["prompt_key"].n_unique()
            if missing:
                raise InputError(
                    f"{evaluation.model_id} was never asked {missing} prompts of {name} in "
                    f"{evaluation.edition_id}; run `pretexeval evaluate` again"
                )
            items = kind.read_items(read_stage_file(evaluation.root / row_files[name].path, kind.stage))
            yield name, score_file(evaluation, frame, items, answers, policies)


def score_finished(evaluation: Evaluation) -> None:
    """Score the answers of a finished evaluation, for a caller that holds its lock.

    Raises:
        InputError: the evaluation was never finished, or answers are missing.
    """
    report, duration_s = require_finished(evaluation)
    requests = write_requests(evaluation)
    complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, duration_s)
