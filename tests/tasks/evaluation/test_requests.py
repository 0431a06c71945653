import json
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest

from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.stages import REQUESTS
from schemas.transformations import NAMES
from tasks.asking.prompts import PromptForm
from tasks.evaluation.requests import (
    Requests,
    RequestSettings,
    build_requests,
    draw_demonstrations_of_methods,
    select_samples,
)
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts


@pytest.fixture
def samples(tmp_path: Path) -> pl.DataFrame:
    """Return samples of two methods: 15 test pairs of one relation."""
    edition = make_edition(tmp_path, make_base(r=make_facts(20, 6)), methods=("pretexeval", "direct"))
    return build_frames(edition, "r")["samples"]


def build(
    samples: pl.DataFrame,
    model_id: str = "m-1",
    limit: int | None = None,
    n_demonstrations: int = 5,
    **options: int,
) -> Requests:
    sampling = Sampling(**options)  # type: ignore[arg-type]
    settings = RequestSettings(
        model_id,
        PromptForm(),
        sampling,
        limit,
        lambda text: len(text.split()),
        n_demonstrations=n_demonstrations,
    )
    return build_requests(select_samples(samples, None), draw_demonstrations_of_methods(samples), settings)


def test_every_test_sample_has_one_request(samples: pl.DataFrame) -> None:
    requests = build(samples)
    tested = samples.filter(pl.col("split") == "test")
    assert requests.frame.columns == REQUESTS.names
    assert sorted(requests.frame["sample_id"]) == sorted(tested["sample_id"])
    assert tested.height == 15 * 2 * 9
    text_of = dict(tested.select("sample_id", "text").iter_rows())
    for sample_id, prompt in zip(requests.frame["sample_id"], requests.prompts, strict=True):
        assert prompt.text.count("Statement: ") == 6
        assert prompt.text.rpartition("Statement: ")[2].startswith(f'"{text_of[sample_id]}", is the')


def test_prompts_with_the_same_demonstrations_follow_each_other(samples: pl.DataFrame) -> None:
    prompts = build(samples).prompts
    prefixes = [prompt.text.rpartition("Statement: ")[0] for prompt in prompts]
    runs = [(prefix, len(list(group))) for prefix, group in groupby(prefixes)]
    assert len(runs) == len(set(prefixes)) == len(NAMES) + 1
    assert {n for _, n in runs} == {30}


def test_demonstrations_are_of_the_same_method(samples: pl.DataFrame) -> None:
    requests = build(samples)
    method_of = dict(samples.select("sample_id", "method").iter_rows())
    for sample_id, prompt in zip(requests.frame["sample_id"], requests.prompts, strict=True):
        number = "0:" if method_of[sample_id] == "direct" else ("1:", "2:")
        for part in prompt.text.split("Statement: ")[1:]:
            assert part.split()[2].startswith(number)


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


def test_fewer_demonstrations_are_the_first_of_the_five(samples: pl.DataFrame) -> None:
    five, *fewer = (build(samples, n_demonstrations=n) for n in (5, 2, 0))
    assert five.frame.equals(build(samples).frame)
    for n, requests in zip((2, 0), fewer, strict=True):
        assert requests.frame["n_demonstrations_dropped"].to_list() == [0] * len(requests.prompts)
        for prompt, whole in zip(requests.prompts, five.prompts, strict=True):
            parts = whole.text.split("Statement: ")
            assert prompt.text == "Statement: ".join([*parts[: n + 1], parts[-1]])


def test_prompts_of_different_styles_have_different_keys() -> None:
    keys = {hash_prompt("m", Prompt(style, "[]"), Sampling()) for style in ("completion", "chat")}
    assert len(keys) == 2


def test_dropped_demonstrations_are_recorded(samples: pl.DataFrame) -> None:
    requests = build(samples, limit=100, max_tokens=8)
    dropped = requests.frame["n_demonstrations_dropped"].to_list()
    assert min(dropped) > 0
    for prompt, n in zip(requests.prompts, dropped, strict=True):
        assert prompt.text.count("Statement: ") == 6 - n
        assert len(prompt.text.split()) <= 92


@pytest.mark.parametrize("n_pairs", [1, 4, 15, 99])
def test_pairs_are_selected_entirely_and_independently_of_order(samples: pl.DataFrame, n_pairs: int) -> None:
    chosen = select_samples(samples, n_pairs)
    assert set(chosen["split"]) == {"test"}
    assert chosen["pair_id"].n_unique() == min(n_pairs, 15)
    assert chosen.height == min(n_pairs, 15) * 2 * 9
    shuffled = samples.sample(fraction=1, shuffle=True, seed=2)
    assert set(select_samples(shuffled, n_pairs)["sample_id"]) == set(chosen["sample_id"])
    assert set(chosen["pair_id"]) <= set(select_samples(samples, n_pairs + 1)["pair_id"])
