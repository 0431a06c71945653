import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from schemas.stages import SAMPLES
from schemas.transformations import NAMES
from tasks.edition.samples import keep_statements, reword_statements
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts, make_prototypes

BASE = make_base(r=make_facts(40, 10))


def make_samples(root: Path, **table: Any) -> pl.DataFrame:  # noqa: ANN401
    return build_frames(make_edition(root, BASE, **table), "r")["samples"]


def held_out(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("split") == "demonstration")


def under_test(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("split") == "test")


def test_reviewed_samples_are_filled_wordings_with_their_metadata(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE), "r")
    samples, triplets = frames["samples"], frames["triplets"]
    assert samples.columns == SAMPLES.names
    constant = ["method", "rephraser", "status", "attempts"]
    assert samples.select(constant).unique().rows() == [("pretexeval", "reviewed", "as_is", 0)]
    shared = ["variant_id", "triplet_id", "pair_id", "relation", "split", "transformation", "label"]
    assert samples.select(shared).equals(frames["statements"].select(shared))
    assert samples["sample_id"].n_unique() == samples.height == 640
    entities = {i: (h, t) for i, h, t in triplets.select("triplet_id", "head", "tail").iter_rows()}
    for triplet_id, name, index, text in samples.select(
        "triplet_id", "transformation", "sample_index", "text"
    ).iter_rows():
        head, tail = entities[triplet_id]
        first, second = (tail, head) if name.startswith("inv") else (head, tail)
        assert re.fullmatch(rf"r {name} [12]: {first} and {second}\.", text)
        assert index == NAMES.index(name)


def test_only_wordings_of_a_bundled_pool_count_as_reviewed(tmp_path: Path) -> None:
    frames = build_frames(make_edition(tmp_path, BASE), "r")
    own = frames["samples"]
    reviewed = reword_statements(frames["statements"], frames["triplets"], make_prototypes("r"), 1)
    assert reviewed["text"].equals(own["text"])
    assert set(reviewed["status"]) == {"accepted"}
    assert set(own["status"]) == {"as_is"}


def test_all_wordings_are_drawn_but_not_the_prototype(tmp_path: Path) -> None:
    texts = make_samples(tmp_path)["text"]
    counts = Counter(text.split()[2] for text in texts)
    assert set(counts) == {"1:", "2:"}
    # 640 fair draws: five standard deviations on either side.
    assert all(abs(n - 320) < 64 for n in counts.values())


def test_demonstrations_do_not_change_with_the_edition(tmp_path: Path) -> None:
    editions = [
        make_samples(tmp_path, seed=seed, negatives=n)
        for seed, n in ((1, "balanced"), (2, "balanced"), (3, "balanced"))
    ]
    for one, two in pairwise(editions):
        assert held_out(one).equals(held_out(two))
        assert not under_test(one).equals(under_test(two))
        assert not set(held_out(one)["text"]) & set(under_test(two)["text"])


@pytest.mark.parametrize(
    ("method", "kind", "n_texts"),
    [("pretexeval", "none", 8), ("prototype", "reviewed", 8), ("direct", "reviewed", 1)],
)
def test_unrephrased_sample_is_its_statement(tmp_path: Path, method: str, kind: str, n_texts: int) -> None:
    frames = build_frames(make_edition(tmp_path, BASE, kind=kind, methods=(method,)), "r")
    samples = frames["samples"]
    kept = frames["statements"].filter(pl.col("transformation").is_in(NAMES[:n_texts]))
    assert samples["text"].to_list() == kept["statement"].to_list()
    assert samples.height == 80 * n_texts
    constant = ["method", "rephraser", "status", "attempts"]
    assert samples.select(constant).unique().rows() == [(method, "none", "as_is", 0)]
    assert set(samples["reasons"].list.len()) == {0}


def test_origin_fills_the_template_of_the_base_in_place_of_the_prototype(tmp_path: Path) -> None:
    base = make_base(may_treat=make_facts(40, 10))
    frames = build_frames(make_edition(tmp_path, base, methods=("origin",)), "may_treat")
    triplets = frames["triplets"].select("triplet_id", "head", "tail", "is_positive")
    rows = frames["samples"].join(triplets, on="triplet_id")
    assert rows.height == triplets.height == 80
    for text, head, tail in rows.select("text", "head", "tail").iter_rows():
        assert text.casefold() == f"{head} may treat {tail}.".casefold()
    assert rows["label"].equals(rows["is_positive"], check_names=False)
    constant = ["method", "transformation", "status"]
    assert rows.select(constant).unique().rows() == [("origin", "none", "as_is")]


def test_samples_of_methods_follow_each_other_and_have_distinct_ids(tmp_path: Path) -> None:
    samples = make_samples(tmp_path, methods=("direct", "prototype"))
    assert samples["method"].to_list() == ["direct"] * 80 + ["prototype"] * 640
    assert samples["sample_id"].n_unique() == 720


def test_ids_change_with_method_and_template(tmp_path: Path) -> None:
    statements = build_frames(make_edition(tmp_path, BASE), "r")["statements"]
    one = keep_statements(statements, "pretexeval")
    reworded = statements.with_columns(pl.col("prototype_id") + "0")
    for other in (keep_statements(statements, "prototype"), keep_statements(reworded, "pretexeval")):
        assert not set(one["sample_id"]) & set(other["sample_id"])


def test_missing_wordings_are_an_error(tmp_path: Path) -> None:
    edition = make_edition(tmp_path, BASE)
    cells = edition.pool.relations["r"].cells
    cells["dn"] = type(cells["dn"])(cells["dn"].prototype)
    with pytest.raises(InputError, match=r"relation 'r' has no wordings for dn in pool"):
        build_frames(edition, "r")
