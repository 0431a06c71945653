from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands.preflight.estimates import Estimate
from commands.preflight.plan import RunPlan, plan_run, render_plan
from commands.preflight.reading import FactCounts
from commands.preflight.speed import Span, measure_completions, state_duration
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE, QuestionsConfig
from pretexeval.config.schedule import AnchorsConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import write_record
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.drawing import pieces
from tasks.edition.anchors import plan_anchors
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tests.support.command import REPOSITORY, make_rows, run_command, write_base, write_config
from tests.support.evaluations import ask_model, list_prompts
from tests.support.small_bases import write_files

REFERENCE = str(REPOSITORY / "models" / "reference-small")
METHODS = ["pretexeval", "prototype", "direct"]


class Parrot:
    """An engine that answers " True", in two tokens."""

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: Callable[[int], None] | None = None
    ) -> list[Completion]:
        """Return one answer per prompt."""
        return [Completion(" True", n_prompt_tokens=10, n_completion_tokens=2) for _ in prompts]

    def close(self) -> None:
        """Do nothing: there are no resources."""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_base(tmp_path / "own.tsv", make_rows("may_treat", "may_prevent"))


def configure(base: Path, *models: dict[str, Any], **edition: Any) -> Config:  # noqa: ANN401
    """Return a configuration with that base and models behind endpoints; the results are beside the base."""
    far = {"name": "far", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    tables = {
        "knowledge": {"name": "own", "format": "table", "path": base},
        "edition": {"methods": METHODS} | edition,
        "models": [far | model for model in models or ({},)],
        "storage": {"root": base.parent / "data"},
    }
    return Config.model_validate(tables)


def build(config: Config) -> str:
    edition = plan_edition(config)
    return complete_edition(edition, list(write_files(edition).values()), [])


def ask(config: Config, name: str = "far") -> int:
    """Evaluate the model on the edition, which must exist; return how many prompts it was asked."""
    evaluation = plan_evaluation(config, plan_edition(config).edition_id, name)
    return ask_model(evaluation, lambda _: Parrot()).n_asked


def plan_here(config: Config) -> RunPlan:
    return plan_run(config, Store(config.storage))


def only(plan: RunPlan) -> Estimate:
    (estimate,) = plan.estimates
    return estimate


def test_a_plan_predicts_what_a_run_asks_and_writes_nothing(base: Path) -> None:
    config = configure(base)
    plan = plan_here(config)
    assert not (base.parent / "data").exists()
    assert not plan.is_there
    build(config)
    there = plan_here(config)
    assert there.is_there
    assert there.edition_id == plan.edition_id
    assert there.n_samples == plan.n_samples
    assert only(there) == only(plan)
    n_asked = ask(config)
    assert only(plan).n_to_ask == only(plan).n_prompts == Span.of(n_asked)
    # `direct` and `prototype` share the prompts of the plain statement.
    assert n_asked < sum(plan.n_samples.values())
    assert plan.n_samples["direct"] * 8 == plan.n_samples["prototype"] == plan.n_samples["pretexeval"]


def test_answered_prompts_are_not_counted_again(base: Path) -> None:
    part = configure(base, {"pairs_per_relation": 3})
    build(part)
    n_before = ask(part)
    rest = only(plan_here(configure(base)))
    assert rest.n_answered == n_before
    assert rest.n_to_ask == Span.of(ask(configure(base)))
    done = only(plan_here(configure(base)))
    assert done.n_to_ask == Span.of(0)
    assert done.n_prompt_tokens == done.n_completion_tokens == Span.of(0)
    assert "nothing to ask" in render_plan(plan_here(configure(base)))


def test_a_plan_shows_what_a_budget_asks(base: Path) -> None:
    """A pair has 2 statements in 8 wordings of two methods, and 2 direct statements."""
    config = configure(base, {"budget": 3 * 34})
    plan = plan_here(config)
    assert [(each.model, each.relation, each.n_asked_pairs) for each in plan.asked_pairs] == [
        ("far", "may_prevent", 2),
        ("far", "may_treat", 1),
    ]
    lines = [line.split() for line in render_plan(plan).splitlines()]
    assert ["far", "may_prevent", str(plan.asked_pairs[0].n_pairs), "2"] in lines
    build(config)
    assert only(plan).n_to_ask == Span.of(ask(config))
    more = configure(base, {"budget": 4 * 34})
    assert only(plan_here(more)).n_answered == only(plan).n_to_ask.low
    assert only(plan_here(more)).n_to_ask == Span.of(ask(more))
    with pytest.raises(InputError, match=r"budget = 67 is too small: .* so give 68 or more"):
        plan_here(configure(base, {"budget": 67}))


def test_a_plan_does_not_depend_on_the_size_of_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = {"budget": 9 * 34}
    base = write_base(tmp_path / "own.tsv", make_rows("affected_sites", n_heads=60))
    config = configure(base, limit)
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    whole = only(plan_here(config))
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    # Another label, because the last plan is cached.
    labelled = configure(base, limit, label="cut")
    assert len(plan_edition(labelled).pieces) > 2
    cut = only(plan_here(labelled))
    assert (cut.n_prompts, cut.n_to_ask) == (whole.n_prompts, whole.n_to_ask)
    assert whole.n_prompts.low > 0


def test_questions_of_a_cut_relation_are_counted_as_a_run_asks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Demonstrations are in the first piece of a relation, and a limit is one of the whole relation."""
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    base = write_base(tmp_path / "own.tsv", make_rows("affected_sites", n_heads=60))
    config = configure(base, {"pairs_per_relation": 7})
    config = config.model_copy(update={"questions": QuestionsConfig(settings=("answer_only",))})
    plan = plan_here(config)
    (estimate,) = (each for each in plan.estimates if each.part == "answer_only")
    assert len(plan_edition(config).pieces) > 2
    evaluation = plan_evaluation(config, build(config), "far", "answer_only")
    assert estimate.n_to_ask == Span.of(ask_model(evaluation, lambda _: Parrot()).n_asked)
    (after,) = (each for each in plan_here(config).estimates if each.part == "answer_only")
    assert (after.n_answered, after.n_to_ask) == (estimate.n_prompts.low, Span.of(0))


def test_each_repeat_is_counted(base: Path) -> None:
    sampled = {"temperature": 0.5, "seed": 1}
    once = plan_here(configure(base, sampled))
    build(configure(base, sampled))
    ask(configure(base, sampled))
    rest = plan_here(configure(base, sampled | {"repeats": 3}))
    assert only(rest).n_prompts == only(once).n_prompts * 3
    assert only(rest).n_to_ask == only(once).n_to_ask * 2


def test_samples_with_a_third_answer_are_counted_beside_those_with_two(base: Path) -> None:
    config = configure(base, {"unsure": True})
    edition_id, plan = build(config), plan_here(config)
    both = {each.part: each.n_to_ask for each in plan.estimates}
    asked = ask_model(plan_evaluation(config, edition_id, "far", UNSURE), lambda _: Parrot()).n_asked
    assert both == {"evaluation": Span.of(asked), UNSURE: Span.of(asked)}
    rest = {each.part: each.n_to_ask for each in plan_here(config).estimates}
    assert rest == {"evaluation": Span.of(asked), UNSURE: Span.of(0)}


def test_anchors_are_counted(base: Path) -> None:
    config = configure(base, methods=["pretexeval"])
    assert plan_here(config).n_anchor_prompts == 0
    config = config.model_copy(update={"anchors": AnchorsConfig(n_pairs=3)})
    plan, planned = plan_here(config), plan_anchors(config)
    assert planned is not None
    evaluation = plan_evaluation(planned, build(planned), "far", period="2026-W47")
    assert plan.n_anchor_prompts == ask_model(evaluation, lambda _: Parrot()).n_asked == 3 * 16
    assert "also asks every model up to 48 prompts" in render_plan(plan)


@pytest.mark.parametrize("is_local", [False, True])
def test_tokens_are_those_of_the_prompts_of_a_run(base: Path, is_local: bool) -> None:
    """Counted by the model's own tokenizer if it is on this machine, else as characters / 4."""
    from tokenizers import Tokenizer

    local = {"engine": "vllm", "model": REFERENCE, "base_url": None}
    config = configure(base, local if is_local else {})
    evaluation = plan_evaluation(config, build(config), "far")
    prompts = {prompt.text for prompt in list_prompts(evaluation)}
    tokenizer = Tokenizer.from_file(f"{REFERENCE}/tokenizer.json")
    counts = [len(tokenizer.encode(text).ids) if is_local else len(text) / 4 for text in prompts]
    estimate = only(plan_here(config))
    assert estimate.n_prompt_tokens.low == pytest.approx(sum(counts), rel=0.05)
    assert estimate.n_completion_tokens.low == len(prompts)
    assert ("counted by the model's tokenizer" in estimate.notes[0]) == is_local


def test_time_and_completions_are_as_measured_before(base: Path) -> None:
    part = configure(base, {"pairs_per_relation": 3})
    edition_id = build(part)
    ask(part)
    evaluation = plan_evaluation(part, edition_id, "far")
    for name, n_asked, seconds in (("one", 100, 5.0), ("two", 300, 15.0), ("reused", 0, 9.0)):
        folder = base.parent / "data" / "predictions" / name / evaluation.model_id
        folder.mkdir(parents=True)
        write_record(folder / "run.json", {"n_asked": n_asked, "duration_s": seconds})
    broken = base.parent / "data" / "predictions" / "broken" / evaluation.model_id
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    estimate = only(plan_here(configure(base)))
    assert estimate.duration_s == estimate.n_to_ask * (1 / 20)
    assert estimate.n_completion_tokens == estimate.n_to_ask * 2
    assert "20.0 prompts per second, loading included, as for 400 earlier prompts" in estimate.notes[-1]


@pytest.mark.parametrize(
    ("model", "n_cards", "seconds"),
    [
        # 2 · 70e9 operations for each of 1e9 tokens; four H100 reach at best half of 4 · 989e12 a second.
        ("meta-llama/Meta-Llama-3-70B", 4, 2 * 70e18 / (0.5 * 4 * 989e12)),
        ("lmsys/vicuna-7b-v1.5", 1, 2 * 7e18 / (0.5 * 989e12)),
        ("Qwen/Qwen2.5-0.5B-Instruct", 1, 2 * 0.5e18 / (0.5 * 989e12)),
        ("microsoft/Phi-3-medium-4k-instruct", 1, None),
        ("models/reference-small", 1, None),
        ("mistralai/Mixtral-8x7B-v0.1", 1, None),
    ],
)
def test_the_time_of_a_model_that_never_ran_follows_from_its_size(
    model: str, n_cards: int, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    config = EngineConfig(name="m", model=model, tensor_parallel_size=n_cards)
    duration_s, basis = state_duration(config, Span.of(1e6), Span.of(1e9))
    if seconds is None:
        assert (duration_s, basis) == (None, "time not measured")
        return
    assert duration_s is not None
    assert duration_s.low == pytest.approx(seconds)
    assert duration_s.high == pytest.approx(2.5 * seconds)
    assert "stated, not measured" in basis
    assert f"{n_cards} × H100" in basis


def test_the_time_of_an_endpoint_follows_from_its_concurrency() -> None:
    config = EngineConfig(name="m", model="m", engine="openai", base_url="http://a/v1", concurrency=10)
    duration_s, basis = state_duration(config, Span.of(1000), Span.of(1e9))
    assert duration_s == Span(50, 300)
    assert basis == "time assumed: 0.5 to 3 s a request, 10 at once"


def test_cost_follows_from_tokens_and_prices(base: Path) -> None:
    prices = {"price_input": 2.0, "price_output": 10.0, "price_currency": "EUR"}
    plan = plan_here(configure(base, prices, {"name": "free"}))
    paid, free = plan.estimates
    assert free.cost is None
    assert paid.cost is not None
    tokens_in, tokens_out = paid.n_prompt_tokens, paid.n_completion_tokens
    assert paid.cost.low == pytest.approx((tokens_in.low * 2 + tokens_out.low * 10) / 1e6)
    assert paid.cost.high == pytest.approx((tokens_in.high * 2 + tokens_out.high * 10) / 1e6)
    shown = f"{paid.cost.low:,.2f} to {paid.cost.high:,.2f} EUR"
    assert shown.replace(" to 0.00", "") in render_plan(plan).split("all ")[1]


def test_the_command_names_each_model_that_cannot_be_used_and_plans_the_others(
    tmp_path: Path, base: Path
) -> None:
    lost = [{"name": f"lost{n}", "model": str(tmp_path / f"nowhere{n}")} for n in (1, 2)]
    far = {"name": "far", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=[*lost, far])
    done = run_command("plan", config, folder=tmp_path).require(1)
    assert "far" in done.out
    assert all(done.err.count(model["model"]) == 1 for model in lost)


def test_completions_are_measured_on_the_prompts_meant(tmp_path: Path) -> None:
    store = ResponseStore(tmp_path, "m-1")
    assert measure_completions(store, 50)[0] == Span(1, 50)
    prompts = [Prompt("completion", text) for text in ("Write (a).", "Judge [b].", "Judge [c].")]
    completions = [Completion("x", n_completion_tokens=n) for n in (40, 2, None)]
    store.append(["1", "2", "3"], prompts, completions)
    store.append(["4"], prompts[:1], [Completion(None, status="error", error="gone")])
    assert measure_completions(store, 50)[0] == Span.of(21)
    assert measure_completions(store, 30, "Write (")[0] == Span.of(30)
    assert measure_completions(store, 30, "Draw (")[0] == Span(1, 30)


def test_a_total_says_where_a_time_or_a_price_is_missing() -> None:
    known = Span.of(30)
    paid = Estimate("a", "evaluation", known, 0, known, known, known, Span(30, 9000), Span(1, 2.5), "USD")
    free = replace(paid, name="b", n_to_ask=Span(1200, 2_500_000), duration_s=None, cost=None)
    plan = RunPlan("own-seed1-00000000", True, {}, {}, FactCounts(1, None, {}), 0, (), (paid, free), ())
    lines = [" ".join(line.split()) for line in render_plan(plan).splitlines()]
    assert "a evaluation 30 0 30 30 30 30 s to 2.5 h 1.00 to 2.50 USD" in lines
    # The second model has no price, and its time was never measured.
    assert "all 60 0 1,230 to 2.5M 60 60 not measured 1.00 to 2.50 USD" in lines
