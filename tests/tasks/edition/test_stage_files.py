"""The files of stages: which are built, kept, linked and validated, also of relations with several pieces."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import read_manifest, read_record
from schemas.stages import TRIPLETS
from tasks.drawing import pieces
from tasks.edition import stage_files
from tasks.edition.edition import Edition
from tasks.edition.preview import preview_pieces, require_buildable
from tasks.edition.stage_files import (
    StageFiles,
    check_files,
    group_relations,
    key_check,
    place_files,
    provide_files,
    record_check,
)
from tasks.evaluation.asked_items import read_items
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.items import select_items
from tasks.evaluation.request_files import build_file_requests
from tests.support.command import read_stamps
from tests.support.small_bases import build_edition, make_base, make_edition, make_facts, read_rows_of
from warehouse.loading import load_warehouse
from warehouse.sources import collect_sources

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))
TAILS_OF_ALL = [f"tail {i}" for i in range(9)]
LONG = make_base(long=make_facts(60, 9) | {"all": TAILS_OF_ALL}, short=make_facts(14, 5))
FILES = ["long", "long.0002", "long.0003", "long.0004", "short"]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Edition, Edition]:
    """Two editions with the same triplets."""
    one, other = (make_edition(tmp_path, BASE, methods=(method,)) for method in ("pretexeval", "direct"))
    return one, other


def test_file_of_another_edition_is_linked_and_rows_that_are_known_are_not_built(
    pair: tuple[Edition, Edition],
) -> None:
    one, other = pair
    known = provide_files(one, TRIPLETS.name, relations=("s",), rows={"s": TRIPLETS.empty})
    assert list(known.files) == ["s"]
    assert read_rows_of(known, one.root).equals(TRIPLETS.empty)
    refs = provide_files(one, TRIPLETS.name).files
    placed = place_files(other, TRIPLETS.name, refs).files
    for piece, ref in refs.items():
        assert placed[piece].path == other.path_of(TRIPLETS.name, piece)
        assert (one.root / placed[piece].path).samefile(one.root / ref.path)


def test_complete_edition_keeps_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    edition = make_edition(tmp_path, BASE, kind="none")
    built = build_edition(edition)
    stamps = read_stamps(tmp_path, "editions/*/*/*")
    lost, cut = (tmp_path / stage.files["s"].path for stage in (built[0], built[-1]))
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:-100])
    assert build_edition(edition) == built
    assert f"{lost} was lost; it is built again" in caplog.text
    assert f"{cut} differs from its checksum in the manifest; it is built again" in caplog.text
    after = read_stamps(tmp_path, "editions/*/*/*")
    changed = {str(path.relative_to(tmp_path)) for path in (lost, cut)}
    assert {name for name in after if after[name] != stamps[name]} == changed
    lost.unlink()
    # This imitates code that draws other triplets.
    monkeypatch.setattr("tasks.drawing.pieces.N_DEMONSTRATIONS", 4)
    with pytest.raises(InputError, match=r"triplets/s\.parquet was lost .*restore the file, or delete"):
        build_edition(make_edition(tmp_path, BASE, kind="none"))


def test_small_relations_share_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edition, separate = make_edition(tmp_path, BASE), [("r",), ("s",)]
    for n_heads, groups in ((1, separate), (20, separate), (21, [("r", "s")])):
        monkeypatch.setattr(stage_files, "HEADS_PER_GROUP", n_heads)
        assert group_relations(edition) == groups


def test_report_of_one_edition_serves_another_with_the_same_files(pair: tuple[Edition, Edition]) -> None:
    one, other = pair
    triplets = provide_files(one, TRIPLETS.name)
    report = check_files(one, triplets)
    assert report["n_rows"] == read_rows_of(triplets, one.root).height
    assert record_check(one, triplets, report).is_success
    again = provide_files(other, TRIPLETS.name)
    assert key_check(again) == key_check(triplets)
    assert record_check(other, again, report).context == other.edition_id
    path = one.root / checks_record(other.edition_id, TRIPLETS.name)
    assert (read_record(path) or {})["context"] == other.edition_id
    before = read_stamps(path.parent)
    record_check(other, again, report)
    assert read_stamps(path.parent) == before


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Edition, list[StageFiles]]]:
    """An edition of which one relation has four pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK_HEADS", 8)
        patch.setattr(pieces, "PIECE_BLOCKS", 2)
        patch.setattr(stage_files, "MAX_ROWS", 60)
        # The pool of the tests has few wordings, which are alike.
        patch.setattr("tasks.edition.preview.check_pool_wordings", lambda *_: [])
        edition = make_edition(tmp_path_factory.mktemp("cut"), LONG)
        require_buildable(edition)
        yield edition, build_edition(edition)


