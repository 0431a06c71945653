"""Names that are no names, and names that look wrong: what becomes of each kind, and what stays as it is."""

import csv
from pathlib import Path

import polars as pl
import pytest

from commands.preflight.validate import validate_config
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.doubtful_names import (
    ALIAS_LISTS,
    OF_ID,
    REMEDIES,
    list_name_troubles,
    summarize_name_troubles,
)
from pretexeval.knowledge.untested import NO_FACT, PLACEHOLDER, PLACEHOLDER_HEAD, leave_untested
from tasks.edition.planning import plan_edition
from tests.commands.configurations import build, configure
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write, write_rows
from tests.support.small_bases import as_rows


def read_names(table: str) -> list[dict[str, str]]:
    with Path(__file__).with_name(table).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


LEFT_OUT = (
    "mark of a missing value",
    "has no letter",
    "is an address",
    "is the answer yes or no",
    "the name or the type of a column",
)


def test_each_kind_of_name_is_left_out_or_counted_or_kept(tmp_path: Path) -> None:
    """A name that is left out takes its row with it, at either end; every other one stays."""
    names = read_names("names.tsv")
    for end, other in (("head", "tail"), ("tail", "head")):
        rows = [{end: each["name"], other: f"n{k}", "relation": "r"} for k, each in enumerate(names)]
        base = read_own(write_rows(tmp_path / "own.parquet", rows))
        reasons = {item.what: item.reason for item in base.left_out}
        for k, each in enumerate(names):
            name, kind = each["name"], each["kind"]
            what = f"r: {name} → n{k}" if end == "head" else f"r: n{k} → {name}"
            assert (kind in LEFT_OUT) == (what in reasons), name
            if kind in LEFT_OUT:
                assert kind in reasons[what]
                assert reasons[what].startswith(f"the {end} ")
                continue
            found = list_name_troubles(base.triplets.filter(pl.col(other) == f"n{k}"))
            assert any(kind in trouble.kind for trouble in found) if kind else not found, (name, found)


def test_names_that_were_cut_at_one_length_are_counted() -> None:
    tails = [
        "chronic obstructive pulmonary disease",
        "severe acute respiratory syndrome",
        "limb girdle weakness",
    ]
    tails += ["recurrent urinary tract infections", "swelling of the lower legs", "itching"]
    rows = as_rows({"head": f"drug {n}", "tail": tail[:20]} for n, tail in enumerate(tails))
    (trouble,) = (each for each in list_name_troubles(rows) if "greatest length" in each.kind)
    assert (trouble.n, trouble.examples[0]) == (5, "chronic obstructive ".strip() + " ")


