"""Read and score the stored answers of a complete evaluation again, and compare the result with its files."""

from dataclasses import replace
from pathlib import Path

from primitives.errors import InputError
from storage.comparison import is_same_file
from storage.layout import evaluation_file
from storage.records import read_files
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, select_requests
from tasks.evaluation.run_record import read_run
from tasks.evaluation.scoring import score_relations


def refresh_results(evaluation: Evaluation, name: str) -> tuple[int, list[str]]:
    """Return how many files a stage of results has, and the paths of those that differ from what is stored.

    No model is asked, and nothing is written.

    Raises:
        InputError: the evaluation is not complete, or answers are missing.
    """
    record = read_run(evaluation)
    if not record:
        raise InputError(f"{evaluation.folder} is not complete; run `pretexeval evaluate`")
    stored = {ref.path: ref for ref in read_files(record, evaluation.folder)}
    requests = RequestFiles("", select_requests(evaluation, stored.values()), None)
    place = [stage.name for stage in evaluation.subject.results].index(name)
    scoring = replace(evaluation.scoring, policies=tuple(record["scoring_policies"]))
    stage, n_files, different = evaluation.subject.results[place], 0, []
    for file, frames in score_relations(evaluation, requests, scoring):
        path = evaluation_file(evaluation.folder, name, Path(file).name)
        n_files += 1
        if not is_same_file(frames[place], stage, stored.get(path)):
            different.append(path)
    return n_files, different
