"""Asking a model every prompt of an evaluation that has no answer yet."""

from dataclasses import dataclass

from engines.load import load_engine
from storage.mirror import Mirror
from tasks.asking.asker import Asker, Load, Pending, take_chunk
from tasks.asking.progress import Advance
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, read_keys


@dataclass
class AskingReport:
    """What became of the prompts of an evaluation."""

    n_samples: int = 0
    n_asked: int = 0
    """Prompts put to the model by this run."""
    n_reused: int = 0
    """Samples whose prompt had its answer already, or shares it with another sample."""
    n_errors: int = 0
    """Prompts that have no answer in the end."""
    n_open: int = 0
    """Those of them that the next run asks again; a prompt too long for the model is not one."""


def ask_missing(
    evaluation: Evaluation,
    requests: RequestFiles,
    mirror: Mirror,
    on_progress: Advance,
    load: Load = load_engine,
) -> AskingReport:
    """Ask every prompt of the requests that has no answer; the engine is loaded only if there is one.

    Prompts are read relation by relation, so that memory is bounded.

    Raises:
        InputError: if the model cannot be loaded or reached. The answers that it gave are kept.
    """
    report = AskingReport(n_samples=requests.n_samples)
    sampling = evaluation.asking.sampling
    with Asker(evaluation.model, mirror, load) as asker:
        settled = evaluation.store.read_settled_keys()
        waiting: Pending = {}
        for ref in requests.files:
            fresh = {k: p for k, p in requests.read_prompts(ref).items() if k not in settled}
            waiting |= fresh
            report.n_asked += len(fresh)
            on_progress(ref.n_rows - len(fresh))
            while len(waiting) >= asker.size:
                asker.ask_chunk(take_chunk(waiting, asker.size), sampling, on_progress)
        asker.ask(waiting, sampling, on_progress)
        asker.write_model()
    report.n_reused = report.n_samples - report.n_asked
    failed = evaluation.store.read_failed_keys() & read_keys(evaluation, requests)
    report.n_errors = len(failed)
    report.n_open = len(failed - evaluation.store.read_settled_keys())
    return report
