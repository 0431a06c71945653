"""The plan of an edition, also one of new facts or of anchors, and the manifest that completes it.

`validate`, the manifest and the page say the same about a base, and no head of it is forgotten.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.preflight.findings import render_findings
from commands.preflight.validate import check_facts, validate_config
from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_manifest
from report.page import write_report
from schemas.stages import N_DEMONSTRATIONS, TRIPLETS
from tasks.edition.anchors import list_asked_again, plan_anchors, share_pairs
from tasks.edition.edition import Edition
from tasks.edition.manifest import NO_NEGATIVE, complete_edition, list_left_out
from tasks.edition.planning import plan_edition
from tasks.edition.preview import require_buildable
from tasks.edition.triplets import draw_triplets
from tests.support.command import make_rows, write_base
from tests.support.parsed_page import parse
from tests.support.published_bases import MEDLAMA_TABLE, needs_reference
from tests.support.small_bases import (
    STAGES,
    build_edition,
    build_frames,
    make_base,
    make_edition,
    make_facts,
    make_pool,
    read_rows_of,
    shuffle,
    write_files,
)
from warehouse.publishing import build_warehouse

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))


def test_manifest_describes_the_edition_and_is_never_changed(tmp_path: Path) -> None:
    def make(root: Path) -> Edition:
        return make_edition(root, BASE, seed=3, methods=("pretexeval", "prototype"))

    edition = make(tmp_path)
    assert edition.read_files() == {}
    files = write_files(edition)
    left_out = [LeftOut("own.csv, line 3", "r: a → b", "repeats another row")]
    assert complete_edition(edition, list(files.values()), left_out) == edition.edition_id
    manifest = read_manifest(tmp_path, edition.edition_id)
    described = {
        "edition_id": edition.edition_id,
        "label": "seed3",
        "rephraser": "reviewed",
        "methods": ["pretexeval", "prototype"],
        "n_pairs": 36,
        "configuration": edition.configuration,
        "left_out": [vars(left_out[0])],
    }
    assert described.items() <= manifest.items()
    assert list(manifest["files"]) == sorted(
        f"{stage.name}/{relation}.parquet" for stage in STAGES for relation in "rs"
    )
    assert make(tmp_path).read_files() == files
    path = tmp_path / edition.folder / "manifest.json"
    before = path.read_bytes()
    complete_edition(edition, list(files.values()), [LeftOut("x", "y", "z")])
    assert path.read_bytes() == before
    elsewhere = make(tmp_path / "elsewhere")
    complete_edition(elsewhere, list(write_files(elsewhere).values()), left_out)
    assert (elsewhere.root / elsewhere.folder / "manifest.json").read_bytes() == before


def test_left_out_rows_and_heads_without_a_negative_are_listed_but_not_those_beyond_the_cap(
    tmp_path: Path,
) -> None:
    every_tail = [f"tail {i}" for i in range(5)]
    with_full = make_base(r=make_facts(20, 5) | {"full": every_tail, "all": every_tail}, s=make_facts(16, 5))
    source = LeftOut("own.csv, line 3", "r: a → b", "repeats another row")
    for edition, left_out in (
        (
            make_edition(tmp_path, KnowledgeBase("own", with_full.triplets, (source,))),
            [source, *(LeftOut("r", head, NO_NEGATIVE) for head in ("all", "full"))],
        ),
        (make_edition(tmp_path, BASE), []),
        (make_edition(tmp_path, BASE, heads_per_relation=10), []),
    ):
        frames = {piece: build_frames(edition, piece)["triplets"] for piece in edition.pieces}
        assert list_left_out(edition, frames.__getitem__) == left_out
    assert [frame.height for frame in frames.values()] == [20, 20]


N_HEADS = 20


def configure(folder: Path, *n_new: int, **keys: object) -> Config:
    """Return a configuration whose older release lacks the facts of the last heads of each relation.

    Args:
        keys: keys of [knowledge] in place of the older release.
    """
    n_known = {r: N_HEADS - n for r, n in zip(("may_treat", "may_prevent"), n_new, strict=False)}
    rows = make_rows(*n_known, n_heads=N_HEADS)
    older = folder / "older.tsv"
    write_base(older, [row for row in rows if int(row[0].split()[-1]) < n_known[row[1]]])
    table: dict[str, object] = {**write_base(folder / "own.tsv", rows)}
    table |= keys or {"releases": [{"name": "old", "path": older, "test": "new"}]}
    return Config.model_validate({"knowledge": table, "storage": {"root": folder / "data"}})


def test_a_relation_with_too_few_facts_that_the_older_release_lacks_is_left_out(tmp_path: Path) -> None:
    edition = plan_edition(configure(tmp_path, 12, 6))
    assert edition.base.relations == ["may_treat"]
    reason = "too few heads have a fact that the older release lacks (6)"
    assert edition.base.left_out == (LeftOut("may_prevent", "the relation", reason),)
    # Heads have one tail, and those whose number is a multiple of three have two.
    frame = draw_triplets(edition.base, "may_treat", edition.sampling)
    assert {int(head.split()[-1]) for head in frame["head"]} == set(range(8, N_HEADS))
    facts, ages = check_facts(edition, {})
    assert ages.rows == [{"release": "old", "n_facts": 0}, {"release": "new", "n_facts": 16}]
    assert f"may be tested: {12 + 4}; " in facts.found
    assert facts.found.endswith(f"not tested: {(8 + 3) + (14 + 5)}")
    text = render_findings(validate_config(configure(tmp_path, 12, 6)))
    assert facts.found in text
    assert re.search(rf"{re.escape(reason)} +1  may_prevent: the relation\n", text)
    with pytest.raises(InputError, match=r"enough facts .*\(may_prevent: 5 heads, may_treat: 3 heads\)"):
        plan_edition(configure(tmp_path, 3, 5))


def test_ages_name_another_edition_of_the_same_triplets(tmp_path: Path) -> None:
    plain = plan_edition(configure(tmp_path, 12, releases=[]))
    releases = [{"name": "2023", "path": tmp_path / "older.tsv"}]
    config = configure(tmp_path, 12, releases=releases)
    aged = plan_edition(config)
    assert aged.edition_id != plain.edition_id
    assert list(check_facts(plain, {})) == []
    (ages,) = check_facts(aged, {})
    assert ages.rows == [{"release": "2023", "n_facts": 11}, {"release": "new", "n_facts": 16}]
    (tmp_path / "older.tsv").write_bytes((tmp_path / "own.tsv").read_bytes())
    (later,) = check_facts(plan_edition(config), {})
    assert [row["n_facts"] for row in later.rows] == [27, 0]
    without, frame = (build_frames(edition, "may_treat")["triplets"] for edition in (plain, aged))
    # Heads whose number is 8 or more have facts that only the newer release holds.
    assert without.drop("first_release").equals(frame.drop("first_release"))
    facts = frame.filter("is_positive")
    is_new = [int(head.split()[-1]) >= 8 for head in facts["head"]]
    assert (facts["first_release"] == "new").to_list() == is_new
    assert frame.filter(~pl.col("is_positive"))["first_release"].is_null().all()
    require_buildable(aged)


ANCHORED = make_base(r=make_facts(40, 8), s=make_facts(20, 6))


def plan_of_anchors(root: Path, seed: int = 3, **anchors: int) -> Config:
    given = {"edition": {"seed": seed}, "storage": {"root": root}, "anchors": anchors}
    planned = plan_anchors(Config.model_validate(given))
    assert planned is not None
    return planned


def read_triplets(config: Config, seed: int = 0) -> pl.DataFrame:
    """Return the triplets of the edition, drawn from the base in another order of rows."""
    edition = Edition(config, shuffle(ANCHORED, seed), make_pool("r", "s"))
    return pl.concat(build_frames(edition, relation)[TRIPLETS.name] for relation in ("r", "s"))


def test_anchors_are_spread_in_proportion() -> None:
    cases: list[tuple[int, dict[str, int], dict[str, int]]] = [
        (10, {"r": 60, "s": 40}, {"r": 6, "s": 4}),
        (7, {"r": 53, "s": 24, "t": 23}, {"r": 3, "s": 2, "t": 2}),
        (10, {"r": 53, "s": 24, "t": 23}, {"r": 6, "s": 2, "t": 2}),
        (5, {"r": 1000, "s": 3, "t": 2}, {"r": 3, "s": 1, "t": 1}),
        (2, {"r": 5, "s": 5, "t": 5}, {"r": 1, "s": 1, "t": 1}),
        (100, {"r": 7, "s": 0}, {"r": 7, "s": 0}),
    ]
    assert [share_pairs(n, sizes) for n, sizes, _ in cases] == [expected for *_, expected in cases]


def test_anchors_are_some_pairs_of_a_whole_draw_in_any_order_of_rows(tmp_path: Path) -> None:
    config = plan_of_anchors(tmp_path, n_pairs=10)
    drawn = read_triplets(config.model_copy(update={"anchors": None}))
    anchors = read_triplets(config)
    assert set(anchors.rows()) < set(drawn.rows())
    assert anchors.rows() == read_triplets(config, seed=2).rows()
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
        return Edition(config, ANCHORED, make_pool("r", "s")).edition_id

    default = name(plan_of_anchors(tmp_path))
    assert default.startswith("own-anchors-")
    assert name(plan_of_anchors(tmp_path, n_pairs=100)) == default
    assert (
        len({default, name(plan_of_anchors(tmp_path, n_pairs=50)), name(plan_of_anchors(tmp_path, seed=4))})
        == 3
    )
    assert plan_anchors(Config()) is None
    # The other editions of a configuration that orders anchors are not of anchors.
    ordered = Config.model_validate({"anchors": {"n_pairs": 5}, "edition": {"label": "2026-W47"}})
    assert "anchor_pairs" not in Edition(ordered, ANCHORED, make_pool("r", "s")).configuration


def test_imported_models_are_not_asked_again() -> None:
    imported = {"name": "imported", "engine": "imported", "model": "x"}
    asked = {"name": "asked", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    config = Config.model_validate({"models": [imported, asked]})
    assert list_asked_again(config) == ["asked"]


def name_own(folder: Path) -> KnowledgeConfig:
    """Return a base with heads that are placeholders, a tail that repeats its head, and doubtful names."""
    tails = [
        *(f"disease {letter}" for letter in "abcdef"),
        "gout (acute",
        "small_dents_in_nails",
        "CID100003121",
    ]
    rows = [(f"drug {i}", "may_treat", tails[(i + k) % 9]) for i in range(40) for k in (0, 1 + i % 4)]
    rows += [("combinations", "may_treat", tails[0]), ("various drugs", "may_treat", tails[1])]
    table = write_base(folder / "own.tsv", [*rows, ("gout", "may_treat", "Gout")])
    return KnowledgeConfig.model_validate(table)


@pytest.mark.parametrize(
    ("name_base", "edition"),
    [
        (name_own, {"heads_per_relation": 9, "negatives": "uniform"}),
        pytest.param(
            lambda _: KnowledgeConfig.model_validate(MEDLAMA_TABLE),
            {},
            marks=[pytest.mark.long, needs_reference],
        ),
    ],
)
def test_validate_the_manifest_and_the_page_agree_on_every_relation(
    tmp_path: Path, name_base: Callable[[Path], KnowledgeConfig], edition: dict[str, Any]
) -> None:
    tables = {"edition": {"methods": ["direct"], **edition}, "storage": {"root": tmp_path / "data"}}
    config = Config.model_validate({"knowledge": name_base(tmp_path), **tables})
    found = {each.name: each.rows for each in validate_config(config)}
    planned = plan_edition(config)
    triplets = read_rows_of(build_edition(planned)[0], planned.root).filter(split="test")
    manifest = read_manifest(planned.root, planned.edition_id)
    profile = manifest["profile"]
    doubtful = [(row["kind"], row["n"], list(row["examples"])) for row in found.get("names", ())]
    assert doubtful == [(row["kind"], row["n"], row["examples"]) for row in profile["doubtful_names"]]
    assert found.get("left out", []) == profile["left_out"]
    for row in found["relations"]:
        name, of_relation = row["relation"], profile["relations"][row["relation"]]
        heads = triplets.filter(relation=name)["head"].n_unique()
        assert heads == row["n_tested_heads"] == of_relation["n_tested_heads"]
        assert heads == manifest["balance"][name]["n_pairs"]
        # Of the facts of the heads that demonstrate the task, and of doubtful ones, none may be tested.
        facts = planned.find_facts(name).list_tested(triplets.filter(relation=name).select("head").unique())
        assert facts.height == row["n_testable_facts"] == of_relation["n_testable_facts"]
        assert heads <= row["n_testable_facts"] < row["n_base_facts"]
        lost = [each for each in found["lost heads"] if each["relation"] == name]
        assert [{"relation": name, **each} for each in of_relation["lost_heads"]] == lost
        assert of_relation["n_base_heads"] == heads + sum(each["n_heads"] for each in lost)
        assert {key: of_relation[key] for key in of_relation if key in row} == {
            key: row[key] for key in row if key in of_relation
        }
    assert {row["relation"] for row in found["relations"]} == set(triplets["relation"])
    build_warehouse(planned.root)
    text = parse(write_report(planned.root, planned.edition_id).with_name("data.html").read_text()).text
    for row in profile["doubtful_names"]:
        assert f"{row['n']} {row['kind']}: {'; '.join(row['examples'])}" in text
    assert profile["relations"]["may_treat"]["lost_heads"]
    for lost in profile["relations"]["may_treat"]["lost_heads"]:
        assert f"{lost['n_heads']}: {lost['reason']}" in text
