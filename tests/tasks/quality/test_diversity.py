import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_text
from schemas.stages import DIVERSITY, SAMPLES, STATEMENTS
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.quality.diversity import measure_diversity, write_diversity
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(20, 6), s=make_facts(16, 5))
METHODS = ("pretexeval", "prototype", "direct")


def make_triplets(n: int, split: str = "test") -> pl.DataFrame:
    """Return triplets of one relation: drug i treats pain i."""
    return pl.DataFrame(
        {
            "triplet_id": [f"{split}{i}" for i in range(n)],
            "relation": "treats",
            "head": [f"drug {i}" for i in range(n)],
            "tail": [f"pain {i}" for i in range(n)],
            "split": split,
        }
    )


def make_statements(triplet_id: str, **statements: str) -> pl.DataFrame:
    """Return the statements of one triplet, given by transformation."""
    rows = [
        {
            "variant_id": f"{triplet_id} {name}",
            "triplet_id": triplet_id,
            "transformation": name,
            "statement": text,
        }
        for name, text in statements.items()
    ]
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(STATEMENTS.names, pl.String))


def make_samples(triplet_id: str, method: str, texts: Sequence[tuple[str | None, str]]) -> pl.DataFrame:
    """Return the samples of one triplet by one method, given as (transformation, text)."""
    rows = [
        {
            "sample_id": f"{triplet_id} {method} {i}",
            "method": method,
            "variant_id": name and f"{triplet_id} {name}",
            "triplet_id": triplet_id,
            "relation": "treats",
            "sample_index": i,
            "text": text,
        }
        for i, (name, text) in enumerate(texts)
    ]
    overrides = {name: pl.String for name in SAMPLES.names if name != "sample_index"}
    return pl.DataFrame(rows, schema_overrides=overrides)


STATED = make_statements("test0", none="Drug 0 treats pain 0.", dn="Drug 0 never treats pain 0.")


def measure(*samples: pl.DataFrame) -> dict[str, tuple[float, float, float | None, float | None]]:
    """Return sample id -> its four distances."""
    frame = measure_diversity(make_triplets(1), pl.concat(samples), STATED)
    assert frame.columns == DIVERSITY.names
    return {row[0]: row[4:] for row in frame.iter_rows()}


def test_sample_is_compared_with_its_statement_and_with_other_samples_of_its_triplet() -> None:
    found = measure(
        make_samples(
            "test0",
            "pretexeval",
            [("none", "Drug 0 heals pain 0."), ("dn", "Drug 0 never treats pain 0.")],
        )
    )
    # "heals" replaces "treats": one word of three, the same part of speech. "never" adds one word of four.
    lexical, structural, lexical_spread, structural_spread = found["test0 pretexeval 0"]
    assert lexical == pytest.approx(1 / 3)
    assert structural == 0.0
    assert (lexical_spread, structural_spread) == (0.5, 0.25)
    assert found["test0 pretexeval 1"] == (0.0, 0.0, 0.5, 0.25)


def test_sample_without_a_variant_is_compared_with_the_plain_statement() -> None:
    found = measure(make_samples("test0", "llmeval", [(None, "Drug 0 never treats pain 0.")]))
    assert found == {"test0 llmeval 0": (0.25, 0.25, None, None)}


def test_spread_compares_samples_of_the_same_method() -> None:
    stated, other = "Drug 0 treats pain 0.", "Nothing beats drug 0 at pain 0."
    found = measure(
        make_samples("test0", "direct", [("none", stated)]),
        make_samples("test0", "prototype", [("none", stated), ("dn", stated), ("dn", other)]),
    )
    assert found["test0 direct 0"] == (0.0, 0.0, None, None)
    to_other = found["test0 prototype 2"][2]
    assert to_other is not None
    assert found["test0 prototype 0"][2] == pytest.approx(to_other / 2)


def test_long_names_do_not_dilute_changes() -> None:
    head, tail = "recombinant human growth hormone", "short stature of the newborn child"
    triplets = make_triplets(1).with_columns(pl.lit(head).alias("head"), pl.lit(tail).alias("tail"))
    samples = make_samples("test0", "pretexeval", [("none", f"{head} heals {tail}.")])
    statements = make_statements("test0", none=f"{head} treats {tail}.")
    found = measure_diversity(triplets, samples, statements)
    assert found["lexical_distance"].to_list() == [pytest.approx(1 / 3)]


