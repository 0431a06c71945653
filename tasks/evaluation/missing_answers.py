"""Ask a model the prompts of an evaluation that have no answer yet."""

from collections.abc import Set
from dataclasses import dataclass, replace

from engines.loading import load_engine
from storage.mirror import Mirror
from tasks.asking.chunks import PromptsByKey, pop_prompts
from tasks.asking.model_session import LoadEngine, ModelSession
from tasks.asking.progress import Advance
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, list_prompt_keys


@dataclass
class AskingReport:
    """Counts of the requests of an evaluation: asked, reused, failed."""

    n_samples: int = 0
    """Samples, or questions times repeats."""
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
    repeats = range(evaluation.subject.n_repeats)
    with ModelSession(evaluation.model, mirror, load) as session:
        settled = [evaluation.store.read_settled_keys(repeat) for repeat in repeats]
        keys = {key for ref in requests.files for key in requests.read_unanswered_keys(ref)}
        n_left = sum(len(keys - answered) for answered in settled)
        # These may be prompts that are refused for their content, as they were before. If all of them fail
        # again, the evaluation is still valid.
        session.accepts_refusal = n_left <= evaluation.max_error_rate * report.n_samples
        on_progress(report.n_samples - n_left)
        for repeat in repeats:
            _ask_repeat(evaluation, requests, repeat, settled[repeat], session, on_progress)
        session.write_model_record()
    report.n_asked = n_left
    report.n_reused = report.n_samples - n_left
    for repeat in repeats:
        failed = evaluation.store.read_failed_keys(repeat)
        failed_keys = [key for key in list_prompt_keys(evaluation, requests, repeat) if key in failed]
        report.n_errors += len(failed_keys)
        report.n_open += len(set(failed_keys) - evaluation.store.read_settled_keys(repeat))
    return report


def _ask_repeat(
    evaluation: Evaluation,
    requests: RequestFiles,
    repeat: int,
    settled: Set[str],
    session: ModelSession,
    on_progress: Advance,
) -> None:
    """Ask the prompts of which this repeat has no answer."""
    sampling = replace(evaluation.request_settings.sampling, repeat=repeat)
    waiting: PromptsByKey = {}
    for ref in requests.files:
        waiting |= {k: p for k, p in requests.read_prompts(ref).items() if k not in settled}
        while len(waiting) >= session.chunk_size:
            session.ask_and_store(pop_prompts(waiting, session.chunk_size), sampling, on_progress)
    session.ask(waiting, sampling, on_progress)
