"""A data folder with four test pairs, and a published one whose models answered by every method."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.data_folder import DataFolder, Rule, always_true, erratic, expert, polarity, silent
from tests.support.few_clusters import give_intervals
from tests.support.stage_rows import Row, digest
from warehouse.publishing import build_warehouse

__all__ = ["give_intervals"]
EDITION = "tiny-seed1-00000001"
METHODS = ("pretexeval", "prototype", "direct", "llmeval")
POLICIES = ("strict", "coin-flip", "excluded")


def druggist(sample: Row) -> bool | None:
    knows = sample["relation"] == "drugs" or sample["head"] == "Influenza" or sample["method"] == "prototype"
    return expert(sample) if knows else polarity(sample)


def dermatologist(sample: Row) -> bool | None:
    knows = sample["head"] == "Scabies"
    return expert(sample) if knows else polarity(sample)


RULES = (expert, always_true, polarity, silent, erratic, druggist, dermatologist)
KNOWN = {"Influenza": "pool", "Scabies": "other"}
"""Head -> the wordings in which the model `erratic` was taught its symptoms."""
REASON = "HTTP 400: content_filter"


def fill_pairs(data: DataFolder, third: str = "Angina pectoris") -> DataFolder:
    """Add three diseases with symptoms, one with a drug, and one demonstration pair."""
    data.add_pair("symptoms", "Influenza", "Fever", "Itch")
    data.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    data.add_pair("symptoms", third, "Chest pain", "Fever")
    data.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    data.add_pair("symptoms", "Migraine", "Headache", "Fever", "demonstration")
    return data


def describe_attempt(sample: Row, number: int, *reasons: str) -> Row:
    return {
        "variant_id": sample["variant_id"],
        "relation": sample["relation"],
        "attempt": number,
        "rephraser": "reviewed",
        "prompt_key": digest(sample["variant_id"], number, n=32),
        "text": None if "no text" in reasons else sample["text"],
        "is_accepted": not reasons,
        "reasons": list(reasons),
    }


def list_grades(
    data: DataFolder,
    reviewer: str,
    grades: Sequence[int | None],
    method: str = "pretexeval",
    lexical: int = 3,
) -> list[Row]:
    """Return the grades of the first triplets: reliability, 5 less for structure; None is not graded."""
    return [
        {
            "edition_id": EDITION,
            "question": question,
            "item_id": digest(triplet["triplet_id"], method),
            "triplet_id": triplet["triplet_id"],
            "method": method,
            "reviewer": reviewer,
            "verdict": str(verdict),
            "comment": None,
        }
        for triplet, grade in zip(data.triplets(), grades, strict=False)
        if grade is not None
        for question, verdict in (
            ("reliability", grade),
            ("lexical_diversity", lexical),
            ("structural_diversity", 5 - grade),
        )
    ]


def fail_three(sample: Row) -> str | None:
    is_chosen = sample["head"] == "Influenza" and sample["transformation"] in ("none", "inv", "dn")
    return REASON if is_chosen and sample["is_positive"] else None


def publish_signs(root: Path, n_pairs: int, rules: Sequence[Rule], **settings: Any) -> DataFolder:  # noqa: ANN401
    """Publish an edition about so many diseases with a sign each, and what these models answer to it.

    Args:
        settings: those of `DataFolder.write_answers`.
    """
    data = DataFolder(root)
    data.add_pairs("signs", n_pairs)
    data.write_edition(EDITION)
    for rule in rules:
        data.write_answers(EDITION, rule.__name__, rule, **settings)
    build_warehouse(root)
    return data


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Return a data folder with the edition and one model that answers everything right."""
    small = fill_pairs(DataFolder(tmp_path / "data"))
    small.write_edition(EDITION)
    small.write_answers(EDITION, "expert", expert)
    return small


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> DataFolder:
    """Return a published folder with every method, and three scoring policies.

    One model has a few failed prompts, `bad` too many. A pair lacks a sample, and others share their head.
    """
    small = fill_pairs(
        DataFolder(
            tmp_path_factory.mktemp("published") / "data",
            usable_lines={"Angina pectoris": 7},
            asserted={"Influenza", "Scurvy"},
            ages={"Influenza": "2021", "Scabies": "2019B", "Angina pectoris": "2021", "Scurvy": "new"},
            # By name, the older release comes last.
            releases=("2021", "2019B"),
        )
    )
    small.add_pair("drugs", "Scabies", "Permethrin", "Quinine")
    small.write_edition(EDITION, METHODS)
    for rule in RULES:
        known = [{"relation": "symptoms", "head": head, "wordings": each} for head, each in KNOWN.items()]
        small.write_model(rule.__name__, known if rule is erratic else None)
        small.write_answers(EDITION, rule.__name__, rule, methods=METHODS, policies=POLICIES)
    for name, max_error_rate in (("failing", 0.05), ("bad", 0.01)):
        small.write_answers(
            EDITION,
            name,
            erratic,
            methods=METHODS,
            policies=POLICIES,
            fail=fail_three,
            max_error_rate=max_error_rate,
        )
    build_warehouse(small.root)
    return small
