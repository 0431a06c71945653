"""The shape of a relation: what follows from its rows is never drawn as false."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands.preflight.findings import render_findings
from commands.preflight.validate import validate_config
from pretexeval.config.file import Config
from pretexeval.knowledge.base import HIERARCHY, KnowledgeBase
from pretexeval.knowledge.names import AliasTable
from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import find_manifest
from schemas.choices import Negatives
from tasks.drawing.evidence import Evidence, locate
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.drawing.shapes import ask_for_shapes, find_shapes, guess_shape, name_shape
from tasks.edition.planning import plan_edition
from tasks.edition.triplets import build_triplets
from tests.commands.configurations import build, configure
from tests.support.small_bases import as_facts, as_rows, index_facts

Pair = tuple[str, str]
# Chains of kinds, the most special first.
KINDS = (
    "Wilms tumor, nephroblastoma, kidney neoplasm, urologic neoplasm, neoplasm",
    "chromophobe carcinoma, renal cell carcinoma, kidney neoplasm",
    "bladder papilloma, bladder neoplasm, urologic neoplasm",
    "seminoma, germ cell tumor, gonadal tumor, neoplasm",
    "yolk sac tumor, germ cell tumor",
    "thecoma, sex cord tumor, gonadal tumor",
    "osteoid osteoma, osteoma, bone growth, neoplasm",
    "enchondroma, chondroma, bone growth",
)
CHAINS = sorted({pair for kinds in KINDS for pair in pairwise(kinds.split(", "))})
# Invented: each drug with those that follow in a circle at these distances; each pair is listed once.
DRUGS = ["lithium", "aspirin", "enalapril", "furosemide", "naproxen", "losartan", "ketorolac", "diuron"]
DRUGS += ["celecoxib", "valsartan"]
PARTNERS = [(drug, DRUGS[(i + step) % len(DRUGS)]) for i, drug in enumerate(DRUGS) for step in (1, 3)]
SORTED = sorted((min(pair), max(pair)) for pair in PARTNERS)
LADDER = [(f"h{i}", f"t{i}") for i in range(9)]
# Invented: parts of parts, sorted by name, and names of three vocabularies that mean the same.
PARTS = [(f"p{i // 2 - 1:02}", f"p{i:02}") for i in range(2, 30)]
WORDS = ["arm", "back", "calf", "chest", "elbow", "foot", "hand"]
WORDS += ["heel", "hip", "knee", "leg", "neck", "shin", "toe"]
LEVELS = sorted({(WORDS[i // k], WORDS[i]) for k in (2, 3) for i in range(k, 14)} | {("arm", "knee")})
SAME = [pair for i in range(9) for pair in ((f"icd{i}", f"umls{i}"), (f"mesh{i}", f"umls{i}"))]
SAME += [(f"mesh{i}", f"omim{i}") for i in range(9)] + [(f"omim{i}", f"orpha{i}") for i in range(5)]


def make_base(pairs: Iterable[Pair], *, has_ids: bool = False) -> KnowledgeBase:
    """Return a base of one relation. With ids, every head is written otherwise than as a tail."""
    rows = [{"head": head, "tail": tail} for head, tail in pairs]
    if has_ids:
        ids = {name: f"X:{n}" for n, name in enumerate(sorted({name for pair in pairs for name in pair}))}
        rows = [{"head": f"{h} (disease)", "head_id": ids[h], "tail": t, "tail_id": ids[t]} for h, t in pairs]
    return KnowledgeBase("own", as_rows(rows).sort("head", "tail"))


def close(pairs: Iterable[Pair]) -> set[Pair]:
    found = set(pairs)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def reverse(pairs: Iterable[Pair]) -> set[Pair]:
    return {(tail, head) for head, tail in pairs}


def list_possible(base: KnowledgeBase, relation: str = "r") -> set[Pair]:
    """Return all pairs that may be drawn as false."""
    facts = collect_facts(base, relation)
    heads = facts.heads["head"]
    possible = zip(heads, Evidence(facts).judge(heads).iterate_possible(), strict=True)
    return {(head, tail) for head, flags in possible for tail in facts.tails.filter(pl.Series(flags))}


# Invented: drugs with diseases, of which both relations list a part.
USED = [(f"drug {i}", f"disease {j}") for i in range(14) for j in {i % 9, 2 * i % 9, 3 * i % 9}]
FEW = [(f"drug {i}", f"herb {j % 20}") for i in range(40) for j in (i, i + 1)] + [
    ("drug 1", "drug 2"),
    ("drug 3", "drug 1"),
]
CIRCLE = [("ab", "cd"), ("cd", "ab"), ("cd", "ef"), *((f"k{i}", ("ab", f"l{i}")[i % 2]) for i in range(30))]
CHILDREN = [pair for n, pair in enumerate(CHAINS) if n % 3 != 1]
PARENTS = [pair for n, pair in enumerate(CHAINS) if n % 3 == 1 or n % 2]
STAGES = [(f"week {i:02}", f"week {i + step:02}") for i in range(1, 30) for step in (1, 2, 6)]
PLURALS = [(head, f"{tail}s") for head, tail in CHAINS]
NOTED = [(f"{head} (disorder)", tail) for head, tail in CHAINS]


@pytest.mark.parametrize(("pairs", "has_ids"), [(CHAINS, False), (CHAINS, True), (PARTNERS, True)])
@pytest.mark.parametrize("policy", ["balanced", "uniform"])
def test_no_twin_follows_from_the_rows(pairs: list[Pair], has_ids: bool, policy: Negatives) -> None:
    true = close(pairs) if pairs == CHAINS else reverse(pairs)
    base = make_base(pairs, has_ids=has_ids)
    shaped = replace(base, shapes=find_shapes(base, None, (), is_guessed=True))
    facts = collect_facts(shaped, "r")
    drawn = build_triplets(Piece("r"), lambda: facts, TripletSampling(1, policy))
    false = drawn.filter(~pl.col("is_positive")).select("head", "tail").iter_rows()
    assert true.isdisjoint((head.removesuffix(" (disease)"), tail) for head, tail in false)


@pytest.mark.parametrize(
    ("pairs", "others", "true", "is_possible", "guessed"),
    [
        (CHAINS, [], close(CHAINS), False, "maybe transitive"),
        (PARTNERS, [], reverse(PARTNERS), False, "maybe symmetric"),
        (SORTED, [], reverse(SORTED), False, "maybe symmetric"),
        (PARTS, [], close(PARTS), False, "maybe transitive"),
        (LEVELS, [], close(LEVELS) | reverse(LEVELS), False, "maybe symmetric"),
        (SAME, [], close({*SAME, *reverse(SAME)}), False, "maybe transitive"),
        (USED[::2] + USED[1:9:2], reverse(USED), set(USED), False, None),
        (USED[::2], reverse(USED[1::2]), set(USED), True, None),
        (USED[::2] + USED[1:9:2], USED, set(USED), False, None),
        (CHILDREN, reverse(PARENTS), close(CHAINS), False, None),
        (FEW, [], reverse(FEW), True, None),
        (CIRCLE, [], close(CIRCLE) - {("ab", "ab"), ("cd", "cd")}, False, None),
        (PLURALS, [], {(head, f"{tail}s") for head, tail in close(CHAINS)}, False, None),
        (NOTED, [], {(f"{head} (disorder)", tail) for head, tail in close(CHAINS)}, False, None),
    ],
)
def test_what_the_rows_and_other_spellings_imply_is_never_false(
    pairs: list[Pair], others: Iterable[Pair], true: set[Pair], is_possible: bool, guessed: str | None
) -> None:
    triplets = {"r": pairs, "s": sorted(others)}
    rows = [{"relation": name, "head": h, "tail": t} for name, of in triplets.items() for h, t in of]
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"))
    shaped = replace(base, shapes=find_shapes(base, None, ["r", "s"] if is_possible else [], is_guessed=True))
    assert guessed in (None, shaped.shapes.get("r"))
    alone = replace(base, triplets=base.select_relation("r"), shapes={"r": "directed"})
    assert list_possible(alone) & true
    assert not list_possible(shaped) & true
    assert collect_facts(shaped, "r").list_restating() == (["s"] if others else [])


def test_names_on_both_sides_are_the_same_by_an_alias() -> None:
    base = make_base([("variola major", "smallpox"), ("variola", "viral disease"), ("mumps", "infection")])
    named = replace(base, aliases=AliasTable(pl.DataFrame({"name": ["smallpox"], "alias": ["Variola"]})))
    for known, shape in ((base, None), (named, "maybe transitive")):
        assert guess_shape(known, "r", is_possible=False) == shape
    facts = collect_facts(replace(named, shapes={"r": "transitive"}), "r")
    true = facts.list_true(pl.DataFrame({"head": ["variola major"]}))
    assert set(true["tail"]) == {"smallpox", "viral disease"}


@pytest.mark.parametrize(
    ("pairs", "is_possible", "expected"),
    [
        (LADDER, False, None),
        (STAGES, False, "maybe transitive"),
        ([*LADDER, ("t1", "top")], False, "maybe transitive"),
        ([*LADDER, ("t1", "top"), ("h1", "top")], False, None),
        ([*LADDER, ("t1", "top"), ("h1", "top"), ("top", "t2")], False, "maybe transitive"),
        ([*LADDER, ("t1", "top")], True, None),
        ([*LADDER, ("t1", "top"), ("t2", "top"), ("t3", "top")], True, "maybe transitive"),
        ([*LADDER, ("t1", "h1")], False, None),
        ([*PARTNERS, *reverse(PARTNERS)], False, None),
        # The codes of a classification are sorted, and its parents begin their children.
        ([(f"{a}{b}", f"{a}{b}{c}") for a in "AB" for b in ("", "1", "2") for c in "345"], False, None),
        ([(c[:-1], c) for c in ("A1", "A12", "A123", "A124", "B1", "B12") * 2], False, "maybe transitive"),
    ],
)
def test_a_shape_is_guessed_if_a_fact_follows_that_is_not_listed(
    pairs: list[Pair], is_possible: bool, expected: str | None
) -> None:
    assert guess_shape(make_base(dict.fromkeys(pairs)), "r", is_possible=is_possible) == expected


@pytest.mark.parametrize(
    ("shape", "true"),
    [
        ("transitive", close(CHAINS)),
        ("symmetric", set(CHAINS) | reverse(CHAINS)),
        ("directed", set(CHAINS)),
        ("equivalence", close({*CHAINS, *reverse(CHAINS)})),
        ("maybe transitive", close(CHAINS) | reverse(CHAINS)),
        # Its rows run in no circle, so they may be the levels of a hierarchy.
        ("maybe symmetric", close(CHAINS) | reverse(CHAINS)),
    ],
)
def test_what_follows_from_each_shape(shape: str, true: set[Pair]) -> None:
    facts = collect_facts(replace(make_base(CHAINS), shapes={"r": shape}), "r")
    assert set(facts.list_true(facts.heads.select("head")).rows()) == {
        (head, tail) for head, tail in true if head in set(facts.heads["head"]) and tail in set(facts.tails)
    }


TREATED = [(f"drug{i}", tail) for i, (_, tail) in enumerate(CHAINS)]
SIGNS = [(head, f"sign{i}") for i, (head, _) in enumerate(CHAINS)]


@pytest.mark.parametrize("shape", [None, "transitive", "equivalence", "directed"])
def test_a_transitive_relation_is_the_hierarchy_of_the_others(shape: str | None) -> None:
    triplets = {"r": TREATED, "is_a": CHAINS, "has": SIGNS}
    rows = [{"relation": name, "head": h, "tail": t} for name, pairs in triplets.items() for h, t in pairs]
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"))
    given = {"r": "directed", **({"is_a": shape} if shape else {})}
    shaped = replace(base, shapes=find_shapes(base, given, (), is_guessed=True))
    above = close({*CHAINS, *reverse(CHAINS)} if shape == "equivalence" else CHAINS)
    related = above | reverse(above)
    # What holds for a kind may hold for its kinds, and the other way round, at both ends.
    of_kinds = {(head, tail) for head, true in TREATED for kind, tail in related if kind == true}
    of_heads = {(head, tail) for kind, tail in SIGNS for head, relative in related if relative == kind}
    for relation, doubtful in (("r", of_kinds - set(TREATED)), ("has", of_heads - set(SIGNS))):
        found = list_possible(shaped, relation)
        assert found.isdisjoint(doubtful) == (shape != "directed")
        # All these kinds are connected.
        assert bool(found) == (shape != "equivalence")


@pytest.mark.parametrize(
    ("pairs", "is_possible", "expected"),
    [
        ([("lobar pneumonia", "pneumonia")], False, "maybe transitive"),
        ([("lobar pneumonia", "pneumonia")], True, None),
        ([("lobar pneumonia", "lung")], False, None),
        ([*CHAINS, *(close(CHAINS) - set(CHAINS)), CHAINS[0][::-1]], False, "maybe transitive"),
    ],
)
def test_a_relation_that_links_names_of_another_one_is_a_hierarchy(
    pairs: list[Pair], is_possible: bool, expected: str | None
) -> None:
    treated = [("ceftriaxone", "lobar pneumonia"), ("azithromycin", "pneumonia"), *TREATED]
    triplets = {"r": treated, "s": dict.fromkeys(pairs)}
    rows = [{"relation": name, "head": h, "tail": t} for name, of in triplets.items() for h, t in of]
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"))
    shapes = find_shapes(base, None, ["s"] if is_possible else [], is_guessed=True)
    assert shapes == ({} if expected is None else {"s": expected})
    asked = "\n".join(ask_for_shapes(replace(base, shapes=shapes), ()))
    assert ("azithromycin → lobar pneumonia; r: ceftriaxone → pneumonia" in asked) == (
        len(pairs) == 1 and expected is not None
    )


TREE = [(f"t{n}", f"t{(n - 1) // 3}") for n in range(1, 60)]
WHOLES = sorted(reverse(TREE))
SIGNS_OF_TREE = [(f"t{n}", f"sign {n}") for n in range(60)]


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("names", [("part_of", "has_part"), ("z", "a")])
def test_an_inverse_is_turned_before_it_is_a_hierarchy(step: int, names: tuple[str, str]) -> None:
    triplets = {names[0]: TREE, names[1]: WHOLES[::step], "sign": SIGNS_OF_TREE}
    rows = [{"relation": name, "head": h, "tail": t} for name, pairs in triplets.items() for h, t in pairs]
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"))
    shaped = replace(base, shapes=find_shapes(base, {"sign": "directed"}, (), is_guessed=True))
    related = close(TREE) | reverse(close(TREE))
    of_kinds = {(head, f"sign {tail[1:]}") for head, tail in related}
    for relation, true in zip(triplets, (close(TREE), close(WHOLES), of_kinds), strict=True):
        possible = list_possible(shaped, relation)
        assert possible.isdisjoint(true)
        # Nothing is false of the root. Few rows of an inverse may also be a class of names that are the same.
        lost = {head for head, _ in triplets[relation]} - {head for head, _ in possible}
        assert lost <= ({"t0"} if step < 3 else {"t0", "t1", "t4", "t14", "t43"})


@pytest.mark.parametrize("shape", ["maybe transitive", "transitive", "directed", None])
def test_an_inverse_of_the_hierarchy_of_the_base_is_turned(shape: str | None) -> None:
    edges = [(f"name:{child}", f"name:{parent}") for child, parent in TREE]
    hierarchy = pl.DataFrame(edges, schema=HIERARCHY, orient="row")
    base = replace(make_base(WHOLES[::2]), hierarchy=hierarchy, shapes={"r": shape} if shape else {})
    possible = list_possible(base)
    assert possible.isdisjoint(close(WHOLES))
    assert {head for head, _ in possible} == {head for head, _ in WHOLES[::2]} - {"t0"}


def test_the_direction_of_a_hierarchy_counts_for_parts_of_kinds() -> None:
    """Who is a part of a kind is a part of what is above it, and not of its kinds."""
    triplets = {"is_a": TREE, "includes": WHOLES, "part_of": [("x", "t5"), ("y", "t17"), ("z", "t3")]}
    rows = [{"relation": name, "head": h, "tail": t} for name, pairs in triplets.items() for h, t in pairs]
    shapes = dict.fromkeys(triplets, "transitive")
    base = KnowledgeBase("own", as_rows(rows).sort("relation", "head", "tail"), shapes=shapes)
    facts = collect_facts(base, "part_of")
    inherited = facts.list_inherited(pl.DataFrame({"head": ["x", "y"]}))
    assert set(inherited.rows()) == {("x", "t5"), ("y", "t17"), ("y", "t5")}


def test_parts_of_kinds_of_parts_are_parts() -> None:
    parts = [("phalanx", "finger"), ("thumb", "hand"), ("hand", "arm")]
    rows = as_facts({part: [whole] for part, whole in parts})
    facts = index_facts(rows, edges=[("finger", "digit"), ("digit", "thumb")])
    facts = replace(facts, shape="transitive")
    inherited = facts.list_inherited(pl.DataFrame({"head": ["phalanx"]}))
    assert set(inherited["tail"]) == {"finger", "hand", "arm"}


def test_a_hierarchy_holds_for_heads() -> None:
    edges = [("influenza b", "influenza"), ("influenza", "infection"), ("measles", "infection")]
    rows = as_facts({"influenza b": ["cough"], "infection": ["fever"], "measles": ["rash"]})
    heads = pl.DataFrame({"head": ["influenza b", "infection"]})
    inherited = index_facts(rows, edges=edges).list_inherited(heads)
    down, up = {("influenza b", "cough"), ("influenza b", "fever")}, {("infection", "cough")}
    assert set(inherited.rows()) == down | up | {("infection", "fever"), ("infection", "rash")}


def test_one_tail_for_each_head_is_asked_for(tmp_path: Path) -> None:
    names = [f"{a}{b}ine" for a in ("am", "be", "cor", "dal", "fen") for b in ("or", "us", "il", "ax", "ep")]
    pairs = [(name, f"{name} syndrome") for name in names]
    few = make_base(pairs[:19])
    many = make_base([*pairs[:20], (names[20], f"{names[19]} syndrome")])
    shapes = {
        "one": make_base(pairs),
        "few": few,
        "many": many,
        "no": make_base([*pairs, (names[0], "pain")]),
    }
    named = {name: name_shape(base, "r", is_possible=False) for name, base in shapes.items()}
    assert named == {"one": "maybe one-to-one", "few": None, "many": "maybe functional", "no": None}
    (line,) = ask_for_shapes(shapes["one"], ())
    assert "amaxine → amaxine syndrome; amepine → amepine syndrome" in line
    assert 'shape.r = "functional"' in line
    assert not list(ask_for_shapes(replace(shapes["one"], shapes={"r": "directed"}), ()))
    with pytest.raises(InputError, match=r"'amorine' has several tails \(amorine syndrome, pain\)"):
        find_shapes(shapes["no"], "functional", (), is_guessed=True)


def test_no_tail_of_a_functional_relation_is_doubtful() -> None:
    rows = [(f"gene {i} of {j}", f"site {i % 7} {j}") for i in range(50) for j in "abcdefghijkl"]
    for shape, has_chances in ((None, True), ("functional", False)):
        base = replace(make_base(rows), shapes={} if shape is None else {"r": shape})
        assert Evidence(collect_facts(base, "r")).chances.any() == has_chances


def test_what_most_kinds_of_a_kind_reach_is_likely() -> None:
    rows = [(f"cell {i}", f"kind {i % 99}") for i in range(600)] + [
        (f"kind {i}", "body cell") for i in range(9)
    ]
    rows += [("body cell", "native cell"), ("body cell", "animal cell"), ("scleroblast", "native cell")]
    for shape, is_excluded in (("directed", False), ("transitive", True)):
        evidence = Evidence(collect_facts(replace(make_base(rows), shapes={"r": shape}), "r"))
        column = locate(evidence.tails, pl.Series(["animal cell"]))
        excluded, *_ = evidence.judge(pl.Series(["scleroblast"])).judge_pairs(np.zeros(1, np.int64), column)
        assert excluded.item() == is_excluded


def configure_kinds(folder: Path, **knowledge: object) -> Config:
    """Return the configuration of the chains, under the name of a relation that has prototypes."""
    rows = [(head, "due_to", tail) for head, tail in CHAINS]
    config = configure(folder, rows, edition={"seed": 3})
    table = config.knowledge.model_dump() | knowledge
    return Config.model_validate(config.model_dump() | {"knowledge": table})


def test_validate_asks_for_a_guessed_shape_unless_it_is_given(tmp_path: Path) -> None:
    config = configure_kinds(tmp_path)
    (line,) = (line for line in render_findings(validate_config(config)).splitlines() if "maybe" in line)
    assert "Wilms tumor → kidney neoplasm; bladder neoplasm → neoplasm" in line
    assert 'shape.due_to = "transitive"' in line
    manifest = find_manifest(tmp_path / "data", build(config))
    assert manifest is not None
    assert manifest["balance"]["due_to"]["shape"] == "maybe transitive"
    for given, shapes in (
        ("transitive", {"due_to": "transitive"}),
        ({"due_to": "directed"}, {"due_to": "directed"}),
    ):
        shaped = configure_kinds(tmp_path, shape=given)
        assert plan_edition(shaped).configuration["shapes"] == shapes
        assert plan_edition(shaped).edition_id != manifest["edition_id"]
    assert "maybe" not in render_findings(validate_config(shaped))
    with pytest.raises(InputError, match=r"shape of \[knowledge\] names is_a, but own has no such relation"):
        plan_edition(configure_kinds(tmp_path, shape={"is_a": "transitive"}))
