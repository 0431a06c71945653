"""The requests of a relation: prompts with demonstrations, their order and their keys."""

import json
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest

from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.stages import REQUESTS
from schemas.transformations import NAMES
from tasks.asking.prompts import PromptForm
from tasks.evaluation.items import SAMPLE_ITEMS, select_items
from tasks.evaluation.requests import Requests, RequestSettings, build_requests, show_demonstrations
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts


@pytest.fixture
def samples(tmp_path: Path) -> pl.DataFrame:
    """Return the items of two methods: 15 test pairs of one relation."""
    edition = make_edition(tmp_path, make_base(r=make_facts(20, 6)), methods=("pretexeval", "direct"))
    return SAMPLE_ITEMS.read_items(build_frames(edition, "r")["samples"])


def build(
    samples: pl.DataFrame, model_id: str = "m-1", max_tokens: int = 8, limit: int | None = None, **counts: int
) -> Requests:
    sampling = Sampling(max_tokens=max_tokens)
    settings = RequestSettings(
        model_id, PromptForm(), sampling, limit, lambda text: len(text.split()), **counts
    )
    return build_requests(select_items(samples, None), show_demonstrations(SAMPLE_ITEMS, samples), settings)


def test_every_test_sample_is_asked_after_demonstrations_of_its_method(samples: pl.DataFrame) -> None:
    requests = build(samples)
    tested = samples.filter(split="test")
    assert requests.frame.columns == REQUESTS.names
    assert sorted(requests.frame["item_id"]) == sorted(tested["item_id"])
    assert tested.height == 15 * 2 * 9
    asked = {item_id: rest for item_id, *rest in tested.select("item_id", "text", "group").iter_rows()}
    for item_id, prompt in zip(requests.frame["item_id"], requests.prompts, strict=True):
        text, method = asked[item_id]
        *shots, question = prompt.text.split("Statement: ")[1:]
        assert len(shots) == 5
        assert question.startswith(f'"{text}", is the')
        # A wording of the pool has its number: 0 is the prototype.
        assert all(shot.split()[2].startswith("0:" if method == "direct" else ("1:", "2:")) for shot in shots)


def test_prompts_with_the_same_demonstrations_follow_each_other(samples: pl.DataFrame) -> None:
    prompts = build(samples).prompts
    prefixes = [prompt.text.rpartition("Statement: ")[0] for prompt in prompts]
    runs = [(prefix, len(list(group))) for prefix, group in groupby(prefixes)]
    assert len(runs) == len(set(prefixes)) == len(NAMES) + 1
    assert {n for _, n in runs} == {30}


def test_keys_depend_on_prompt_sampling_and_model(samples: pl.DataFrame) -> None:
    requests = build(samples, max_tokens=4)
    sampling = Sampling(max_tokens=4)
    assert requests.frame["prompt_key"].to_list() == [
        hash_prompt("m-1", prompt, sampling) for prompt in requests.prompts
    ]
    assert json.loads(requests.frame["sampling"][0])["max_tokens"] == 4
    shuffled = build(samples.sample(fraction=1, shuffle=True, seed=3), max_tokens=4)
    assert set(shuffled.frame["prompt_key"]) == set(requests.frame["prompt_key"])
    for other in (build(samples, max_tokens=5), build(samples, "m-2", max_tokens=4)):
        assert not set(other.frame["prompt_key"]) & set(requests.frame["prompt_key"])
    assert len({hash_prompt("m", Prompt(style, "[]"), sampling) for style in ("completion", "chat")}) == 2


def test_repeats_have_the_same_prompts(samples: pl.DataFrame) -> None:
    once, twice = build(samples), build(samples, n_repeats=2)
    first, second = twice.frame.partition_by("repeat")
    assert first.equals(once.frame)
    assert second.drop("repeat").equals(once.frame.drop("repeat"))
    assert second["repeat"].unique().to_list() == [1]
    assert twice.prompts == once.prompts * 2


def test_fewer_demonstrations_are_the_first_of_the_five(samples: pl.DataFrame) -> None:
    five, *fewer = (build(samples, n_demonstrations=n) for n in (5, 2, 0))
    for n, requests in zip((2, 0), fewer, strict=True):
        assert requests.frame["n_demonstrations_dropped"].to_list() == [0] * len(requests.prompts)
        for prompt, whole in zip(requests.prompts, five.prompts, strict=True):
            parts = whole.text.split("Statement: ")
            assert prompt.text == "Statement: ".join([*parts[: n + 1], parts[-1]])


def test_dropped_demonstrations_are_recorded(samples: pl.DataFrame) -> None:
    requests = build(samples, limit=100, max_tokens=30)
    dropped = requests.frame["n_demonstrations_dropped"].to_list()
    assert min(dropped) > 0
    for prompt, n in zip(requests.prompts, dropped, strict=True):
        assert prompt.text.count("Statement: ") == 6 - n
        assert len(prompt.text.split()) <= 70


def test_only_demonstrations_with_a_chain_are_shown_to_a_model_that_reasons(samples: pl.DataFrame) -> None:
    drawn = SAMPLE_ITEMS.draw_demonstrations(samples).filter(group="direct")
    item_id, text = drawn.select("item_id", "text").row(3)
    shots = show_demonstrations(SAMPLE_ITEMS, samples, {item_id: "It fits.", "another": "No."})
    ((group, (shot,)),) = shots.items()
    assert group == ("r", "direct", "none")
    assert text in shot
    assert "\nLet's think step by step. It fits. Therefore, the answer is: " in shot
