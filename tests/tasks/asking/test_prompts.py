import json
from pathlib import Path

import polars as pl
import pytest

from schemas.exchange import Prompt
from schemas.transformations import NAMES
from tasks.asking.prompts import QUESTION, Demonstration, PromptForm, fit_prompt
from tasks.evaluation.requests import draw_demonstrations, draw_demonstrations_of_methods
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts

SHOTS = tuple(Demonstration(f"Text {i}.", i % 2 == 0) for i in range(5))
COMPLETION = """\
Statement: "Text 0.", is the statement above true or false? Please answer True or False.
Answer: True

Statement: "Text 1.", is the statement above true or false? Please answer True or False.
Answer: False

Statement: "It {0} "said" [X].", is the statement above true or false? Please answer True or False.
Answer:"""


def make_samples(root: Path, seed: int = 1, methods: tuple[str, ...] = ("pretexeval",)) -> pl.DataFrame:
    base = make_base(r=make_facts(30, 8), s=make_facts(20, 6))
    edition = make_edition(root, base, seed=seed, methods=methods)
    return pl.concat(build_frames(edition, name)["samples"] for name in base.relations)


def test_prompt_is_demonstrations_then_question() -> None:
    prompt = PromptForm().render(SHOTS[:2], QUESTION.format('It {0} "said" [X].'))
    assert prompt == Prompt("completion", COMPLETION)


def test_chat_prompt_is_one_user_turn() -> None:
    text = QUESTION.format('It {0} "said" [X].')
    plain = PromptForm("chat").render(SHOTS[:2], text)
    assert plain.style == "chat"
    assert json.loads(plain.text) == [{"role": "user", "content": COMPLETION}]
    with_system = PromptForm("chat", "You are a clinician; β.").render(SHOTS[:2], text)
    assert json.loads(with_system.text) == [
        {"role": "system", "content": "You are a clinician; β."},
        {"role": "user", "content": COMPLETION},
    ]
    assert with_system.text == PromptForm("chat", "You are a clinician; β.").render(SHOTS[:2], text).text


def test_every_group_has_five_demonstrations_of_which_two_or_three_are_true(tmp_path: Path) -> None:
    samples = make_samples(tmp_path)
    groups = draw_demonstrations(samples)
    assert set(groups) == {(relation, name) for relation in "rs" for name in NAMES}
    pair_of = {
        text: (pair, label) for text, pair, label in samples.select("text", "pair_id", "label").iter_rows()
    }
    for (relation, transformation), shots in groups.items():
        assert len(shots) == 5
        assert sum(shot.label for shot in shots) in (2, 3)
        assert len({pair_of[shot.text][0] for shot in shots}) == 5
        assert all(pair_of[shot.text][1] is shot.label for shot in shots)
        assert all(shot.text.startswith(f"{relation} {transformation} ") for shot in shots)
    assert {sum(shot.label for shot in shots) for shots in groups.values()} == {2, 3}


def test_demonstrations_are_the_same_in_every_edition_and_in_any_order(tmp_path: Path) -> None:
    samples = make_samples(tmp_path)
    drawn = draw_demonstrations(samples)
    assert drawn == draw_demonstrations(make_samples(tmp_path, seed=2))
    assert drawn == draw_demonstrations(samples.sample(fraction=1, shuffle=True, seed=1))
    held_out = samples.filter(pl.col("split") == "demonstration")
    assert drawn == draw_demonstrations(held_out)


def test_no_demonstration_is_tested(tmp_path: Path) -> None:
    for seed in (1, 2):
        samples = make_samples(tmp_path, seed)
        tested = set(samples.filter(pl.col("split") == "test")["text"])
        shots = draw_demonstrations(samples).values()
        assert not tested & {shot.text for group in shots for shot in group}


def test_the_demonstrations_of_a_method_do_not_depend_on_the_others(tmp_path: Path) -> None:
    alone = draw_demonstrations(make_samples(tmp_path))
    methods = ("pretexeval", "prototype", "direct")
    drawn = draw_demonstrations_of_methods(make_samples(tmp_path, methods=methods))
    assert list(drawn) == list(methods)
    assert drawn["pretexeval"] == alone
    assert drawn["direct"] == {k: v for k, v in drawn["prototype"].items() if k[1] == "none"}
    assert drawn["prototype"]["r", "inv"] != alone["r", "inv"]


def test_samples_without_a_transformation_share_one_group() -> None:
    rows = [(f"p{i}", label, f"{i} {label}") for i in range(5) for label in (True, False)]
    samples = pl.DataFrame(rows, schema=["pair_id", "label", "text"], orient="row").with_columns(
        pl.lit("llmeval").alias("method"),
        pl.lit("r").alias("relation"),
        pl.lit("demonstration").alias("split"),
        pl.lit(None, pl.String).alias("transformation"),
    )
    (group,) = draw_demonstrations(samples).items()
    assert group[0] == ("r", None)
    assert sorted(int(shot.text[0]) for shot in group[1]) == [0, 1, 2, 3, 4]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("n_tokens_left", "n_dropped"),
    [(None, 0), (9999, 0), (101, 0), (100, 1), (84, 1), (83, 2), (33, 4), (32, 5), (16, 5), (1, 5)],
)
def test_long_prompt_drops_demonstrations_from_the_front(n_tokens_left: int | None, n_dropped: int) -> None:
    """A demonstration has 17 words and the question 16; the question alone may still be too long."""
    form, text = PromptForm(), QUESTION.format("Some text.")
    prompt, dropped = fit_prompt(form, SHOTS, text, n_tokens_left, count_words)
    assert dropped == n_dropped
    assert prompt == form.render(SHOTS[n_dropped:], text)


def test_prompt_that_fits_by_its_bytes_is_not_tokenised() -> None:
    def refuse(text: str) -> int:
        raise AssertionError(text)

    n_bytes = len(PromptForm().render(SHOTS, QUESTION.format("é")).text.encode())
    assert fit_prompt(PromptForm(), SHOTS, QUESTION.format("é"), n_bytes + 1, refuse)[1] == 0
    with pytest.raises(AssertionError):
        fit_prompt(PromptForm(), SHOTS, QUESTION.format("é"), n_bytes, refuse)


def test_prompt_without_demonstrations_drops_none() -> None:
    assert fit_prompt(PromptForm(), (), "x", 1, count_words)[1] == 0
