from collections import Counter
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.support.periods import plan_period
from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from tasks.drawing.heads import Policy, TripletSampling
from tasks.drawing.series import SeriesTurn
from tasks.edition.planning import plan_edition
from tasks.edition.triplets import draw_triplets
from tests.support.small_bases import build_frames

RELATION = "symptoms"
BASE = read_knowledge_base(KnowledgeConfig())
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def draw(number: int, policy: Policy, cap: int | None = None) -> pl.DataFrame:
    """Return the tested triplets of an edition of a series."""
    sampling = TripletSampling(100 + number, policy, cap, SeriesTurn(1, number))
    return draw_triplets(BASE, RELATION, sampling).filter(split="test")


@pytest.mark.parametrize(("policy", "share"), [("uniform", 1.0), ("balanced", 0.9)])
def test_facts_come_back_when_all_tails_of_their_head_were_asked(policy: Policy, share: float) -> None:
    n_tails = Counter(BASE.select_relation(RELATION).filter(~pl.col("also_true"))["head"])
    drawn = pl.concat(draw(number, policy).filter("is_positive") for number in range(12, 15))
    used = drawn.group_by("head").agg(pl.col("tail").n_unique())
    expected = sum(min(3, n_tails[head]) for head in used["head"])
    assert share * expected <= used["tail"].sum() <= expected


def test_heads_under_a_cap_take_turns() -> None:
    everyone = set(draw(0, "uniform")["head"])
    cap = 25
    n_editions = -(-len(everyone) // (cap - 5))
    drawn = [set(draw(number, "uniform", cap)["head"]) for number in range(n_editions)]
    assert {len(heads) for heads in drawn} == {cap - 5}
    assert set().union(*drawn) == everyone


@given(first=st.integers(0, 3000), n_turns=st.integers(1, 20), n_wordings=st.integers(1, 12))
def test_every_wording_is_used_before_one_comes_back(first: int, n_turns: int, n_wordings: int) -> None:
    numbers = [first + i * n_turns for i in range(n_wordings)]
    used = {SeriesTurn(1, number).shift_wording(n_turns, n_wordings) % n_wordings for number in numbers}
    assert len(used) == n_wordings


def draw_texts(config: Config) -> set[str]:
    """Return the texts of the test samples of an edition."""
    frames = build_frames(plan_edition(config), RELATION)
    return set(frames["samples"].filter(split="test")["text"])


def test_scheduled_weeks_repeat_no_text_before_they_must() -> None:
    """A head of the base with one tail has four wordings of each form."""
    config = Config.model_validate({"knowledge": {"relations": [RELATION]}})
    weeks = [plan_period(config, MONDAY + timedelta(weeks=week)) for week in range(4)]
    texts = [text for week in weeks for text in draw_texts(week)]
    assert len(texts) - len(set(texts)) < 0.01 * len(texts)
