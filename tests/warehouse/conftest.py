"""A world with four pairs, and a published one with five models that answered it."""

from pathlib import Path

import pytest

from tests.support import simulated_models
from tests.support.data_folder import World
from warehouse.publish import build_warehouse

EDITION = "tiny-seed1-00000001"


def fill_pairs(world: World) -> World:
    """Three diseases with symptoms and one with a drug; one pair held out to demonstrate."""
    world.add_pair("symptoms", "Influenza", "Fever", "Itch")
    world.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    world.add_pair("symptoms", "Angina pectoris", "Chest pain", "Fever")
    world.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    world.add_pair("symptoms", "Migraine", "Headache", "Fever", "demonstration")
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Written: the edition, and one model that is right about everything."""
    small = fill_pairs(World(tmp_path / "data"))
    small.write_edition(EDITION)
    small.write_model("expert")
    small.write_answers(EDITION, "expert", simulated_models.expert)
    return small


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Published: five models under two scoring policies, on methods pretexeval and direct."""
    small = fill_pairs(World(tmp_path_factory.mktemp("published") / "data"))
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
