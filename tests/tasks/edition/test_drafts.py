from pathlib import Path

import polars as pl

from schemas.stages import STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.drafts import draft_statements
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))


def test_what_is_drafted_is_what_the_files_hold(tmp_path: Path) -> None:
    """A host that rewords the statements has not the files of the one that builds the edition."""
    edition = make_edition(tmp_path, BASE)
    write_files(edition)
    for relation in BASE.relations:
        drafted = draft_statements(edition, relation)
        for stage in (TRIPLETS, VARIANTS, STATEMENTS):
            written = pl.read_parquet(tmp_path / edition.path_of(stage.name, relation))
            assert drafted[stage.name].select(stage.names).equals(written)
