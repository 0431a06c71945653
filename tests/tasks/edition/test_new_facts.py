"""An edition of which only the facts are tested that an older release lacks."""

from pathlib import Path

import polars as pl
import pytest

from commands.preflight.reading import count_facts
from commands.preflight.validate import render_validation, validate_config
from pretexeval.config.file import Config
from pretexeval.config.tables import ReleaseConfig
from pretexeval.knowledge.base import LeftOut
from pretexeval.primitives.errors import InputError
from tasks.edition.planning import plan_edition
from tasks.edition.preview import require_buildable
from tasks.edition.triplets import draw_triplets
from tests.support.command import make_rows, write_base
from tests.support.small_bases import build_frames


def configure(folder: Path, *n_new: int, n_heads: int = 20) -> Config:
    """Return a configuration whose older release lacks the facts of the last heads of each relation."""
    relations = ("may_treat", "may_prevent")[: len(n_new)]
    rows = make_rows(*relations, n_heads=n_heads)
    n_known = {relation: n_heads - n for relation, n in zip(relations, n_new, strict=True)}
    older = [row for row in rows if int(row[0].split()[-1]) < n_known[row[1]]]
    write_base(folder / "new.tsv", rows)
    write_base(folder / "older.tsv", older)
    table = {"name": "own", "format": "table", "path": folder / "new.tsv", "since": folder / "older.tsv"}
    return Config.model_validate({"knowledge": table, "storage": {"root": folder / "data"}})


def test_a_relation_with_too_few_new_facts_is_left_out(tmp_path: Path) -> None:
    summary = validate_config(configure(tmp_path, 12, 6))
    assert [each["relation"] for each in summary.relations] == ["may_treat"]
    reason = "too few heads have a fact that the older release lacks (6)"
    assert summary.left_out == (LeftOut("may_prevent", "the relation", reason),)
    # Heads have one tail, and those whose number is a multiple of three have two.
    assert (summary.facts.n_tested, summary.facts.n_known) == (12 + 4, (8 + 3) + (14 + 5))
    text = render_validation(summary)
    assert f"may be tested: {summary.facts.n_tested}; " in text
    assert f"  may_prevent: the relation: {reason}\n" in text


def test_only_new_facts_are_true_triplets(tmp_path: Path) -> None:
    edition = plan_edition(configure(tmp_path, 12))
    frame = draw_triplets(edition.base, "may_treat", edition.sampling)
    heads = {int(head.split()[-1]) for head in frame["head"]}
    assert heads <= set(range(8, 20))
    assert len(heads) > 5


def test_too_few_new_facts_in_all_relations_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"enough facts .*\(may_prevent: 5 heads, may_treat: 3 heads\)"):
        plan_edition(configure(tmp_path, 3, 5))


def test_ages_name_another_edition_of_the_same_triplets(tmp_path: Path) -> None:
    config = configure(tmp_path, 12)
    table = config.knowledge.model_copy(update={"since": None})
    plain = plan_edition(config.model_copy(update={"knowledge": table}))
    release = ReleaseConfig(name="2023", path=tmp_path / "older.tsv")
    aged_table = table.model_copy(update={"releases": (release,)})
    aged = plan_edition(config.model_copy(update={"knowledge": aged_table}))
    assert aged.edition_id != plain.edition_id
    assert count_facts(plain).n_by_release == {}
    assert count_facts(aged).n_by_release == {"2023": 11, "new": 16}
    frames = [build_frames(edition, "may_treat")["triplets"] for edition in (plain, aged)]
    assert frames[0].drop("first_release").equals(frames[1].drop("first_release"))
    ages = frames[1].filter("is_positive")
    is_new = [int(head.split()[-1]) >= 8 for head in ages["head"]]
    assert (ages["first_release"] == "new").to_list() == is_new
    assert frames[1].filter(~pl.col("is_positive"))["first_release"].is_null().all()
    require_buildable(aged)
