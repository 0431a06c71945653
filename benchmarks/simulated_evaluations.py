"""Evaluations of many models with simulated answers, so that every file is what a real run writes.

The requests, the stored answers, the predictions and the records come from the pipeline's own functions. Only
the engine is simulated: it draws the answers of a model from its knowledge of the heads.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.processes import run_python
from config.file import load_config
from primitives.toml_files import write_toml
from schemas.exchange import Completion, Prompt, Sampling
from storage.layout import edition_folder, run_file
from storage.mirror import Mirror
from tasks.evaluation.evaluation import Evaluation, hold_evaluation, plan_evaluation
from tasks.evaluation.missing_answers import ask_missing
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import complete_run
from tasks.evaluation.scoring import score_evaluation
from tasks.quality.measurements import measure_edition

CONFIG = Path("configs/medlama.toml")
N_MODELS = 12
# A prompt of the simulated engine ends like tasks.asking.prompts.QUESTION.
OPENING, CLOSING = 'Statement: "', '", is the statement above true or false?'
NO_ANSWERS = (" I am not sure.", " It depends on the patient.", "")
NO_ANSWER_SHARE, ERROR_SHARE = 0.02, 0.0005


@dataclass(frozen=True)
class Statement:
    """What the engine knows about a text: who it is about, and whether it is true."""

    head: str
    label: bool


@dataclass(frozen=True)
class SimulatedEngine:
    """Answers statements about known heads right, and others with a coin that prefers True.

    A few prompts get no usable answer, and a few an error.
    """

    name: str
    known_share: float
    statements: dict[str, Statement]

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order; the same prompt always has the same answer."""
        completions = [self._answer(prompt.text) for prompt in prompts]
        if on_progress:
            on_progress(len(prompts))
        return completions

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _answer(self, prompt: str) -> Completion:
        text = prompt.rpartition(OPENING)[2].partition(CLOSING)[0]
        statement = self.statements[text]
        draw = random.Random(f"{self.name} {text}")
        if draw.random() < ERROR_SHARE:
            return Completion(None, status="error", error="HTTP 500: the server is overloaded")
        is_known = random.Random(f"{self.name} {statement.head}").random() < self.known_share
        is_right = draw.random() < (0.98 if is_known else 0.5)
        says_true = statement.label == is_right if is_known else draw.random() < 0.6
        likelier, other = -draw.random() / 2, -1 - 6 * draw.random()
        has_answer = draw.random() > NO_ANSWER_SHARE
        return Completion(
            f" {says_true}" if has_answer else draw.choice(NO_ANSWERS),
            finish_reason="stop",
            n_prompt_tokens=len(prompt) // 4,
            n_completion_tokens=2 if has_answer else 7,
            logprob_true=round(likelier if says_true else other, 6),
            logprob_false=round(other if says_true else likelier, 6),
        )


def write_evaluations(root: Path, n_models: int = N_MODELS) -> None:
    """Build the edition of `configs/medlama.toml` under the root, and evaluate the models on it.

    What exists is kept, so that an interrupted call can be repeated.
    """
    root.mkdir(parents=True, exist_ok=True)
    path = root / "config.toml"
    _write_config(path, root, n_models)
    run_python(["-m", "cli", "build", str(path)], root)
    (edition,) = (root / edition_folder("")).glob("medlama-*")
    measure_edition(root, edition.name)
    statements = _read_statements(edition)
    config = load_config(path)
    for number, model in enumerate(config.models):
        evaluation = plan_evaluation(config, edition.name, model.name)
        engine = SimulatedEngine(model.name, (number + 1) / (n_models + 2), statements)
        if not (root / run_file(evaluation.folder)).is_file():
            _evaluate(evaluation, engine)


def _evaluate(evaluation: Evaluation, engine: SimulatedEngine) -> None:
    with hold_evaluation(evaluation):
        requests = write_requests(evaluation)
        mirror = Mirror(evaluation.storage)
        report = ask_missing(evaluation, requests, mirror, lambda _: None, lambda _: engine)
        complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, duration_s=60.0)


def _write_config(path: Path, root: Path, n_models: int) -> None:
    """Write the configuration, and one recording per model: its checksum is the identity of the model."""
    names = [f"simulated-{number:02}" for number in range(1, n_models + 1)]
    text = CONFIG.read_text(encoding="utf-8").split("[[models]]")[0]
    models = []
    for name in names:
        recording = root / "recordings" / f"{name}.parquet"
        recording.parent.mkdir(exist_ok=True)
        pl.DataFrame({"prompt": [name], "response": ["answers come from the benchmark"]}).write_parquet(
            recording
        )
        models.append({"name": name, "engine": "recorded", "model": str(recording)})
    write_toml(path, {"storage": {"root": str(root)}, "models": models})
    path.write_text(text + path.read_text(encoding="utf-8"), encoding="utf-8")


def _read_statements(edition: Path) -> dict[str, Statement]:
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").select("triplet_id", "head")
    samples = pl.read_parquet(edition / "samples" / "*.parquet").join(triplets, on="triplet_id")
    return {
        text: Statement(head, label) for text, head, label in samples.select("text", "head", "label").rows()
    }


def count_parquet_bytes(root: Path) -> int:
    """Return the bytes of all Parquet files under the root; a file with several names counts once."""
    stats = [os.stat(path) for path in root.rglob("*.parquet")]
    return sum({stat.st_ino: stat.st_size for stat in stats}.values())
