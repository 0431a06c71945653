"""A published world with names that would break a page, and one that nobody has answered."""

from pathlib import Path

import pytest

from tests.warehouse import rules
from tests.warehouse.rows import write_record
from tests.warehouse.world import World
from warehouse.publish import build_warehouse

EDITION = "tiny-seed1-00000001"
ODD_HEAD = 'Crohn\'s "<b>disease</b>" & co'
ODD_NAME = "<script>alert('x')</script>"
METHODS = ("pretexeval", "direct")


def fill_pairs(world: World) -> World:
    world.add_pair("symptoms", "Influenza", "Fever", "Itch")
    world.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    world.add_pair("symptoms", ODD_HEAD, "Chest pain", "Fever")
    world.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    world.add_pair("symptoms", "Migraine", "Headache", "Fever", "demonstration")
    return world


def name_model(world: World, model_id: str, name: str) -> None:
    path = world.root / "responses" / model_id / "model.json"
    write_record(path, {"model_id": model_id, "name": name, "engine": "recorded"})


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a warehouse: four models, two methods, two scoring policies."""
    small = fill_pairs(World(tmp_path_factory.mktemp("report") / "data"))
    small.write_edition(EDITION, METHODS)
    small.write_model("expert", [{"relation": "symptoms", "head": "Influenza"}])
    small.write_model("polarity")
    small.write_model("silent")
    for rule in (rules.expert, rules.polarity, rules.silent, rules.erratic):
        if rule is rules.erratic:
            name_model(small, "erratic", ODD_NAME)
        small.write_answers(EDITION, rule.__name__, rule, methods=METHODS, policies=("strict", "excluded"))
    build_warehouse(small.root)
    return small.root


@pytest.fixture
def unanswered(tmp_path: Path) -> Path:
    """The root of a warehouse with an edition and no model."""
    small = fill_pairs(World(tmp_path / "data"))
    small.write_edition(EDITION)
    build_warehouse(small.root)
    return small.root
