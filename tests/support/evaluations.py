"""An evaluation without flows: its requests written, the model asked, the answers scored."""

from engines.load import load_engine
from schemas.exchange import Prompt
from storage.mirror import Mirror
from tasks.asking.asker import Load
from tasks.asking.progress import Advance
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import AskingReport, ask_missing
from tasks.evaluation.request_files import build_relations, write_requests
from tasks.evaluation.run_record import complete_run
from tasks.evaluation.scoring import score_evaluation


def ignore(_: int) -> None:
    """Show no progress."""


def ask_model(
    evaluation: Evaluation, load: Load = load_engine, on_progress: Advance = ignore
) -> AskingReport:
    """Write the requests of an evaluation and ask the prompts that have no answer."""
    requests, mirror = write_requests(evaluation), Mirror(evaluation.storage)
    return ask_missing(evaluation, requests, mirror, on_progress, load)


def finish(evaluation: Evaluation, report: AskingReport) -> None:
    """Score the answers and write the record of the evaluation."""
    requests = write_requests(evaluation)
    complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, 1.0)


def list_prompts(evaluation: Evaluation) -> list[Prompt]:
    """Return the prompt of every sample."""
    return [prompt for _, requests in build_relations(evaluation) for prompt in requests.prompts]


def list_keys(evaluation: Evaluation) -> list[str]:
    """Return the prompt key of every sample."""
    return [key for _, requests in build_relations(evaluation) for key in requests.frame["prompt_key"]]