def test_rows_do_not_depend_on_the_size_of_pieces(
    cut: tuple[Edition, list[StageFiles]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edition, parts = cut
    assert [list(stage.files) for stage in parts] == [FILES] * 4
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 100)
    whole = build_edition(make_edition(tmp_path, LONG))
    assert [list(stage.files) for stage in whole] == [["long", "short"]] * 4
    for one, other in zip(parts, whole, strict=True):
        frames = read_rows_of(one, edition.root), read_rows_of(other, tmp_path)
        assert frames[0].sort(one.stage.key).equals(frames[1].sort(one.stage.key))


def test_every_piece_is_validated_and_listed(cut: tuple[Edition, list[StageFiles]]) -> None:
    edition, built = cut
    for stage in built:
        report = check_files(edition, stage)
        assert report["n_rows"] == read_rows_of(stage, edition.root).height
        # Every part that is validated has both splits of its relations.
        checks = {check["expectation"]: check["success"] for check in report["checks"]}
        assert checks.get("relation_has_both_splits", True)
    assert edition.is_whole()
    manifest = read_manifest(edition.root, edition.edition_id)
    triplets = read_rows_of(built[0], edition.root)
    tested = triplets.filter(split="test", is_positive=True, relation="long")
    assert manifest["balance"]["long"]["n_pairs"] == tested.height
    assert {(item["where"], item["what"]) for item in manifest["left_out"]} >= {("long", "all")}


def test_the_preview_is_read_piece_by_piece_and_has_the_samples(
    cut: tuple[Edition, list[StageFiles]],
) -> None:
    edition, built = cut
    previewed = list(preview_pieces(edition))
    n_splits = [(each.relation, each.triplets["split"].n_unique()) for each in previewed]
    assert n_splits == [("long", 2), ("long", 1), ("long", 1), ("long", 1), ("short", 2)]
    samples = pl.concat(each.samples for each in previewed)
    assert samples.equals(read_rows_of(built[-1], edition.root))


def test_pieces_are_published_and_asked_about_as_one_relation(cut: tuple[Edition, list[StageFiles]]) -> None:
    edition, built = cut
    samples = read_rows_of(built[-1], edition.root)
    with duckdb.connect() as connection:
        load_warehouse(connection, collect_sources(edition.root, {}))
        counted = connection.sql("select relation, count(*) from samples group by relation order by relation")
        assert counted.fetchall() == samples.group_by("relation").len().sort("relation").rows()
    model = ModelConfig(name="m", engine="openai", model="m", base_url="http://localhost:1/v1")
    evaluation = Evaluation(edition.config.storage, edition.edition_id, model)
    found = {
        name: [Path(ref.path).stem for ref in refs] for name, refs in evaluation.relation_files().items()
    }
    assert found == {"long.parquet": FILES[:4], "short.parquet": ["short"]}
    tested = samples.filter(split="test").group_by("relation").len().sort("relation")["len"].to_list()
    requests = {name: built.prompts for name, built in build_file_requests(evaluation)}
    assert list(requests) == [f"{name}.parquet" for name in FILES]
    prompts = [
        prompt.text for name, of_file in requests.items() if name.startswith("long") for prompt in of_file
    ]
    assert [len(prompts), len(requests["short.parquet"])] == tested
    assert all("Statement" in text.split("\n")[0] for text in prompts)
    assert min(text.count("Answer:") for text in prompts) == 6
    limited = replace(evaluation, model=model.model_copy(update={"pairs_per_relation": 3}))
    asked = pl.concat(part.items for part in read_items(limited))
    chosen = select_items(samples.filter(relation="long"), 3, "pair_id")
    assert set(asked.filter(relation="long")["unit_id"]) == set(chosen["pair_id"])
