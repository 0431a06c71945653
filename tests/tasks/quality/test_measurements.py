"""The measured files of an edition: what is in them, and when they are written again."""

import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_record, write_record
from schemas.stages import DIVERSITY, GUESSES
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.quality.diversity import measure_diversity
from tasks.quality.guesses import guess_triplets
from tasks.quality.measurements import measure_edition
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files

METHODS = ("pretexeval", "prototype", "direct")


@pytest.fixture
def edition(tmp_path: Path) -> Edition:
    edition = make_edition(tmp_path, make_base(r=make_facts(20, 6), s=make_facts(16, 5)), methods=METHODS)
    complete_edition(edition, list(write_files(edition).values()), [])
    return edition


def test_files_hold_what_is_measured_on_the_rows_of_the_edition(edition: Edition) -> None:
    paths = measure_edition(edition.root, edition.edition_id)
    assert paths == [
        edition.root / f"{kind}/{edition.edition_id}.parquet" for kind in ("diversity", "guesses")
    ]
    diversity, guesses = map(pl.read_parquet, paths)
    assert diversity.to_arrow().cast(DIVERSITY.schema).schema == DIVERSITY.schema
    frames = [build_frames(edition, relation) for relation in "rs"]
    expected = [measure_diversity(f["triplets"], f["samples"], f["statements"]) for f in frames]
    assert diversity.sort("sample_id").equals(pl.concat(expected).sort("sample_id"))
    assert set(diversity["method"]) == set(METHODS)
    assert guesses.to_arrow().cast(GUESSES.schema).schema == GUESSES.schema
    triplets = pl.concat([frame["triplets"] for frame in frames])
    tested = triplets.filter(split="test")["triplet_id"]
    assert sorted(guesses.select("triplet_id", "guesser").iter_rows()) == sorted(
        product(tested, ("neighbour", "overlap"))
    )
    assert guess_triplets(triplets.sample(fraction=1, shuffle=True, seed=1)).equals(guesses)


def test_files_are_written_again_only_if_they_or_their_records_differ(edition: Edition) -> None:
    diversity, guesses = measure_edition(edition.root, edition.edition_id)
    content, written = diversity.read_bytes(), guesses.stat().st_mtime_ns
    record = diversity.with_suffix(".json")
    first = json.loads(record.read_text())
    for path, damaged in ((diversity, b"changed"), (record, b'{"key": "of other code"}')):
        path.write_bytes(damaged)
        measure_edition(edition.root, edition.edition_id)
        assert diversity.read_bytes() == content
        assert json.loads(record.read_text())["key"] == first["key"]
    content_of_record = read_record(record)
    assert content_of_record is not None
    write_record(record, {**content_of_record, "key": 32 * "0"})
    measure_edition(edition.root, edition.edition_id)
    assert json.loads(record.read_text())["key"] == first["key"]
    assert guesses.stat().st_mtime_ns == written


def test_incomplete_edition_is_refused(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, make_base(r=make_facts(12, 4)))
    write_files(edition)
    with pytest.raises(InputError, match="is not complete"):
        measure_edition(tmp_path, edition.edition_id)
