"""A complete edition, models with recorded answers that are asked about it, and a scripted engine."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from schemas.exchange import Completion, Prompt, Sampling
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import Evaluation
from tests.support.command import write_base
from tests.support.evaluations import list_prompts
from tests.support.small_bases import build_edition, make_base, make_edition, make_facts, write_files

Record = Callable[..., Evaluation]


class Scripted(Engine):
    """An engine that answers every prompt by a function of the prompt and the sampling parameters."""

    def __init__(self, answer: Callable[[str, Sampling], str | Completion] = lambda *_: " True") -> None:
        self.answer = answer
        self.asked: list[tuple[str, Sampling]] = []

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: object = None
    ) -> list[Completion]:
        self.asked += [(prompt.text, sampling) for prompt in prompts]
        answers = [self.answer(prompt.text, sampling) for prompt in prompts]
        return [each if isinstance(each, Completion) else Completion(each, "ok") for each in answers]

    def close(self) -> None:
        """Close nothing."""

    def load(self, _: object) -> Engine:
        return self


def build_questions(folder: Path, setting: Setting, **tables: object) -> tuple[Config, str]:
    """Build an edition with samples and questions, and return its configuration and its name."""
    pairs = [(f"condition {i}", f"drug {(i + k) % 17}") for i in range(24) for k in range(1 + i % 4)]
    base = write_base(folder / "base.tsv", [(head, "therapeutic_drugs", tail) for head, tail in pairs])
    config = Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": base},
            "edition": {"methods": ["direct"]},
            "questions": {"settings": [setting]},
            "storage": {"root": folder / "data"},
            **tables,
        }
    )
    edition = plan_edition(config)
    build_edition(edition)
    return config, edition.edition_id


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The root and the name of a complete edition of two relations; every test gets a copy."""
    root = tmp_path_factory.mktemp("built")
    edition = make_edition(root, make_base(r=make_facts(12, 4), s=make_facts(9, 3)))
    return root, complete_edition(edition, list(write_files(edition).values()), [])


@pytest.fixture
def record(tmp_path: Path, built: tuple[Path, str]) -> Record:
    """Return a function that makes an evaluation of a model with recorded answers; None: the prompt fails."""
    root, edition_id = built
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    storage = StorageConfig(root=tmp_path)

    def write(
        name: str, answer: Callable[[str], str | None] = lambda _: " True", **table: object
    ) -> Evaluation:
        recording = tmp_path / f"{name}.parquet"
        pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
        table |= {"name": name, "engine": "recorded", "model": str(recording)}
        model = ModelConfig.model_validate(table)
        texts = [prompt.text for prompt in list_prompts(Evaluation(storage, edition_id, model))]
        frame = pl.DataFrame({"prompt": texts, "response": list(map(answer, texts))})
        frame.drop_nulls().write_parquet(recording)
        return Evaluation(storage, edition_id, model)

    return write


@pytest.fixture
def evaluation(record: Record) -> Evaluation:
    """Return an evaluation of a model that answers True to every prompt."""
    return record("yes")
