from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.preflight.estimates import Estimate
from commands.preflight.plan import plan_run
from commands.preflight.speed import Span
from pretexeval.config.file import Config
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion
from tasks.asking.writers import WriterPrompt
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.judging.writer_errors import read_panel
from tests.support.command import make_rows, write_base

WRITER = {"name": "pen", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
N_STATEMENTS = 14 * 2 * 8


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_base(tmp_path / "own.tsv", make_rows("may_treat"))


def configure(base: Path, **tables: Any) -> Config:  # noqa: ANN401
    given: dict[str, Any] = {
        "knowledge": {"name": "own", "format": "table", "path": base},
        "edition": {"negatives": "uniform"},
        "rephraser": {"kind": "model", "writer": "pen", "max_attempts": 3, "max_tokens": 40},
        "writers": [WRITER],
        "storage": {"root": base.parent / "data"},
    }
    return Config.model_validate(given | tables)


def estimate(config: Config) -> dict[str, Estimate]:
    return {e.part: e for e in plan_run(config, Store(config.storage)).estimates}


def draft_frames(edition: Edition) -> dict[str, pl.DataFrame]:
    frames: dict[str, pl.DataFrame] = {}
    for stage in ("triplets", "variants", "statements"):
        frames[stage] = RECIPES[stage].build(edition, "may_treat", frames)
    return frames


def reply(config: Config, asks: list[WriterPrompt], n_tokens: int) -> None:
    """Store a reply with this number of tokens to each prompt."""
    edition = plan_edition(config)
    assert edition.rephraser is not None
    store = ResponseStore(edition.root, edition.rephraser.writer.model_id)
    completions = [Completion("Text.", n_prompt_tokens=5, n_completion_tokens=n_tokens) for _ in asks]
    store.append([ask.key for ask in asks], [ask.prompt for ask in asks], completions)


def test_a_rephraser_that_never_wrote_may_need_every_attempt(base: Path) -> None:
    config = configure(base, edition={"negatives": "uniform", "methods": ["pretexeval", "prototype"]})
    rephraser = estimate(config)["rephraser"]
    assert rephraser.n_to_ask == Span(N_STATEMENTS, 3 * N_STATEMENTS)
    assert rephraser.n_completion_tokens == Span(N_STATEMENTS, 3 * N_STATEMENTS * 40)
    assert rephraser.duration_s == rephraser.n_to_ask * Span(0.5, 3) * (1 / 32)
    assert not (base.parent / "data").exists()


def test_first_attempts_that_were_answered_are_not_asked_again(base: Path) -> None:
    config = configure(base)
    edition = plan_edition(config)
    assert edition.rephraser is not None
    rows = draft_frames(edition)["statements"].select("statement", "split").rows()
    first = [edition.rephraser.build_prompt(statement, 1, split) for statement, split in rows]
    second = [edition.rephraser.build_prompt(statement, 2, split) for statement, split in rows[:10]]
    reply(config, first + second, 12)
    rephraser = estimate(config)["rephraser"]
    assert rephraser.n_answered == N_STATEMENTS + 10
    assert rephraser.n_to_ask == Span(0, 2 * N_STATEMENTS - 10)
    assert rephraser.n_completion_tokens.high == pytest.approx(rephraser.n_to_ask.high * 12)


def test_the_panel_of_a_writer_is_asked_once_and_only_if_it_decides(base: Path) -> None:
    config = configure(base)
    rephraser, n = plan_edition(config).rephraser, read_panel().height
    assert rephraser is not None
    assert estimate(config)["panel"].n_to_ask == Span.of(n)
    reply(config, rephraser.build_panel_prompts()[:10], 12)
    assert estimate(config)["panel"].n_to_ask == Span.of(n - 10)
    free = {"kind": "model", "writer": "pen", "max_new_words": "free"}
    assert "panel" not in estimate(configure(base, rephraser=free))


def test_a_judge_is_asked_both_ways_round(base: Path) -> None:
    judge = estimate(configure(base, judge={"writer": "pen"}))["judge"]
    assert judge.n_to_ask == Span(0, 6 * N_STATEMENTS)
    assert judge.n_prompt_tokens.high > 0


def test_pairs_of_an_entailment_model_generate_no_tokens(base: Path) -> None:
    judge = estimate(configure(base, judge={"model": "org/nli"}))["judge"]
    assert judge.n_to_ask == Span(0, 6 * N_STATEMENTS)
    assert judge.n_completion_tokens == Span.of(0)
    assert "no tokens are generated" in judge.notes


def test_llmeval_is_asked_once_per_triplet_and_its_lengths_are_its_own(base: Path) -> None:
    config = configure(
        base,
        edition={"negatives": "uniform", "methods": ["pretexeval", "llmeval"]},
        llmeval={"writer": "pen"},
    )
    edition = plan_edition(config)
    assert edition.rephraser is not None
    assert edition.llmeval is not None
    frames = draft_frames(edition)
    reply(config, edition.llmeval.build_prompts(frames["triplets"])[:8], 200)
    statement, split = frames["statements"].select("statement", "split").row(0)
    reply(config, [edition.rephraser.build_prompt(statement, 1, split)], 20)
    parts = estimate(config)
    assert parts["llmeval"].n_prompts == Span.of(28)
    assert parts["llmeval"].n_to_ask == Span.of(20)
    assert parts["llmeval"].n_completion_tokens == Span.of(20 * 200)
    assert parts["rephraser"].n_completion_tokens.high == parts["rephraser"].n_to_ask.high * 20


def test_texts_that_are_not_written_yet_are_asked_whatever_was_answered(base: Path) -> None:
    config = configure(
        base,
        edition={"negatives": "uniform", "methods": ["pretexeval", "llmeval"]},
        llmeval={"writer": "pen"},
        models=[WRITER | {"name": "far"}],
    )
    evaluation = estimate(config)["evaluation"]
    assert evaluation.n_to_ask == Span.of(2 * 9 * 2 * 8)
    assert any(note.startswith("288 texts are not written yet") for note in evaluation.notes)


def test_without_the_gate_every_statement_is_asked_once(base: Path) -> None:
    table = {"kind": "model", "writer": "pen", "max_attempts": 3, "max_tokens": 40, "gate": "off"}
    rephraser = estimate(configure(base, rephraser=table))["rephraser"]
    assert rephraser.n_to_ask == Span.of(N_STATEMENTS)
    assert "1 attempt per statement" in rephraser.notes
