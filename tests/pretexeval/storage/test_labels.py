"""Wrong labels in the files of an edition stop it when it is completed, asked and published."""

from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import FileRef
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.records import read_manifest_files
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import write_requests
from tests.support.small_bases import make_base, make_edition, make_facts, write_files
from tests.support.wrong_labels import plant_wrong_labels
from warehouse.publishing import PartsLeftOut, build_warehouse

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))
IS_DEMONSTRATION = pl.col("split") == "demonstration"
FLIPPED = {
    "demonstrations": IS_DEMONSTRATION,
    "one transformation": (pl.col("transformation") == "inv") & ~IS_DEMONSTRATION,
    "one triplet in all forms": pl.col("triplet_id") == pl.col("triplet_id").last(),
}


@pytest.fixture
def edition(tmp_path: Path) -> Edition:
    return make_edition(tmp_path, BASE, methods=("pretexeval", "direct"))


@pytest.fixture
def files(edition: Edition) -> list[FileRef]:
    return list(write_files(edition).values())


@pytest.mark.parametrize("is_flipped", FLIPPED.values(), ids=FLIPPED)
def test_wrong_labels_stop_completion_asking_and_publication(
    edition: Edition, files: list[FileRef], is_flipped: pl.Expr
) -> None:
    root, edition_id = edition.root, complete_edition(edition, files, [])
    build_warehouse(root)
    wrong = f"sample {plant_wrong_labels(root, edition_id, is_flipped)} of relation 's', 's .* is stored as"
    with pytest.raises(InputError, match=wrong):
        complete_edition(edition, list(read_manifest_files(root, edition_id).values()), [])
    recording = root / "answers.parquet"
    pl.DataFrame({"prompt": ["-"], "response": ["-"]}).write_parquet(recording)
    model = ModelConfig(name="m", engine="recorded", model=str(recording))
    with pytest.raises(InputError, match=wrong):
        write_requests(Evaluation(StorageConfig(root=root), edition_id, model))
    with pytest.raises(PartsLeftOut, match=wrong):
        build_warehouse(root)


def test_a_sample_without_its_triplet_is_wrong(edition: Edition, files: list[FileRef]) -> None:
    path = edition.root / edition.folder / "triplets" / "r.parquet"
    pl.read_parquet(path).tail(-1).write_parquet(path)
    wrong = r"r\.parquet has 9 samples with a wrong label: .*its triplet is not in the edition"
    with pytest.raises(InputError, match=wrong):
        require_derived_labels(edition.root, files)
