"""The plan of what writers and judges are asked: as often as they may be, and at the lengths they wrote."""

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
from tests.commands import configurations
from tests.commands.configurations import FAR

N_STATEMENTS = 14 * 2 * 8
REPHRASER = {"kind": "model", "writer": "pen", "max_attempts": 3, "max_tokens": 40}
LLMEVAL: dict[str, Any] = {"methods": ("pretexeval", "llmeval"), "llmeval": {"writer": "pen"}}


def configure(folder: Path, methods: tuple[str, ...] = ("pretexeval",), **tables: Any) -> Config:  # noqa: ANN401
    given = {"rephraser": REPHRASER, "writers": [FAR | {"name": "pen"}]}
    edition = {"negatives": "uniform", "methods": methods}
    return configurations.configure(folder, edition=edition, **(given | tables))


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


def test_a_rephraser_that_never_wrote_may_need_every_attempt_unless_there_is_no_gate(tmp_path: Path) -> None:
    rephraser = estimate(configure(tmp_path, ("pretexeval", "prototype")))["rephraser"]
    assert rephraser.n_to_ask == Span(N_STATEMENTS, 3 * N_STATEMENTS)
    assert rephraser.n_completion_tokens == Span(N_STATEMENTS, 3 * N_STATEMENTS * 40)
    assert rephraser.duration_s == rephraser.n_to_ask * Span(0.5, 3) * (1 / 32)
    assert not (tmp_path / "data").exists()
    trusted = estimate(configure(tmp_path, rephraser=REPHRASER | {"gate": "off"}))["rephraser"]
    assert trusted.n_to_ask == Span.of(N_STATEMENTS)
    assert "1 attempt per statement" in trusted.notes


def test_attempts_that_were_answered_are_not_asked_again(tmp_path: Path) -> None:
    config = configure(tmp_path)
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


def test_the_panel_of_a_writer_is_asked_once_and_only_if_it_decides(tmp_path: Path) -> None:
    config = configure(tmp_path)
    rephraser, n = plan_edition(config).rephraser, read_panel().height
    assert rephraser is not None
    assert estimate(config)["panel"].n_to_ask == Span.of(n)
    reply(config, rephraser.build_panel_prompts()[:10], 12)
    assert estimate(config)["panel"].n_to_ask == Span.of(n - 10)
    free = {"kind": "model", "writer": "pen", "max_new_words": "free"}
    assert "panel" not in estimate(configure(tmp_path, rephraser=free))


def test_a_judge_is_asked_both_ways_round_and_an_entailment_model_generates_no_tokens(tmp_path: Path) -> None:
    tables = ({"writer": "pen"}, {"model": "org/nli"})
    judge, entailment = (estimate(configure(tmp_path, judge=table))["judge"] for table in tables)
    assert judge.n_to_ask == entailment.n_to_ask == Span(0, 6 * N_STATEMENTS)
    assert judge.n_prompt_tokens.high > 0
    assert judge.n_completion_tokens.high > 0
    assert entailment.n_completion_tokens == Span.of(0)
    assert "no tokens are generated" in entailment.notes


def test_llmeval_is_asked_once_per_triplet_and_its_lengths_are_its_own(tmp_path: Path) -> None:
    config = configure(tmp_path, **LLMEVAL, models=[FAR])
    edition = plan_edition(config)
    assert edition.rephraser is not None
    assert edition.llmeval is not None
    frames = draft_frames(edition)
    reply(config, edition.llmeval.build_prompts(frames["triplets"])[:8], 200)
    statement, split = frames["statements"].select("statement", "split").row(0)
    reply(config, [edition.rephraser.build_prompt(statement, 1, split)], 20)
    parts = estimate(config)
    assert (parts["llmeval"].n_prompts, parts["llmeval"].n_to_ask) == (Span.of(28), Span.of(20))
    assert parts["llmeval"].n_completion_tokens == Span.of(20 * 200)
    assert parts["rephraser"].n_completion_tokens.high == parts["rephraser"].n_to_ask.high * 20
    # Whatever was answered, no text is known that a model could have been asked.
    assert parts["evaluation"].n_to_ask == Span.of(2 * 9 * 2 * 8)
    assert any(note.startswith("288 texts are not written yet") for note in parts["evaluation"].notes)
