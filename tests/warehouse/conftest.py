"""A data folder with four test pairs, and a published one that five models answered."""

from pathlib import Path

import pytest

from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from warehouse import catalogue
from warehouse.publishing import build_warehouse

EDITION = "tiny-seed1-00000001"


def fill_pairs(data: DataFolder) -> DataFolder:
    """Add three diseases with symptoms, one with a drug, and one demonstration pair."""
    data.add_pair("symptoms", "Influenza", "Fever", "Itch")
    data.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    data.add_pair("symptoms", "Angina pectoris", "Chest pain", "Fever")
    data.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    data.add_pair("symptoms", "Migraine", "Headache", "Fever", "demonstration")
    return data


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Return a data folder with the edition and one model that answers everything right."""
    small = fill_pairs(DataFolder(tmp_path / "data"))
    small.write_edition(EDITION)
    small.write_model("expert")
    small.write_answers(EDITION, "expert", simulated_models.expert)
    return small


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a published folder: five models, two scoring policies, methods pretexeval and direct."""
    small = fill_pairs(DataFolder(tmp_path_factory.mktemp("published") / "data"))
    methods = ("pretexeval", "direct")
    small.write_edition(EDITION, methods)
    for rule in (
        simulated_models.expert,
        simulated_models.always_true,
        simulated_models.polarity,
        simulated_models.silent,
        simulated_models.erratic,
    ):
        small.write_model(rule.__name__)
        small.write_answers(EDITION, rule.__name__, rule, methods=methods, policies=("strict", "excluded"))
    build_warehouse(small.root)
    return small


@pytest.fixture
def without_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish the tables and their sums alone: estimates and views take 1.3 s of every build."""
    for name in ("ESTIMATES", "VIEWS"):
        monkeypatch.setattr(catalogue, name, ())
