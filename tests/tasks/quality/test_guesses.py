"""What names alone give away about the truth of a triplet, and the measured files of an edition."""

import json
from pathlib import Path
from random import Random
from statistics import fmean

import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_one, hash_text
from pretexeval.storage.records import read_record
from schemas.stages import DIVERSITY, GUESSES
from tasks.edition.manifest import complete_edition
from tasks.quality.diversity import measure_diversity
from tasks.quality.guesses import ComparedName, describe_resemblance, guess_triplets, guess_truth, weigh_words
from tasks.quality.measurements import measure_edition
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, write_files

N_HEADS = 300
LETTERS = str.maketrans("0123456789", "ghijklmnop")
ORGANS = [hash_text("organ", str(i), digits=8).translate(LETTERS) for i in range(60)]


def make_pairs(true: str, false: str) -> pl.DataFrame:
    """Return a positive and a negative triplet per head; tails are made of the head's organ or another."""
    rows = []
    for i in range(N_HEADS):
        organ = ORGANS[i % len(ORGANS)]
        other = draw_one((name for name in ORGANS if name != organ), str(i))
        rows += [
            (f"p{i}", f"tumor {i} of {organ}", form.format(organ=organ, other=other), is_positive)
            for form, is_positive in ((true, True), (false, False))
        ]
    return pl.DataFrame(rows, ("pair_id", "head", "tail", "is_positive"), orient="row")


def measure(triplets: pl.DataFrame) -> float:
    return fmean(guess_truth("r", triplets) == triplets["is_positive"])


def test_what_names_give_away_is_found_and_nothing_else() -> None:
    assert measure(make_pairs("{organ} cell", "{other} cell")) > 0.95
    # A shared word can speak against the triplet.
    assert measure(make_pairs("{other} cell", "{organ} cell")) > 0.95
    # Both share the organ; which of the two words is true depends on nothing in the names.
    triplets = make_pairs("{organ} cell", "{organ} duct")
    coin = pl.col("pair_id").map_elements(lambda pair: draw_one("01", pair) == "1", return_dtype=pl.Boolean)
    drawn = triplets.with_columns(is_positive=pl.col("is_positive") ^ coin)
    assert measure(drawn) == pytest.approx(0.5, abs=0.07)
    assert measure(make_pairs("cell of {other}", "duct of {other}")) == pytest.approx(0.5, abs=0.07)
    # A relation with one head is guessed false.
    assert guess_truth("r", triplets.head(2)).to_list() == [False, False]


def test_guesses_depend_neither_on_the_order_of_rows_nor_on_threads() -> None:
    coins = pl.Series([draw_one("01", str(i)) == "1" for i in range(2 * N_HEADS)])
    triplets = make_pairs("{organ} cell", "{other} {organ}").with_columns(is_positive=coins)
    expected = triplets.with_columns(guess=guess_truth("r", triplets)).sort("head", "tail")
    shuffled = triplets.sample(fraction=1, shuffle=True, seed=1)
    with threadpool_limits(limits=2):
        found = shuffled.with_columns(guess=guess_truth("r", shuffled)).sort("head", "tail")
    assert found.equals(expected)
    assert 0 < expected["guess"].sum() < len(expected)


def test_a_large_relation_is_guessed_in_parts() -> None:
    edition = build_frames(make_edition(Path(), make_base(r=make_facts(24, 6))), "r")["triplets"]
    whole, divided = guess_triplets(edition), guess_triplets(edition, max_heads=8)
    assert sorted(divided["triplet_id"]) == sorted(whole["triplet_id"])
    assert guess_triplets(edition, max_heads=24).equals(whole)
    shuffled = edition.sample(fraction=1, shuffle=True, seed=1)
    assert guess_triplets(shuffled, max_heads=8).equals(divided)


@pytest.mark.parametrize(("n_groups", "least", "most"), [(6, 0.9, 1), (1, 0.35, 0.65)])
def test_a_guesser_that_knows_the_other_facts_is_right_where_heads_resemble_each_other(
    n_groups: int, least: float, most: float
) -> None:
    """Each head has three of the tails of its group. In one group, no other fact tells which three."""
    random, n_tails = Random(1), 30 // n_groups
    facts = {
        f"head {i}": [f"tail {i % n_groups} {k}" for k in random.sample(range(n_tails), 3)]
        for i in range(120)
    }
    edition = make_edition(Path(), make_base(r=facts), negatives="uniform")
    triplets = build_frames(edition, "r")["triplets"].filter(split="test")
    guesses = guess_triplets(triplets).join(triplets, on="triplet_id")
    assert least <= fmean(guesses["neighbour_guess"] == guesses["is_positive"]) <= most


def describe(head: str, tail: str, *others: str) -> dict[str, float]:
    names = [ComparedName(text) for text in (head, tail, *others)]
    return describe_resemblance(names[0], names[1], weigh_words(names))


def test_words_are_shared_whatever_their_case_and_punctuation() -> None:
    found = describe("Large-cell LYMPHOMA", "lymphoma cell")
    assert found["n_shared"] == 2
    assert (found["quarters_of_head"], found["quarters_of_tail"]) == (2, 4)
    assert (found["is_first_of_tail_shared"], found["is_last_of_tail_shared"]) == (True, True)
    assert (found["is_first_of_head_shared"], found["is_last_of_head_shared"]) == (False, True)
    assert (found["is_first_same"], found["is_last_same"]) == (False, False)
    # A rare word weighs more than a frequent one.
    others = ("cell of the skin", "cell of the bone", "cell of the lung")
    found = describe("basal cell tumor", "basal cell", *others)
    assert found["weight_shared"] == pytest.approx(found["largest_weight"] + found["smallest_weight"])
    assert found["largest_weight"] > found["smallest_weight"] == 0


def test_stems_substrings_and_acronyms_are_found_between_different_words() -> None:
    found = describe("hepatic fibrosis", "hepatitis")
    assert found["n_shared"] == 0
    assert (found["n_stems_5"], found["n_stems_6"]) == (1, 1)
    assert found["longest_prefix_of_words"] == found["longest_substring"] == len("hepati")
    assert found["longest_suffix_of_words"] == found["n_trailing_letters"] == len("is")
    assert describe("COPD", "chronic obstructive pulmonary disease")["is_tail_acronym"]
    assert describe("breast cancer", "breast cancer type 1")["is_head_in_tail"]
    for head, tail in (("aspirin", "fever"), ("a", "b"), ("!?", "fever"), ("fever", ""), ("", "x")):
        nothing = describe(head, tail)
        shared = {name: value for name, value in nothing.items() if "shared" in name or "weight" in name}
        assert (head, tail, shared) == (head, tail, dict.fromkeys(shared, 0))
        # Every pair has the same features.
        assert list(nothing) == list(found)


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
    assert sorted(guesses["triplet_id"]) == sorted(tested)
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
