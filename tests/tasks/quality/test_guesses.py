from pathlib import Path

import polars as pl

from schemas.stages import GUESSES
from tasks.edition.manifest import complete_edition
from tasks.quality.guesses import guess_triplets, write_guesses
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files


def test_every_test_triplet_of_an_edition_is_guessed_once(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, make_base(r=make_facts(20, 6), s=make_facts(16, 5)))
    complete_edition(edition, list(write_files(edition).values()), [])
    path = write_guesses(tmp_path, edition.edition_id)
    assert path == tmp_path / "guesses" / f"{edition.edition_id}.parquet"
    found = pl.read_parquet(path)
    assert found.to_arrow().cast(GUESSES.schema).schema == GUESSES.schema
    triplets = pl.concat([build_frames(edition, relation)["triplets"] for relation in "rs"])
    tested = triplets.filter(pl.col("split") == "test")
    assert len(tested) < len(triplets)
    assert sorted(found["triplet_id"]) == sorted(tested["triplet_id"])
    assert set(found["guesser"]) == {"overlap"}
    shuffled = triplets.sample(fraction=1, shuffle=True, seed=1)
    assert guess_triplets(shuffled).equals(found)


def test_guesses_are_written_again_only_if_they_are_not_up_to_date(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, make_base(r=make_facts(12, 4)))
    complete_edition(edition, list(write_files(edition).values()), [])
    path = write_guesses(tmp_path, edition.edition_id)
    content, written = path.read_bytes(), path.stat().st_mtime_ns
    assert write_guesses(tmp_path, edition.edition_id).stat().st_mtime_ns == written
    path.unlink()
    assert write_guesses(tmp_path, edition.edition_id).read_bytes() == content


def test_an_edition_without_test_triplets_has_no_guesses() -> None:
    triplets = pl.DataFrame(
        {"triplet_id": ["a"], "relation": ["r"], "head": ["h"], "tail": ["t"], "split": ["demonstration"]}
    )
    assert guess_triplets(triplets).columns == GUESSES.names


def test_a_large_relation_is_guessed_in_parts() -> None:
    edition = build_frames(make_edition(Path(), make_base(r=make_facts(40, 6))), "r")["triplets"]
    whole, divided = guess_triplets(edition), guess_triplets(edition, max_heads=12)
    assert sorted(divided["triplet_id"]) == sorted(whole["triplet_id"])
    assert guess_triplets(edition, max_heads=40).equals(whole)
    shuffled = edition.sample(fraction=1, shuffle=True, seed=1)
    assert guess_triplets(shuffled, max_heads=12).equals(divided)
