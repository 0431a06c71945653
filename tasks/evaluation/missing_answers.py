"""Ask a model the prompts of an evaluation that have no answer yet."""

from dataclasses import dataclass

from engines.loading import load_engine
from storage.mirror import Mirror
from tasks.asking.model_session import LoadEngine, ModelSession, PromptsByKey, pop_prompts
from tasks.asking.progress import Advance
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, list_prompt_keys


@dataclass
class AskingReport:
    """Counts of the prompts of an evaluation: asked, reused, failed."""

    n_samples: int = 0
    n_asked: int = 0
    """Prompts that this run asked."""
    n_reused: int = 0
    """Samples whose prompt was answered before, or is also the prompt of another sample."""
    n_errors: int = 0
    """Samples whose prompt has no response after the run."""
    n_open: int = 0
    """Failed prompts that the next run asks again. Prompts that are too long for the model do not count."""


def ask_missing(
    evaluation: Evaluation,
    requests: RequestFiles,
    mirror: Mirror,
    on_progress: Advance,
    load: LoadEngine = load_engine,
) -> AskingReport:
    """Ask the prompts of the requests that have no answer. The engine is loaded only if there are any.

    Prompts are read relation by relation, so that memory use is bounded.

    Raises:
        InputError: the model cannot be loaded or reached. The answers that it gave are kept.
    """
    report = AskingReport(n_samples=requests.n_samples)
    sampling = evaluation.request_settings.sampling
    with ModelSession(evaluation.model, mirror, load) as session:
        settled = evaluation.store.read_settled_keys()
        n_left = len({key for ref in requests.files for key in requests.read_unanswered_keys(ref) - settled})
        # These may be prompts that are refused for their content, as they were before. If all of them fail
        # again, the evaluation is still valid.
        session.accepts_refusal = n_left <= evaluation.max_error_rate * report.n_samples
        waiting: PromptsByKey = {}
        for ref in requests.files:
            fresh = {k: p for k, p in requests.read_prompts(ref).items() if k not in settled}
            waiting |= fresh
            report.n_asked += len(fresh)
            on_progress(ref.n_rows - len(fresh))
            while len(waiting) >= session.chunk_size:
                session.ask_and_store(pop_prompts(waiting, session.chunk_size), sampling, on_progress)
        session.ask(waiting, sampling, on_progress)
        session.write_model_record()
    report.n_reused = report.n_samples - report.n_asked
    failed = evaluation.store.read_failed_keys()
    keys = [key for key in list_prompt_keys(evaluation, requests) if key in failed]
    report.n_errors = len(keys)
    report.n_open = len(set(keys) - evaluation.store.read_settled_keys())
    return report
