"""Two models that master different pairs out of 40, each better on the samples of some component."""

from pathlib import Path

from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse


def publish_contest(root: Path) -> DataFolder:
    """Publish a data folder in which `one` answers by the rule `first`, and `two` by `second`."""
    data = DataFolder(root)
    for k in range(40):
        data.add_pair("signs", f"Disease {k}", f"Sign {k}", f"Sign {k + 1}")
    methods = ("pretexeval", "prototype")
    data.write_edition(EDITION, methods)
    for name, rule in {"one": first, "two": second}.items():
        data.write_model(name)
        data.write_answers(EDITION, name, rule, methods=methods)
    build_warehouse(data.root)
    return data


def draw(*parts: object) -> int:
    return int(digest(*parts), 16) % 100


def first(sample: Row) -> bool | None:
    """Answer three pairs in four right, and the plain form of the others."""
    knows = draw("first", sample["pair_id"]) < 75 or sample["transformation"] == "none"
    return bool(sample["label"]) if knows else simulated_models.erratic(sample)


def second(sample: Row) -> bool | None:
    """Answer two pairs in five right, and most of the prototypes."""
    limit = 80 if sample["method"] == "prototype" else 40
    return (
        bool(sample["label"])
        if draw("second", sample["pair_id"]) < limit
        else simulated_models.polarity(sample)
    )
