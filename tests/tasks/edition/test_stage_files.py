"""The cache of stage files: which files are built, reused, or fetched from another host."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from config.tables import StorageConfig
from primitives.errors import InputError
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from storage.mirror import Mirror
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.stage_files import (
    StageFiles,
    fetch_stored_files,
    provide_files,
    store_files,
    validate_files,
)
from tasks.quality import validation
from tests.support.object_storage import ObjectStorage
from tests.support.small_bases import make_base, make_edition, make_facts

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))


def provide_statements(edition: Edition) -> dict[str, StageFiles]:
    triplets = provide_files(edition, TRIPLETS.name)
    variants = provide_files(edition, VARIANTS.name, triplets)
    statements = provide_files(edition, STATEMENTS.name, triplets, variants)
    return {TRIPLETS.name: triplets, VARIANTS.name: variants, STATEMENTS.name: statements}


def count_built(stages: dict[str, StageFiles]) -> list[int]:
    return [stage.n_built for stage in stages.values()]


def test_files_are_built_once(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    assert count_built(provide_statements(edition)) == [2, 2, 2]
    assert count_built(provide_statements(edition)) == [0, 0, 0]


def test_only_a_damaged_file_is_built_again(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    before = provide_statements(edition)
    damaged = tmp_path / before[VARIANTS.name].files["r"].path
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"-")
    after = provide_statements(edition)
    assert count_built(after) == [0, 1, 0]
    assert [stage.files for stage in after.values()] == [stage.files for stage in before.values()]


def test_file_of_another_edition_with_the_same_key_is_reused(tmp_path: Path) -> None:
    provide_statements(make_edition(tmp_path, BASE, methods=("pretexeval",)))
    other = make_edition(tmp_path, BASE, methods=("pretexeval", "direct"))
    stages = provide_statements(other)
    assert count_built(stages) == [0, 0, 0]
    assert all(other.edition_id in ref.path for ref in stages[TRIPLETS.name].files.values())


def test_complete_edition_keeps_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    edition = make_edition(tmp_path, BASE, kind="none")
    stages = provide_statements(edition)
    samples = provide_files(edition, SAMPLES.name, *stages.values())
    files = [ref for stage in (*stages.values(), samples) for ref in stage.files.values()]
    complete_edition(edition, files, [])
    lost = tmp_path / stages[TRIPLETS.name].files["s"].path
    lost.unlink()
    for record in (tmp_path / "cache").rglob("*.json"):
        record.unlink()
    assert count_built(provide_statements(edition)) == [1, 0, 0]
    assert f"{lost} was lost; it is built again" in caplog.text
    lost.unlink()
    for record in (tmp_path / "cache").rglob("*.json"):
        record.unlink()
    # This imitates code that draws other triplets.
    monkeypatch.setattr("tasks.drawing.heads.N_DEMONSTRATIONS", 4)
    with pytest.raises(
        InputError, match=r"triplets/s\.parquet was lost or changed.*restore the file, or delete"
    ):
        provide_statements(edition)


def test_stage_is_validated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edition = make_edition(tmp_path, BASE)
    triplets = provide_files(edition, TRIPLETS.name)
    report = validate_files(edition, triplets)
    assert report.is_success
    assert report.n_rows == triplets.read_all(tmp_path).height

    def forbid(*_: object) -> None:
        raise AssertionError("validated twice")

    monkeypatch.setattr(validation, "_run_expectations", forbid)
    assert validate_files(edition, triplets) == report
    other = make_edition(tmp_path, BASE, methods=("direct",))
    again = validate_files(other, provide_files(other, TRIPLETS.name))
    assert again.context == other.edition_id
    assert again.checks == report.checks


def test_attempts_stored_by_one_host_are_reused_by_another(moto: ObjectStorage, tmp_path: Path) -> None:
    recording = tmp_path / "w.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    tables: dict[str, Any] = {
        "rephraser": {"kind": "model", "writer": "w"},
        "writers": [{"name": "w", "engine": "recorded", "model": str(recording)}],
    }
    with pytest.MonkeyPatch.context() as patch:
        moto.set_environment(patch)
        shared = moto.make_address()
        hosts = [StorageConfig(root=tmp_path / name, shared=shared) for name in "ab"]
        asking, building = (
            make_edition(host.root, BASE, tables=tables | {"storage": host}) for host in hosts
        )
        stages = provide_statements(asking)
        before = [stages[TRIPLETS.name], stages[STATEMENTS.name]]
        empty = pl.DataFrame(ATTEMPTS.schema.empty_table())
        frames = dict.fromkeys(BASE.relations, empty)
        store_files(asking, ATTEMPTS.name, frames, *before, mirror=Mirror(hosts[0]))
        stages = provide_statements(building)
        before = [stages[TRIPLETS.name], stages[STATEMENTS.name]]
        fetch_stored_files(building, ATTEMPTS.name, *before, mirror=Mirror(hosts[1]))
        attempts = provide_files(building, ATTEMPTS.name, *before)
    assert attempts.n_built == 0
    assert attempts.read_all(building.root).equals(pl.concat([empty, empty]))


@pytest.mark.parametrize("path", ["secret.parquet", "../secret.parquet", "editions/../../secret.parquet"])
def test_a_record_that_names_a_file_outside_the_editions_is_ignored(tmp_path: Path, path: str) -> None:
    edition = make_edition(tmp_path / "data", BASE)
    triplets = provide_files(edition, TRIPLETS.name)
    ref = triplets.files["r"]
    content = (edition.root / ref.path).read_bytes()
    (edition.root / path).parent.mkdir(parents=True, exist_ok=True)
    (edition.root / path).write_bytes(content)
    (edition.root / ref.path).unlink()
    for record in (edition.root / "cache").rglob("*.json"):
        record.write_text(ref.model_copy(update={"path": path}).model_dump_json())
    assert provide_files(edition, TRIPLETS.name).n_built == 2
