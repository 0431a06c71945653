"""An evaluation without flows, and engines for it: write the requests, ask the model, score the answers."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine, Receive
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.model_session import Advance, LoadEngine, ModelSession
from tasks.evaluation.evaluation import Evaluation, hold_evaluation, plan_evaluation
from tasks.evaluation.failures import record_failure, require_evaluated
from tasks.evaluation.missing_answers import AskingReport, ask_missing
from tasks.evaluation.request_files import build_file_requests, write_requests
from tasks.evaluation.run_record import complete_run, is_complete
from tasks.evaluation.scoring import score_evaluation

ANSWERS = (" True", " False", " A", " B")


class Scripted(Engine):
    """An engine that answers every prompt by a function of the prompt and the sampling parameters."""

    def __init__(self, reply: Callable[[str, Sampling], str | Completion] = lambda *_: " True") -> None:
        self.reply = reply
        self.asked: list[tuple[str, Sampling]] = []

    def answer(
        self, prompts: Iterable[Prompt], sampling: Sampling, receive: Receive, on_tick: Callable[[], None]
    ) -> None:
        for position, prompt in enumerate(prompts):
            self.asked.append((prompt.text, sampling))
            said = self.reply(prompt.text, sampling)
            receive(position, said if isinstance(said, Completion) else Completion(said, "ok"))
            on_tick()

    def close(self) -> None:
        """Close nothing."""

    def load(self, _: object) -> Engine:
        return self


class CountingEngine(Scripted):
    """Answers every prompt by its hash, and counts the prompts."""

    def __init__(self) -> None:
        super().__init__(lambda text, _: Completion(draw_order(ANSWERS, text)[0], finish_reason="stop"))

    @property
    def n_asked(self) -> int:
        return len(self.asked)


def ignore(_: int) -> None:
    """Show no progress."""


def ask_in_session(
    config: ModelConfig, root: Path, prompts: Mapping[str, Prompt], on_progress: Advance = ignore
) -> tuple[ResponseStore, str | None]:
    """Ask what has no answer under the root, as a run does; return the answers and why it ended early."""
    error = None
    with ModelSession(config, Store(StorageConfig(root=root))) as session:
        settled = session.store.read_settled_keys()
        waiting = {key: prompt for key, prompt in prompts.items() if key not in settled}
        try:
            session.ask(waiting.items(), Sampling(logprobs=True), on_progress)
        except InputError as raised:
            error = str(raised)
    return session.store, error


def ask_model(
    evaluation: Evaluation, load: LoadEngine = load_engine, on_progress: Advance = ignore
) -> AskingReport:
    """Write the requests of an evaluation and ask the prompts that have no answer."""
    requests, store = write_requests(evaluation), Store(evaluation.storage)
    return ask_missing(evaluation, requests, store, on_progress, load)


def finish(evaluation: Evaluation, report: AskingReport) -> None:
    """Score the answers and write the record of the evaluation."""
    requests = write_requests(evaluation)
    complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, 1.0)


def evaluate(
    config: Config,
    edition_id: str,
    name: str,
    setting: Setting | None = None,
    load: LoadEngine = load_engine,
) -> str | None:
    """Evaluate a model as the flow evaluate-model does; return why that failed, or None."""
    store = Store(config.storage)
    try:
        with record_failure(store, config, edition_id, name, setting):
            evaluation = plan_evaluation(config, edition_id, name, setting)
            with hold_evaluation(evaluation):
                if not is_complete(evaluation):
                    finish(evaluation, ask_model(evaluation, load))
            require_evaluated(evaluation)
    except InputError as error:
        return str(error)
    return None


def list_prompts(evaluation: Evaluation) -> list[Prompt]:
    """Return the prompt of every sample."""
    return [prompt for _, requests in build_file_requests(evaluation) for prompt in requests.prompts]


def list_keys(evaluation: Evaluation) -> list[str]:
    """Return the prompt key of every sample."""
    frames = (requests.frame for _, requests in build_file_requests(evaluation))
    return [key for frame in frames for key in frame["prompt_key"]]
