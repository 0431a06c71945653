"""Lists of what was left out are capped, and everything beyond them is counted."""

import json
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge import base, rows
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.storage.layout import manifest_file
from tasks.edition.manifest import complete_edition, list_left_out
from tests.support.small_bases import make_edition, write_files

DISTINCT = [f"head {i}\tr\ttail {i % 4}" for i in range(12)]


def write_table(path: Path, *, n_repeats: int) -> KnowledgeConfig:
    path.write_text("\n".join(["head\trelation\ttail", *DISTINCT, *DISTINCT[:1] * n_repeats]) + "\n")
    return KnowledgeConfig(name="own", format="table", path=path)


@pytest.fixture
def max_listed(monkeypatch: pytest.MonkeyPatch) -> int:
    for module in (base, rows):
        monkeypatch.setattr(module, "MAX_LISTED", 3)
    return 3


@pytest.mark.parametrize(("n_repeats", "n_listed", "not_listed"), [(3, 3, {}), (50, 3, {rows.REPEATED: 47})])
def test_repeated_rows_are_listed_up_to_a_limit_and_all_are_counted(
    tmp_path: Path, max_listed: int, n_repeats: int, n_listed: int, not_listed: dict[str, int]
) -> None:
    base = read_knowledge_base(write_table(tmp_path / "own.tsv", n_repeats=n_repeats))
    assert [item.where for item in base.left_out] == [f"own.tsv, line {14 + i}" for i in range(n_listed)]
    edition = make_edition(tmp_path / "data", base, kind="none")
    files = write_files(edition)
    listed = list_left_out(
        edition, lambda piece: pl.read_parquet(edition.root / edition.path_of("triplets", piece))
    )
    complete_edition(edition, list(files.values()), listed)
    manifest = json.loads((edition.root / manifest_file(edition.edition_id)).read_text())
    assert len(manifest["left_out"]) == n_listed
    assert manifest.get("not_listed", {}) == not_listed
