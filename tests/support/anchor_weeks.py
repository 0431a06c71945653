"""Two weekly editions, and anchors of both weeks, some of which a model answers otherwise in the second."""

from pretexeval.storage.records import write_record
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row
from warehouse.records import require_record

ANCHORS = "tiny-anchors-00000001"
WEEKS = ("2026-W46", "2026-W47")
PRICE = {"input": 2.0, "output": 10.0, "currency": "EUR"}


def forgetful(sample: Row) -> bool | None:
    """Answer as an expert, except about Scurvy, where every second sample is wrong and one has no answer."""
    if sample["head"] != "Scurvy" or sample["transformation"] in ("none", "inv", "ins"):
        return bool(sample["label"])
    return None if sample["transformation"] == "dn" else not sample["label"]


def ask_anchors(data: DataFolder, period: str, rule: Rule) -> None:
    data.write_answers(ANCHORS, "m", rule)
    folder = data.root / "anchor_predictions" / ANCHORS / period / "m"
    folder.parent.mkdir(parents=True)
    (data.root / "predictions" / ANCHORS / "m").rename(folder)
    record = require_record(folder / "run.json")
    write_record(folder / "run.json", record | {"price": PRICE})


def fill_anchor_weeks(data: DataFolder) -> DataFolder:
    """Write the editions and the answers of the model `m`; return the folder, which is not published."""
    data.write_model("m")
    for week, rule in zip(WEEKS, (simulated_models.expert, forgetful), strict=True):
        edition_id = f"tiny-{week}-00000001"
        data.write_edition(edition_id)
        path = data.root / "editions" / edition_id / "manifest.json"
        write_record(path, require_record(path) | {"label": week})
        data.write_answers(edition_id, "m", rule)
    data.write_edition(ANCHORS)
    path = data.root / "editions" / ANCHORS / "manifest.json"
    record = require_record(path)
    write_record(path, record | {"configuration": (record.get("configuration") or {}) | {"anchor_pairs": 4}})
    for week, rule in zip(WEEKS, (simulated_models.expert, forgetful), strict=True):
        ask_anchors(data, week, rule)
    return data
