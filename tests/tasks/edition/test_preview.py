from pathlib import Path

from pretexeval.storage.files import read_stage_file
from schemas.stages import STATEMENTS, TRIPLETS, VARIANTS
from tasks.edition.preview import build_statement_frames
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(12, 4), s=make_facts(9, 3))


def test_previewed_rows_are_those_of_the_files(tmp_path: Path) -> None:
    """The plan counts on these rows before the files exist."""
    edition = make_edition(tmp_path, BASE)
    write_files(edition)
    for relation in BASE.relations:
        frames = build_statement_frames(edition, relation)
        for stage in (TRIPLETS, VARIANTS, STATEMENTS):
            written = read_stage_file(tmp_path / edition.path_of(stage.name, relation), stage)
            assert frames[stage.name].select(stage.names).equals(written)
