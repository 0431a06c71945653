"""The measured files of an edition: what is in them, and when they are written again."""

import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import read_record
from schemas.stages import DIVERSITY, GUESSES
from tasks.edition.manifest import complete_edition
from tasks.quality.diversity import measure_diversity
from tasks.quality.guesses import guess_triplets
from tasks.quality.measurements import measure_edition
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files

METHODS = ("pretexeval", "prototype", "direct")


def test_files_hold_what_is_measured_and_are_written_again_only_if_they_differ(tmp_path: Path) -> None:
    base = make_base(r=make_facts(12, 4), s=make_facts(10, 3))
    edition = make_edition(tmp_path, base, methods=METHODS)
    refs = list(write_files(edition).values())
    with pytest.raises(InputError, match="is not complete"):
        measure_edition(tmp_path, edition.edition_id)
    complete_edition(edition, refs, [])
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
    content, written = paths[0].read_bytes(), paths[1].stat().st_mtime_ns
    record = paths[0].with_suffix(".json")
    first = read_record(record)
    assert first is not None
    other_key = json.dumps({**first, "key": 32 * "0"}).encode()
    damage = ((paths[0], b"changed"), (record, b'{"key": "of other code"}'), (record, other_key))
    for path, damaged in damage:
        path.write_bytes(damaged)
        measure_edition(edition.root, edition.edition_id)
        assert paths[0].read_bytes() == content
        assert (read_record(record) or {})["key"] == first["key"]
    assert paths[1].stat().st_mtime_ns == written
