"""Records and manifests: what is damaged is set aside; and labels that do not follow from their triplets."""

import json
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef, write_stage_file
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import edition_folder, manifest_file
from pretexeval.storage.records import (
    find_manifest,
    find_record,
    list_files,
    parse_record,
    read_manifest,
    read_manifest_files,
    read_record,
    write_record,
)
from pretexeval.storage.withdrawals import require_published, withdraw_edition
from schemas.stages import SAMPLES
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import write_requests
from tests.support.small_bases import make_base, make_edition, make_facts, write_files
from warehouse import catalogue
from warehouse.publishing import PartsLeftOut, build_warehouse

REFS = [
    FileRef(path="editions/e/triplets/s.parquet", n_rows=2, sha256="cc"),
    FileRef(path="editions/e/samples/r.parquet", n_rows=16, sha256="bb"),
    FileRef(path="editions/e/triplets/r.parquet", n_rows=4, sha256="aa"),
]
MISSING = r"manifest\.json is missing, so edition 'e' is not complete"


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """Return the manifest of an edition `e` with three files."""
    path = tmp_path / manifest_file("e")
    write_record(path, {"edition_id": "e", "files": list_files(REFS, "editions/e")})
    return path


def test_files_of_a_manifest_can_be_read_by_stage(tmp_path: Path, manifest: Path) -> None:
    listed = list_files(REFS, "editions/e")
    assert list(listed) == ["samples/r.parquet", "triplets/r.parquet", "triplets/s.parquet"]
    assert read_manifest_files(tmp_path, "e") == {ref.path: ref for ref in REFS}
    assert list(read_manifest_files(tmp_path, "e", "triplets")) == [REFS[2].path, REFS[0].path]
    assert read_manifest_files(tmp_path, "e", "trip") == {}


def test_an_unknown_edition_gets_the_known_ones(tmp_path: Path, manifest: Path) -> None:
    write_record(tmp_path / manifest_file("tiny-seed1-1"), {"edition_id": "tiny-seed1-1"})
    said = r"has no edition 'seed1' \(did you mean tiny-seed1-1\?\); it contains: e, tiny-seed1-1"
    with pytest.raises(InputError, match=said):
        read_manifest(tmp_path, "seed1")


@pytest.mark.parametrize(
    "content", [None, b"", b'{"files": ', b"\xff\xfe", b"[]", b"{}", b'{"edition_id": "e"}']
)
def test_damaged_manifest_is_set_aside_and_named_once(
    tmp_path: Path, manifest: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    manifest.unlink()
    if content is not None:
        manifest.write_bytes(content)
    assert read_manifest_files(tmp_path, "e") == {}
    with pytest.raises(InputError, match=MISSING):
        read_manifest(tmp_path, "e")
    if content is not None:
        assert manifest.with_name("manifest.json.damaged").read_bytes() == content
        (message,) = caplog.messages
        assert str(manifest) in message
        assert "pretexeval build" in message


def test_folder_of_another_version_stays_and_is_named_with_what_to_do(
    tmp_path: Path, manifest: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases: list[dict[str, int]] = [{}, {"version": 1}]
    for version in cases:
        manifest.write_text(json.dumps({**version, "edition_id": "e", "files": {}}))
        before = manifest.read_bytes()
        assert find_manifest(tmp_path, "e") is None, version
        with pytest.raises(InputError) as raised:
            read_manifest(tmp_path, "e")
        assert str(raised.value) == (
            f"{manifest.parent} was written by another version of pretexeval: run `pretexeval run CONFIG`, "
            "which asks no stored prompt twice, or remove the folder"
        )
        assert (manifest.read_bytes(), caplog.records) == (before, []), version


def test_every_changed_character_of_a_record_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    record = {"n_errors": 0, "share": 0.01, "name": "größer", "files": {"a": {"rows": 1, "sha256": "b"}}}
    write_record(path, record)
    assert read_record(path) == record
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        try:
            found = parse_record(flipped)
        except ValueError:
            continue
        # Only white space was changed.
        assert found == record


def test_record_of_another_folder_is_set_aside(tmp_path: Path, manifest: Path) -> None:
    path = tmp_path / "run.json"
    write_record(path, {"edition_id": "e", "model_id": "m"})
    assert find_record(path, "run again", edition_id="e", model_id="m") is not None
    assert find_record(path, "run again", edition_id="e", model_id="other") is None
    assert not path.exists()
    for name in ("../r.parquet", "a/../../r.parquet"):
        write_record(manifest, {"edition_id": "e", "files": {name: {"rows": 4, "sha256": "aa"}}})
        assert find_manifest(tmp_path, "e") is None
        assert not manifest.exists()


def test_an_edition_is_withdrawn_once_and_for_a_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the reason is empty"):
        withdraw_edition(tmp_path, "e", " ")
    require_published(tmp_path, "e")
    withdraw_edition(tmp_path, "e", " wrong labels ")
    withdrawn = r"e was withdrawn on 20\S+ \(wrong labels\)"
    with pytest.raises(InputError, match=withdrawn):
        withdraw_edition(tmp_path, "e", "again")
    with pytest.raises(InputError, match=withdrawn):
        require_published(tmp_path, "e")


def plant_wrong_labels(root: Path, edition_id: str, is_flipped: pl.Expr) -> str:
    """Flip the labels of these samples in the last file of samples; return the id of the first of them."""
    files = read_manifest_files(root, edition_id)
    path = max(read_manifest_files(root, edition_id, SAMPLES.name))
    rows = pl.read_parquet(root / path)
    flipped = rows.with_columns(label=pl.col("label") != is_flipped)
    files[path] = write_stage_file(root, path, flipped, SAMPLES)
    manifest = read_manifest(root, edition_id)
    manifest["files"] = list_files(list(files.values()), edition_folder(edition_id))
    write_record(root / manifest_file(edition_id), manifest)
    return str(rows.filter(is_flipped)["sample_id"][0])


IS_DEMONSTRATION = pl.col("split") == "demonstration"
FLIPPED = {
    "demonstrations": IS_DEMONSTRATION,
    "one transformation": (pl.col("transformation") == "inv") & ~IS_DEMONSTRATION,
    "one triplet in all forms": pl.col("triplet_id") == pl.col("triplet_id").last(),
}


def test_wrong_labels_stop_completion_asking_and_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ())
    base = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
    edition = make_edition(tmp_path, base, methods=("pretexeval", "direct"))
    files = list(write_files(edition).values())
    edition_id = complete_edition(edition, files, [])
    build_warehouse(tmp_path)
    for is_flipped in FLIPPED.values():
        sample = plant_wrong_labels(tmp_path, edition_id, is_flipped)
        wrong = f"sample {sample} of relation 's', 's .* is stored as"
        with pytest.raises(InputError, match=wrong):
            complete_edition(edition, list(read_manifest_files(tmp_path, edition_id).values()), [])
        # Flipped again, the labels are right.
        plant_wrong_labels(tmp_path, edition_id, is_flipped)
    plant_wrong_labels(tmp_path, edition_id, is_flipped)
    model = ModelConfig(name="m", engine="openai", model="x", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match=wrong):
        write_requests(Evaluation(StorageConfig(root=tmp_path), edition_id, model))
    with pytest.raises(PartsLeftOut, match=wrong):
        build_warehouse(tmp_path)
    path = tmp_path / edition.folder / "triplets" / "r.parquet"
    pl.read_parquet(path).tail(-1).write_parquet(path)
    lost = r"r\.parquet has 9 samples with a wrong label: .*its triplet is not in the edition"
    with pytest.raises(InputError, match=lost):
        require_derived_labels(tmp_path, files)
