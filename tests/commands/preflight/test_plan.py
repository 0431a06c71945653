"""The plan of a run: it counts the prompts, tokens, seconds and prices of the run that follows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.preflight.asked_prompts import Estimate
from commands.preflight.plan import RunPlan, plan_run, render_plan
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from pretexeval.config.schedule import AnchorsConfig
from pretexeval.storage.records import write_record
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion
from tasks.asking.writers import WriterPrompt
from tasks.drawing import pieces
from tasks.edition.anchors import plan_anchors
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.evaluation.evaluation import plan_evaluation
from tasks.judging.writer_errors import read_panel
from tests.commands import configurations
from tests.commands.configurations import FAR, ask, build, evaluate
from tests.support.command import REPOSITORY, make_rows
from tests.support.evaluations import list_prompts

REFERENCE = str(REPOSITORY / "models" / "reference-small")
METHODS = ["pretexeval", "prototype", "direct"]
ROWS = make_rows("may_treat", "may_prevent", n_heads=9)
MANY_HEADS = make_rows("affected_sites", n_heads=60)


def configure(folder: Path, *models: dict[str, Any], rows: Any = ROWS, **tables: Any) -> Config:  # noqa: ANN401
    """Return a configuration of all methods, with these settings of models behind endpoints."""
    edition = {"methods": METHODS} | tables.pop("edition", {})
    given = [FAR | model for model in models or ({},)]
    return configurations.configure(folder, rows, edition=edition, models=given, **tables)


def plan_here(config: Config) -> RunPlan:
    return plan_run(config, Store(config.storage))


def estimate(config: Config, part: str = "evaluation") -> Estimate:
    (found,) = (each for each in plan_here(config).estimates if each.part == part)
    return found


def test_a_plan_predicts_what_a_run_asks_and_writes_nothing(tmp_path: Path) -> None:
    config, part = configure(tmp_path), configure(tmp_path, {"pairs_per_relation": 3})
    plan = plan_here(config)
    assert not (tmp_path / "data").exists()
    assert not plan.is_there
    build(config)
    there = plan_here(config)
    assert there.is_there
    names = ("edition_id", "n_samples", "estimates")
    assert [getattr(there, name) for name in names] == [getattr(plan, name) for name in names]
    n_before = ask(part)
    rest = estimate(config)
    n_rest = ask(config)
    assert (rest.n_answered, rest.n_to_ask) == (n_before, n_rest)
    (whole,) = plan.estimates
    assert whole.n_to_ask == whole.n_prompts == n_before + n_rest
    # `direct` and `prototype` share the prompts of the plain statement.
    assert n_before + n_rest < sum(plan.n_samples.values())
    assert plan.n_samples["direct"] * 8 == plan.n_samples["prototype"] == plan.n_samples["pretexeval"]
    done = estimate(config)
    assert done.n_to_ask == done.n_prompt_tokens == done.n_completion_tokens == 0
    assert "nothing to ask" in render_plan(plan_here(config))


@pytest.mark.long
def test_a_relation_in_several_pieces_is_counted_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Demonstrations are in the first piece of a relation, and a limit is one of the whole relation."""
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    limit = {"pairs_per_relation": 7}
    whole = estimate(configure(tmp_path, limit, rows=MANY_HEADS))
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    # Another label, because the last plan is cached.
    labelled = configure(tmp_path, limit, rows=MANY_HEADS, edition={"label": "cut"})
    assert len(plan_edition(labelled).pieces) > 2
    cut = estimate(labelled)
    assert (cut.n_prompts, cut.n_to_ask) == (whole.n_prompts, whole.n_to_ask)
    assert whole.n_prompts > 0
    questions = {"settings": ["answer_only"]}
    config = configure(tmp_path, limit, rows=MANY_HEADS, questions=questions)
    asked = estimate(config, "answer_only")
    build(config)
    assert asked.n_to_ask == ask(config, setting="answer_only")
    after = estimate(config, "answer_only")
    assert (after.n_answered, after.n_to_ask) == (asked.n_prompts, 0)


def test_each_repeat_and_a_third_answer_are_counted(tmp_path: Path) -> None:
    once = configure(tmp_path, {"temperature": 0.5, "seed": 1})
    build(once)
    n_asked = ask(once)
    thrice = estimate(configure(tmp_path, {"temperature": 0.5, "seed": 1, "repeats": 3}))
    assert (thrice.n_prompts, thrice.n_to_ask) == (3 * n_asked, 2 * n_asked)
    unsure = configure(tmp_path, {"unsure": True})
    both = {each.part: each.n_to_ask for each in plan_here(unsure).estimates}
    n_unsure = ask(unsure, setting=UNSURE)
    assert both == {"evaluation": n_unsure, UNSURE: n_unsure}
    rest = {each.part: each.n_to_ask for each in plan_here(unsure).estimates}
    assert rest == {"evaluation": n_unsure, UNSURE: 0}


