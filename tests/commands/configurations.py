"""Configurations of a small base, with what a run would build and ask; nothing answers at their endpoint."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pretexeval.config.file import Config
from pretexeval.config.questions import Setting
from schemas.exchange import Completion
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.run_record import read_run
from tests.support.command import make_rows, write_base, write_config
from tests.support.evaluations import Scripted, ask_model, finish
from tests.support.small_bases import write_files

FAR: dict[str, Any] = {"name": "far", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
STARTER = {"name": "starter", "format": "starter", "relations": ["may_treat"]}
ROWS = make_rows("may_treat")


# Answers " True" to every prompt, in two tokens.
PARROT = Scripted(lambda *_: Completion(" True", n_prompt_tokens=10, n_completion_tokens=2))


def make_tables(folder: Path, rows: Iterable[Sequence[str]] = ROWS, **tables: Any) -> dict[str, Any]:  # noqa: ANN401
    """Write the base, and return tables of a configuration that has it unless they have another one."""
    return {"knowledge": write_base(folder / "own.tsv", rows)} | tables


def configure(folder: Path, rows: Iterable[Sequence[str]] = ROWS, **tables: Any) -> Config:  # noqa: ANN401
    """Return a configuration with results in `data`."""
    storage = {"root": str(folder / "data")}
    return Config.model_validate(make_tables(folder, rows, **tables) | {"storage": storage})


def write_configuration(folder: Path, rows: Iterable[Sequence[str]] = ROWS, **tables: Any) -> Path:  # noqa: ANN401
    """Write a configuration with results in `data`."""
    return write_config(folder / "c.toml", folder / "data", **make_tables(folder, rows, **tables))


def build(config: Config) -> str:
    """Build the edition without a language model; return its name."""
    edition = plan_edition(config)
    return complete_edition(edition, list(write_files(edition).values()), [])


def ask(config: Config, name: str = "far", setting: Setting | None = None, period: str | None = None) -> int:
    """Let a parrot answer in place of the model; return how many prompts it was asked."""
    evaluation = plan_evaluation(config, plan_edition(config).edition_id, name, setting, period)
    return ask_model(evaluation, PARROT.load).n_asked


def evaluate(config: Config, name: str) -> dict[str, Any]:
    """Let a parrot answer in place of the model and score its answers; return the record."""
    edition = plan_edition(config)
    if not edition.is_complete():
        build(config)
    evaluation = plan_evaluation(config, edition.edition_id, name)
    finish(evaluation, ask_model(evaluation, PARROT.load))
    record = read_run(evaluation)
    assert record is not None
    return record
