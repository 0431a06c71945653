"""What the page says about prototypes and facts that a reference model contradicts."""

from pathlib import Path

from report.page import write_report
from tests.report.conftest import EDITION
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from tests.support.stage_rows import Row
from warehouse.publishing import build_warehouse

N_WRONG = 12
"""Facts that the second model contradicts; the page lists ten."""


def swapped(sample: Row) -> bool | None:
    """Contradict the labels under one transformation."""
    return bool(sample["label"] != (sample["transformation"] == "inv_dn"))


def mistaken(sample: Row) -> bool | None:
    """Contradict the labels of the first false triplets."""
    kind, number = sample["tail"].split()
    return bool(sample["label"] != (kind == "mark" and int(number) < N_WRONG))


def test_the_page_lists_what_is_contradicted_and_counts_the_rest(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    heads = [f"disease {k}" for k in range(16)]
    for k, head in enumerate(heads):
        data.add_pair("signs", head, f"sign {k}", f"mark {k}")
    data.write_edition(EDITION)
    for rule in (swapped, mistaken):
        data.write_model(rule.__name__, [{"relation": "signs", "head": head} for head in heads])
        data.write_answers(EDITION, rule.__name__, rule)
    build_warehouse(data.root)
    text = " ".join(parse(write_report(data.root, EDITION).read_text(encoding="utf-8")).text.split())
    assert "Contradicted prototypes: signs under inv_dn (0 of 32 right, Swapped)." in text
    facts = text.split("Contradicted facts: ")[1].split(".")[0]
    *listed, rest = facts.split("; ")
    assert len(listed) == 10
    assert listed[0] == "disease 0 – mark 0 (signs, Mistaken)"
    assert rest == "and 2 more"
