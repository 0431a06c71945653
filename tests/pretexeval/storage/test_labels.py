"""Wrong labels in the files of an edition stop it when it is completed, asked and published.

The manifest lists the wrong files with their checksums, so only the rows themselves tell that they are wrong.
"""

from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef, write_stage_file
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import manifest_file
from pretexeval.storage.records import list_files, read_manifest, write_record
from schemas.stages import SAMPLES
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import write_requests
from tests.support.small_bases import make_base, make_edition, make_facts, write_files
from warehouse.publishing import PartsLeftOut, build_warehouse

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
DEMONSTRATIONS = pl.col("split") == "demonstration"
FLIPPED = {
    "demonstrations": DEMONSTRATIONS,
    "one transformation": (pl.col("transformation") == "inv") & ~DEMONSTRATIONS,
    "one triplet in all forms": pl.col("triplet_id") == pl.col("triplet_id").last(),
}


@pytest.fixture
def edition(tmp_path: Path) -> Edition:
    return make_edition(tmp_path, BASE, methods=("pretexeval", "direct"))


def flip_labels(edition: Edition, files: list[FileRef], is_flipped: pl.Expr) -> tuple[list[FileRef], str]:
    """Write the samples of relation s with wrong labels; return the new files, and the first wrong sample."""
    path = f"{edition.folder}/{SAMPLES.name}/s.parquet"
    rows = pl.read_parquet(edition.root / path)
    flipped = write_stage_file(
        edition.root, path, rows.with_columns(label=pl.col("label") != is_flipped), SAMPLES
    )
    return [ref for ref in files if ref.path != path] + [flipped], rows.filter(is_flipped)["sample_id"][0]


@pytest.mark.parametrize("is_flipped", FLIPPED.values(), ids=FLIPPED)
def test_wrong_labels_stop_completion_asking_and_publication(edition: Edition, is_flipped: pl.Expr) -> None:
    files = list(write_files(edition).values())
    complete_edition(edition, files, [])
    build_warehouse(edition.root)
    wrong, sample_id = flip_labels(edition, files, is_flipped)
    with pytest.raises(
        InputError, match=f"wrong label: sample {sample_id} of relation 's', 's .* is stored as"
    ):
        complete_edition(edition, wrong, [])

    manifest = read_manifest(edition.root, edition.edition_id)
    manifest["files"] = list_files(wrong, edition.folder)
    write_record(edition.root / manifest_file(edition.edition_id), manifest)
    recording = edition.root / "answers.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = ModelConfig(name="m", engine="recorded", model=str(recording))
    with pytest.raises(InputError, match=f"sample {sample_id} of"):
        write_requests(Evaluation(StorageConfig(root=edition.root), edition.edition_id, model))
    with pytest.raises(PartsLeftOut, match=f"sample {sample_id} of"):
        build_warehouse(edition.root)


def test_a_sample_without_its_triplet_is_wrong(edition: Edition) -> None:
    files = list(write_files(edition).values())
    path = edition.root / edition.folder / "triplets" / "r.parquet"
    pl.read_parquet(path).tail(-1).write_parquet(path)
    with pytest.raises(
        InputError, match=r"has 9 samples with a wrong label.*its triplet is not in the edition"
    ):
        require_derived_labels(edition.root, files)
