"""The edition of anchors: which pairs it has, and how they are asked again in every period."""

from pathlib import Path

import polars as pl

from pretexeval.config.file import Config
from schemas.stages import N_DEMONSTRATIONS, TRIPLETS
from tasks.edition.anchors import list_asked_again, plan_anchors, share_pairs
from tasks.edition.edition import Edition
from tests.support.small_bases import build_frames, make_base, make_facts, make_pool, shuffle

BASE = make_base(r=make_facts(40, 8), s=make_facts(20, 6))


def plan(root: Path, seed: int = 3, **anchors: int) -> Config:
    given = {"edition": {"seed": seed}, "storage": {"root": root}, "anchors": anchors}
    planned = plan_anchors(Config.model_validate(given))
    assert planned is not None
    return planned


def read_stages(config: Config, stage: str, seed: int = 0) -> pl.DataFrame:
    """Return the rows of a stage of the edition, made from the base in another order of rows."""
    edition = Edition(config, shuffle(BASE, seed), make_pool("r", "s"))
    return pl.concat(build_frames(edition, relation)[stage] for relation in ("r", "s"))


def test_anchors_are_spread_in_proportion() -> None:
    sizes: dict[int, dict[str, int]] = {
        10: {"r": 60, "s": 40},
        7: {"r": 53, "s": 24, "t": 23},
        5: {"r": 1000, "s": 3, "t": 2},
        2: {"r": 5, "s": 5, "t": 5},
        100: {"r": 7, "s": 0},
    }
    assert {n_pairs: share_pairs(n_pairs, given) for n_pairs, given in sizes.items()} == {
        10: {"r": 6, "s": 4},
        7: {"r": 3, "s": 2, "t": 2},
        5: {"r": 3, "s": 1, "t": 1},
        2: {"r": 1, "s": 1, "t": 1},
        100: {"r": 7, "s": 0},
    }


def test_anchors_are_some_pairs_of_a_whole_draw_in_any_order_of_rows(tmp_path: Path) -> None:
    config = plan(tmp_path, n_pairs=10)
    drawn = read_stages(config.model_copy(update={"anchors": None}), TRIPLETS.name)
    anchors = read_stages(config, TRIPLETS.name)
    assert set(anchors.rows()) < set(drawn.rows())
    assert anchors.rows() == read_stages(config, TRIPLETS.name, seed=2).rows()
    n_pairs = {
        (relation, split): group["pair_id"].n_unique()
        for (relation, split), group in anchors.group_by("relation", "split")
    }
    assert n_pairs == {
        ("r", "test"): 7,
        ("s", "test"): 3,
        ("r", "demonstration"): N_DEMONSTRATIONS,
        ("s", "demonstration"): N_DEMONSTRATIONS,
    }


def test_name_depends_on_the_anchors_alone(tmp_path: Path) -> None:
    def name(config: Config) -> str:
        return Edition(config, BASE, make_pool("r", "s")).edition_id

    default = name(plan(tmp_path))
    assert default.startswith("own-anchors-")
    assert name(plan(tmp_path, n_pairs=100)) == default
    assert len({default, name(plan(tmp_path, n_pairs=50)), name(plan(tmp_path, seed=4))}) == 3
    assert plan_anchors(Config()) is None
    # The other editions of a configuration that orders anchors are not of anchors.
    ordered = Config.model_validate({"anchors": {"n_pairs": 5}, "edition": {"label": "2026-W47"}})
    assert "anchor_pairs" not in Edition(ordered, BASE, make_pool("r", "s")).configuration


def test_imported_and_recorded_models_are_not_asked_again() -> None:
    models = [{"name": name, "engine": name, "model": "x"} for name in ("imported", "recorded")]
    asked = {"name": "asked", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    config = Config.model_validate({"models": [*models, asked]})
    assert list_asked_again(config) == ["asked"]
