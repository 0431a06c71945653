"""Long relations are several files, which together are the same rows as one."""

from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.storage.records import read_manifest
from tasks.drawing import pieces
from tasks.edition import stage_files
from tasks.edition.preview import preview_pieces, require_buildable
from tasks.edition.stage_files import check_files
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import build_relation_requests
from tests.support.command import read_stamps
from tests.support.small_bases import build_edition, make_base, make_edition, make_facts, read_rows_of
from warehouse.loading import load_warehouse

TAILS_OF_ALL = [f"tail {i}" for i in range(9)]
BASE = make_base(long=make_facts(60, 9) | {"all": TAILS_OF_ALL}, short=make_facts(14, 5))
FILES = ["long", "long.0002", "long.0003", "long.0004", "short"]


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    monkeypatch.setattr(stage_files, "MAX_ROWS", 60)


@pytest.mark.usefixtures("cut")
def test_rows_do_not_depend_on_the_size_of_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edition = make_edition(tmp_path / "cut", BASE)
    parts = build_edition(edition)
    assert [list(stage.files) for stage in parts] == [FILES] * 4
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 100)
    whole = build_edition(make_edition(tmp_path / "whole", BASE))
    assert [list(stage.files) for stage in whole] == [["long", "short"]] * 4
    for one, other in zip(parts, whole, strict=True):
        frames = read_rows_of(one, tmp_path / "cut"), read_rows_of(other, tmp_path / "whole")
        assert frames[0].sort(one.stage.key).equals(frames[1].sort(one.stage.key))


@pytest.mark.usefixtures("cut")
def test_every_piece_is_validated_listed_and_read(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    built = build_edition(edition)
    for stage in built:
        report = check_files(edition, stage)
        assert report["n_rows"] == read_rows_of(stage, tmp_path).height
        # Every part that is validated has both splits of its relations.
        of_splits = [
            check for check in report["checks"] if check["expectation"] == "relation_has_both_splits"
        ]
        assert all(check["success"] for check in of_splits)
    assert edition.is_whole()
    manifest = read_manifest(tmp_path, edition.edition_id)
    triplets = read_rows_of(built[0], tmp_path)
    tested = triplets.filter(split="test", is_positive=True)
    assert manifest["balance"]["long"]["n_pairs"] == tested.filter(relation="long").height
    heads = {(relation, head) for relation, head, *_ in BASE.triplets.iter_rows()}
    missing = heads - set(triplets.select("relation", "head").iter_rows())
    assert {(item["where"], item["what"]) for item in manifest["left_out"]} == missing
    assert ("long", "all") in missing
    read: Counter[str] = Counter()
    for each in preview_pieces(edition):
        read[each.relation] += each.samples.height
    held_out = 2 * 5
    assert read == {r: 16 * tested.filter(relation=r).height + 8 * held_out for r in ("long", "short")}


@pytest.mark.usefixtures("cut")
def test_a_long_relation_is_previewed_piece_by_piece_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pool of the tests has few wordings, which are alike.
    monkeypatch.setattr("tasks.edition.preview.check_pool_wordings", lambda *_: [])
    edition = make_edition(tmp_path, BASE)
    require_buildable(edition)
    previewed = list(preview_pieces(edition))
    assert [(each.relation, each.triplets["split"].n_unique()) for each in previewed] == [
        ("long", 2),
        *[("long", 1)] * (len(edition.pieces) - 2),
        ("short", 2),
    ]
    samples = pl.concat(each.samples for each in previewed)
    assert samples.equals(read_rows_of(build_edition(edition)[-1], tmp_path))


@pytest.mark.usefixtures("cut")
def test_pieces_are_published_and_asked_about_as_one_relation(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    samples = read_rows_of(build_edition(edition)[-1], tmp_path)
    with duckdb.connect() as connection:
        assert load_warehouse(connection, tmp_path) == []
        counted = connection.sql("select relation, count(*) from samples group by relation order by relation")
        assert counted.fetchall() == samples.group_by("relation").len().sort("relation").rows()
    model = ModelConfig(name="m", engine="openai", model="m", base_url="http://localhost:1/v1")
    evaluation = Evaluation(edition.config.storage, edition.edition_id, model)
    found = {
        name: [Path(ref.path).stem for ref in refs] for name, refs in evaluation.relation_files().items()
    }
    assert found == {"long.parquet": FILES[:4], "short.parquet": ["short"]}
    tested = samples.filter(split="test").group_by("relation").len().sort("relation")["len"].to_list()
    built = dict(build_relation_requests(evaluation))
    assert [len(built[name].prompts) for name in ("long.parquet", "short.parquet")] == tested
    assert all("Statement" in prompt.text.split("\n")[0] for prompt in built["long.parquet"].prompts)
    assert min(prompt.text.count("Answer:") for prompt in built["long.parquet"].prompts) == 6


@pytest.mark.usefixtures("cut")
def test_a_lost_piece_is_built_again_with_the_same_bytes(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    before = build_edition(edition)
    lost = tmp_path / before[-1].files["long.0003"].path
    lost.unlink()
    kept = read_stamps(tmp_path, "editions/*/*/*")
    assert build_edition(edition) == before
    assert kept.items() < read_stamps(tmp_path, "editions/*/*/*").items()


def test_series_take_turns(tmp_path: Path) -> None:
    """The true tails of a head and the wordings of a triplet take turns in successive editions."""
    base = make_base(r={f"h{i}": [f"t{(i + k) % 30}" for k in range(4)] for i in range(30)})
    weeks = [make_edition(tmp_path / str(n), base, series=3, number=n) for n in range(4)]
    positives = [
        read_rows_of(build_edition(week)[0], week.root).filter(split="test", is_positive=True)
        for week in weeks
    ]
    pairs = pl.concat(frame.select("head", "tail") for frame in positives)
    assert pairs.n_unique() > 0.8 * pairs.height