def test_doubtful_names_are_counted_with_three_examples_and_those_of_several_ids_too() -> None:
    facts = [("a_a", "b"), ("a_b", "b"), ("a_c", "b_x"), ("a_d", "b_x")]
    rows = as_rows({"head": head, "tail": tail} for head, tail in facts)
    homonyms = as_rows({"head": "mixture", "head_id": str(n // 2), "tail": f"t{n}"} for n in range(7))
    first, second = list_name_troubles(pl.concat([rows, homonyms]))
    assert (first.n, first.examples) == (5, ("a_a", "a_b", "a_c"))
    assert (second.kind, second.n, second.examples) == ("have several ids", 1, ("mixture (4 ids)",))
    (line,) = summarize_name_troubles(rows)
    assert line.startswith(f"names look wrong (5 {first.kind}): ")


@pytest.mark.parametrize(
    ("name", "identifier", "is_left_out"),
    [
        ("Q12", "http://www.wikidata.org/entity/Q12", True),
        ("C0018099", "UMLS:C0018099", True),
        ("MONDO_0005393", "http://purl.obolibrary.org/obo/MONDO_0005393", True),
        ("Q fever", "http://www.wikidata.org/entity/Q12", False),
        ("Q12", "http://www.wikidata.org/entity/Q13", False),
        ("TP53", "http://identifiers.org/hgnc.symbol/TP53", False),
        ("F8", "F8", False),
    ],
)
def test_the_end_of_an_id_is_no_name(tmp_path: Path, name: str, identifier: str, is_left_out: bool) -> None:
    rows = [{"relation": "r", "head": name, "head_id": identifier, "tail": "pain"}]
    rows += [{"relation": "r", "head": "gout", "head_id": "X:1", "tail": "pain"}]
    base = read_own(write_rows(tmp_path / "own.parquet", rows))
    assert [item.reason for item in base.left_out] == [OF_ID.format("head")] * is_left_out


def test_aliases_that_are_lists_are_named_with_the_remedy(tmp_path: Path) -> None:
    listed = ("GOUT PILL | gout remedy", "acid; salt")
    rows = [f"may_treat head {n},{alias}\n" for n, alias in enumerate((*listed, "acetylsalicylic acid"))]
    write(tmp_path / "aliases.csv", "name,alias\nunknown,a b | c d\n" + "".join(rows))
    config = configure(tmp_path)
    knowledge = config.knowledge.model_copy(update={"aliases": tmp_path / "aliases.csv"})
    (found,) = (
        each
        for each in validate_config(config.model_copy(update={"knowledge": knowledge}))
        if each.name == "names"
    )
    (row,) = (row for row in found.rows if row["kind"] == ALIAS_LISTS)
    assert (row["n"], row["examples"]) == (2, listed)
    assert row["remedy"].startswith("write each alias in a row of its own")


def test_entities_are_decoded_and_runs_of_blanks_closed(tmp_path: Path) -> None:
    for written, read in (
        ("beta&#945;-agonist &amp; co", "betaα-agonist & co"),
        ("TNF&#x3b1;&nbsp;level", "TNFα level"),
        ("&amp;beta;-blocker", "β-blocker"),
        ("  fever \u00a0  of\u2003unknown origin", "fever of unknown origin"),
        ("AT&T; R&D", "AT&T; R&D"),
    ):
        row = {"head": written, "relation": "r", "tail": f"{written} x", "head_aliases": f"a||{written} y"}
        base = read_own(write_rows(tmp_path / "own.parquet", [row]))
        assert list_tested(base) == [(read, f"{read} x")], written
        assert base.aliases == {read: (f"{read} y", "a") if read < "a" else ("a", f"{read} y")}, written


def test_a_relation_without_any_name_and_ids_that_are_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "own.csv", "head,relation,tail\ngout,r,NA\ngout,s,fever\n")
    assert "nothing to test in r: every row is" in read_error(path)
    rows = "gout,r,fever,NA\nmumps,r,rash,n/a\nrabies,r,itch,-\nplague,r,cough,C1\n"
    base = read_own(write(tmp_path / "ids.csv", "head,relation,tail,tail_id\n" + rows))
    assert base.triplets["tail_id"].to_list() == [None, None, "C1", None]


def test_inverted_names_are_turned_if_the_base_says_so_and_stay_aliases(tmp_path: Path) -> None:
    names = {row["name"]: row["turned"] for row in read_names("inverted_names.tsv")}
    rows = [{"head": name, "relation": "r", "tail": f"of {n}"} for n, name in enumerate(names)]
    path = write_rows(tmp_path / "own.parquet", rows)
    base = read_own(path, turn_inverted=True)
    assert {head for head, _ in list_tested(base)} == set(names.values())
    assert base.aliases == {turned: (name,) for name, turned in names.items() if turned != name}
    (trouble,) = list_name_troubles(read_own(path).triplets)
    assert "turn_inverted = true in [knowledge]" in REMEDIES[trouble.kind]


def test_heads_that_are_placeholders_are_not_asked_and_classes_are() -> None:
    names = {row["name"]: row["meaning"] for row in read_names("placeholders.tsv")}
    rows = as_rows({"head": name, "tail": f"tail {n}"} for n, name in enumerate(names))
    base = leave_untested(KnowledgeBase("own", rows), [], 0.05)
    assert {head for head, _ in list_tested(base)} == {name for name in names if names[name] == "class"}
    assert base.triplets.height == len(names)
    reason = NO_FACT.format(PLACEHOLDER_HEAD)
    left_out = {(name, reason) for name in names if names[name] == "placeholder"}
    assert {(item.what, item.reason) for item in base.left_out} == left_out


def test_what_is_left_out_is_one_line_per_reason_and_tested_heads_are_those_of_the_build(
    tmp_path: Path,
) -> None:
    facts = [(f"drug {n}", "may_treat", f"disease {n % 7}") for n in range(20)]
    lost = [("others", "may_treat", "disease 1"), ("drug x", "may_treat", "unspecified")]
    rows = [*facts, *[facts[0]] * 12, *lost, ("drug y", "may_treat", "N/A"), ("drug z", "may_treat", "?")]
    config = configure(tmp_path, rows)
    found = {each.name: each for each in validate_config(config)}
    assert found["left out"].found == "17 parts of the source are not used, or never asked"
    with_one_part = configure(tmp_path, [*facts, facts[0]])
    (one,) = (each for each in validate_config(with_one_part) if each.name == "left out")
    assert one.found == "1 part of the source is not used, or never asked"
    config = configure(tmp_path, rows)
    first, *others = found["left out"].rows
    assert (first["n"], first["reason"], first["example"][:13]) == (
        12,
        "repeats another row",
        "own.tsv, line",
    )
    for example in ("others", "drug x", "drug y → N/A", "drug z → ?"):
        assert [row["n"] for row in others if row["example"].endswith(example)] == [1]
    lost_heads = {(each["relation"], each["reason"], each["n_heads"]) for each in found["lost heads"].rows}
    assert {("may_treat", PLACEHOLDER_HEAD, 1), ("may_treat", PLACEHOLDER, 1)} <= lost_heads
    edition_id = build(config)
    manifest = plan_edition(config).root / "editions" / edition_id / "manifest.json"
    assert f'"n_pairs": {found["relations"].rows[0]["n_tested_heads"]},' in manifest.read_text()
    few = configure(tmp_path, [*facts[:6], facts[0], *lost, rows[-1]], edition={"negatives": "balanced"})
    refused, *_ = validate_config(few)
    assert refused.state == "failing"
    lost_head, lost_row = (
        "1 head because the head is a placeholder (others)",
        "1 row because the tail is a number",
    )
    assert f"; {lost_head}; {lost_row}" in refused.found
    assert refused.found.endswith(" (drug z → ?))")