def test_anchors_are_counted(tmp_path: Path) -> None:
    config = configure(tmp_path, edition={"methods": ["pretexeval"]})
    assert plan_here(config).n_anchor_prompts == 0
    config = config.model_copy(update={"anchors": AnchorsConfig(n_pairs=3)})
    plan, planned = plan_here(config), plan_anchors(config)
    assert planned is not None
    build(planned)
    assert plan.n_anchor_prompts == ask(planned, period="2026-W47") == 3 * 16
    assert "also asks every model up to 48 prompts" in render_plan(plan)


def test_a_plan_shows_the_runs_on_several_cards(tmp_path: Path) -> None:
    local = {"engine": "vllm", "model": REFERENCE, "base_url": None}
    models: list[dict[str, Any]] = [
        local | {"name": "one", "workers": 3},
        local | {"name": "two"},
        {"name": "endpoint"},
    ]
    config = configure(tmp_path, *models)
    assert plan_here(config).parts == ()
    plan = plan_run(config, Store(config.storage), n_cards=2)
    assert [(part.job.name, part.number, part.of) for part in plan.parts] == [
        ("two", 1, 1),
        ("one", 1, 3),
        ("one", 2, 3),
        ("one", 3, 3),
    ]
    lines = [line.split() for line in render_plan(plan).splitlines()]
    assert ["one", "1", "3"] in [line[:3] for line in lines]
    assert ["on", "2", "cards:"] in [line[:3] for line in lines]
    build(config)
    assert min(ask(config, name) for name in ("one", "two")) > 0
    assert plan_run(config, Store(config.storage), n_cards=2).parts == ()
    large = configure(tmp_path, local | {"name": "large", "tensor_parallel_size": 4})
    text = render_plan(plan_run(large, Store(large.storage), n_cards=2))
    assert "large: these models take more cards, so their runs will fail" in text


def test_tokens_are_those_of_the_prompts_of_a_run(tmp_path: Path) -> None:
    """Counted by the model's own tokenizer if it is on this machine, else as characters / 4."""
    from tokenizers import Tokenizer

    config = configure(tmp_path, {"engine": "vllm", "model": REFERENCE, "base_url": None})
    prompts = {prompt.text for prompt in list_prompts(plan_evaluation(config, build(config), "far"))}
    tokenizer = Tokenizer.from_file(f"{REFERENCE}/tokenizer.json")
    counts = sum(len(tokenizer.encode(text).ids) for text in prompts), sum(map(len, prompts)) / 4
    for given, expected, is_local in zip((config, configure(tmp_path)), counts, (True, False), strict=True):
        counted = estimate(given)
        assert counted.n_prompt_tokens == pytest.approx(expected, rel=0.05)
        assert counted.n_completion_tokens == len(prompts) * given.models[0].max_tokens
        assert ("counted by the model's tokenizer" in counted.notes[0]) == is_local


def test_time_and_completions_are_as_measured_before(tmp_path: Path) -> None:
    part = configure(tmp_path, {"pairs_per_relation": 3})
    model_id = plan_evaluation(part, build(part), "far").model_id
    ask(part)
    for name, n_asked, seconds in (("one", 100, 5.0), ("two", 300, 15.0), ("reused", 0, 9.0)):
        folder = tmp_path / "data" / "predictions" / name / model_id
        folder.mkdir(parents=True)
        write_record(folder / "run.json", {"n_asked": n_asked, "duration_s": seconds})
    broken = tmp_path / "data" / "predictions" / "broken" / model_id
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    unmeasured, measured = estimate(configure(tmp_path, {"model": "y"})), estimate(configure(tmp_path))
    assert (unmeasured.duration_s, "no evaluation of this model" in unmeasured.notes[-1]) == (None, True)
    assert measured.duration_s == measured.n_to_ask / 20
    assert measured.n_completion_tokens == measured.n_to_ask * 2
    assert "20.0 prompts per second, loading included, as for 400 earlier prompts" in measured.notes[-1]


def test_cost_follows_from_tokens_and_prices(tmp_path: Path) -> None:
    prices = {"price_input": 2.0, "price_output": 10.0}
    plan = plan_here(configure(tmp_path, prices, {"name": "free"}))
    paid, free = plan.estimates
    assert free.cost is None
    assert paid.cost is not None
    assert paid.cost == pytest.approx((paid.n_prompt_tokens * 2 + paid.n_completion_tokens * 10) / 1e6)
    assert f"{paid.cost:,.2f}" in render_plan(plan).split("all ")[1]


def test_a_plan_says_what_earlier_models_needed_and_that_costs_may_reach_their_limit(tmp_path: Path) -> None:
    def configure_one(name: str, **scoring: Any) -> Config:  # noqa: ANN401
        model = {"name": name, "model": name, "price_input": 1.0, "price_output": 1.0, "max_cost": 0.001}
        return configure(tmp_path, model, edition={"methods": ["pretexeval"]}, scoring=scoring)

    def render(config: Config) -> str:
        return render_plan(plan_here(config)).replace("\n", " ")

    full, less, new = configure_one("a"), configure_one("b", ask="enough"), configure_one("c", ask="enough")
    assert "no earlier model on this edition" in render(less)
    n = evaluate(full, "a")["n_asked"]
    computed = render(less)
    assert "the run may stop at max_cost = 0.001" in computed
    share = f"{100 * evaluate(less, 'b')['n_asked'] / n:.0f} % of the samples were enough for"
    assert f"{share} an earlier model on this edition" in computed
    # The second one was recorded.
    assert f"{share} 2 earlier models on this edition" in render(new)