def test_same_triplets_are_drawn_for_every_method() -> None:
    triplets = pl.concat([make_triplets(30), make_triplets(5, "demonstration")])
    ids = triplets["triplet_id"].to_list()
    statements = pl.concat(make_statements(i, none="Drug treats pain.") for i in ids)
    samples = pl.concat(
        make_samples(i, m, [("none", "A text.")]) for i in ids for m in ("direct", "prototype")
    )
    found = measure_diversity(triplets, samples, statements, n_triplets=7)
    drawn = [set(frame["triplet_id"]) for _, frame in found.group_by("method")]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 7
    assert all(triplet_id.startswith("test") for triplet_id in drawn[0])
    others = [frame.sample(fraction=1, shuffle=True, seed=3) for frame in (triplets, samples, statements)]
    assert measure_diversity(others[0], others[1], others[2], n_triplets=7).equals(found)
    everything = measure_diversity(triplets, samples, statements, n_triplets=100)
    assert everything["triplet_id"].n_unique() == 30


def test_edition_without_test_triplets_has_an_empty_frame() -> None:
    found = measure_diversity(
        make_triplets(1, "demonstration"),
        make_samples("demonstration0", "direct", [("none", "A text.")]),
        make_statements("demonstration0", none="A text."),
    )
    assert found.columns == DIVERSITY.names
    assert found.height == 0


def complete(root: Path) -> Edition:
    edition = make_edition(root, BASE, methods=METHODS)
    complete_edition(edition, list(write_files(edition).values()), [])
    return edition


def test_file_of_an_edition_covers_every_method_and_has_the_schema(tmp_path: Path) -> None:
    edition = complete(tmp_path)
    path = write_diversity(tmp_path, edition.edition_id)
    assert path == tmp_path / "diversity" / f"{edition.edition_id}.parquet"
    found = pl.read_parquet(path)
    assert found.to_arrow().cast(DIVERSITY.schema).schema == DIVERSITY.schema
    frames = [build_frames(edition, relation) for relation in "rs"]
    expected = [measure_diversity(f["triplets"], f["samples"], f["statements"]) for f in frames]
    assert found.sort("sample_id").equals(pl.concat(expected).sort("sample_id"))
    assert set(found["method"]) == set(METHODS)
    as_stated = found.filter(pl.col("method") != "pretexeval")
    assert set(as_stated["lexical_distance"]) | set(as_stated["structural_distance"]) == {0.0}


def test_file_is_written_again_only_if_it_or_its_record_was_changed(tmp_path: Path) -> None:
    edition = complete(tmp_path)
    path = write_diversity(tmp_path, edition.edition_id)
    record = path.with_suffix(".json")
    content, written = path.read_bytes(), path.stat().st_mtime_ns
    assert write_diversity(tmp_path, edition.edition_id).stat().st_mtime_ns == written
    path.write_bytes(b"changed")
    assert write_diversity(tmp_path, edition.edition_id).read_bytes() == content
    record.write_text('{"key": "of other code"}')
    again = write_diversity(tmp_path, edition.edition_id)
    assert again.read_bytes() == content
    assert "of other code" not in record.read_text()


def test_file_is_written_again_if_its_key_differs(tmp_path: Path) -> None:
    edition = complete(tmp_path)
    path = write_diversity(tmp_path, edition.edition_id)
    record, written = path.with_suffix(".json"), path.stat().st_mtime_ns
    kept = json.loads(record.read_text())
    record.write_text(record.read_text().replace(kept["key"], hash_text("other", digits=32)))
    assert write_diversity(tmp_path, edition.edition_id).stat().st_mtime_ns > written
    # The time of the validation is another.
    again = json.loads(record.read_text())
    assert (again["key"], again["file"]) == (kept["key"], kept["file"])


def test_incomplete_edition_is_refused(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    write_files(edition)
    with pytest.raises(InputError, match="is not complete"):
        write_diversity(tmp_path, edition.edition_id)