def test_a_total_says_where_a_time_or_a_price_is_missing() -> None:
    paid = Estimate("a", "evaluation", 30, 0, 30, 30, 30, 9000, 2.5)
    free = replace(paid, name="b", n_to_ask=2_500_000, duration_s=None, cost=None)
    plan = RunPlan("own-seed1-00000000", True, {}, {}, 0, (paid, free), ())
    lines = [" ".join(line.split()) for line in render_plan(plan).splitlines()]
    assert "a evaluation 30 0 30 30 30 2.5 h 2.50" in lines
    # The second model has no price, and its time was never measured.
    assert "all 60 0 2.5M 60 60 not measured 2.50" in lines


N_STATEMENTS = 14 * 2 * 8
REPHRASER = {"kind": "model", "writer": "pen", "max_attempts": 3, "max_tokens": 40}


def configure_writer(folder: Path, methods: tuple[str, ...] = ("pretexeval",), **tables: Any) -> Config:  # noqa: ANN401
    given = {"rephraser": REPHRASER, "writers": [FAR | {"name": "pen"}]}
    edition = {"negatives": "uniform", "methods": methods}
    return configurations.configure(folder, edition=edition, **(given | tables))


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
    rephraser = estimate(configure_writer(tmp_path, ("pretexeval", "prototype")), "rephraser")
    assert rephraser.n_to_ask == 3 * N_STATEMENTS
    assert rephraser.n_completion_tokens == 3 * N_STATEMENTS * 40
    assert rephraser.duration_s is None
    assert not (tmp_path / "data").exists()
    trusted = estimate(configure_writer(tmp_path, rephraser=REPHRASER | {"gate": "off"}), "rephraser")
    assert trusted.n_to_ask == N_STATEMENTS
    assert "1 attempt per statement" in trusted.notes
    # The judge is asked both ways round.
    judge = estimate(configure_writer(tmp_path, judge={"writer": "pen"}), "judge")
    assert judge.n_to_ask == 6 * N_STATEMENTS
    assert min(judge.n_prompt_tokens, judge.n_completion_tokens) > 0


def test_attempts_that_were_answered_are_not_asked_again(tmp_path: Path) -> None:
    config = configure_writer(tmp_path)
    edition = plan_edition(config)
    assert edition.rephraser is not None
    rows = draft_frames(edition)["statements"].select("statement", "split").rows()
    first = [edition.rephraser.build_prompt(statement, 1, split) for statement, split in rows]
    second = [edition.rephraser.build_prompt(statement, 2, split) for statement, split in rows[:10]]
    reply(config, first + second, 12)
    rephraser = estimate(config, "rephraser")
    assert rephraser.n_answered == N_STATEMENTS + 10
    assert rephraser.n_to_ask == 2 * N_STATEMENTS - 10
    assert rephraser.n_completion_tokens == rephraser.n_to_ask * 12


def test_the_panel_of_a_writer_is_asked_once_and_only_if_it_decides(tmp_path: Path) -> None:
    config = configure_writer(tmp_path)
    rephraser, n = plan_edition(config).rephraser, read_panel().height
    assert rephraser is not None
    assert estimate(config, "panel").n_to_ask == n
    reply(config, rephraser.build_panel_prompts()[:10], 12)
    assert estimate(config, "panel").n_to_ask == n - 10
    free = {"kind": "model", "writer": "pen", "max_new_words": "free"}
    parts = [each.part for each in plan_here(configure_writer(tmp_path, rephraser=free)).estimates]
    assert "panel" not in parts


def test_llmeval_is_asked_once_per_triplet_and_its_lengths_are_its_own(tmp_path: Path) -> None:
    config = configure_writer(tmp_path, ("pretexeval", "llmeval"), llmeval={"writer": "pen"}, models=[FAR])
    edition = plan_edition(config)
    assert edition.rephraser is not None
    assert edition.llmeval is not None
    frames = draft_frames(edition)
    reply(config, edition.llmeval.build_prompts(frames["triplets"])[:8], 200)
    statement, split = frames["statements"].select("statement", "split").row(0)
    reply(config, [edition.rephraser.build_prompt(statement, 1, split)], 20)
    parts = {each.part: each for each in plan_here(config).estimates}
    assert (parts["llmeval"].n_prompts, parts["llmeval"].n_to_ask) == (28, 20)
    assert parts["llmeval"].n_completion_tokens == 20 * 200
    assert parts["rephraser"].n_completion_tokens == parts["rephraser"].n_to_ask * 20
    # Whatever was answered, no text is known that a model could have been asked.
    assert parts["evaluation"].n_to_ask == 2 * 9 * 2 * 8
    assert any(
        note.startswith("288 prompts are about texts that are not written yet")
        for note in parts["evaluation"].notes
    )
