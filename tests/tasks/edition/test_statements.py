import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prototypes.templates import build_prototypes
from schemas.stages import STATEMENTS
from schemas.transformations import NAMES
from tasks.drawing.heads import TripletSampling
from tasks.edition.statements import fill_prototypes, fill_template, write_sentence, write_sentences
from tasks.edition.triplets import draw_triplets
from tasks.edition.variants import derive_variants
from tests.support.small_bases import make_base, make_facts, make_prototypes, names

PLAIN = st.text(st.characters(exclude_characters="\x00[]", exclude_categories=["Cs"]), max_size=9)


def fill(template: str, head: str, tail: str) -> str:
    frame = pl.DataFrame({"template": [template], "head": [head], "tail": [tail]})
    return str(frame.select(fill_template(pl.col("template"))).item())


@pytest.mark.parametrize(
    ("template", "head", "tail", "text"),
    [
        ("[X] may treat [Y].", "A", "B", "A may treat B."),
        ("[Y] may be treated by [X].", "A", "B", "B may be treated by A."),
        ("[X][Y]", "A", "B", "AB"),
        ("Take [X] for [Y].", "[Y]", "[X]", "Take [Y] for [X]."),
        ("Take [Y] for [X].", "A [Y] a", "B [X] b", "Take B [X] b for A [Y] a."),
        ("[X] and [Y].", "[X][X]", "[Y][Y]", "[X][X] and [Y][Y]."),
        ("[X] \\1 [Y] {} $0.", "a\\b", 'the "b"', 'a\\b \\1 the "b" {} $0.'),
        ("[X] – [Y] [Z] [x].", "β-catenin", "Sjögren", "β-catenin – Sjögren [Z] [x]."),
    ],
)
def test_slots_are_filled_in_one_pass(template: str, head: str, tail: str, text: str) -> None:
    assert fill(template, head, tail) == text


@given(st.tuples(PLAIN, PLAIN, PLAIN), names(), names(), st.booleans())
def test_names_do_not_change_how_a_template_is_filled(
    parts: tuple[str, str, str], head: str, tail: str, is_head_first: bool
) -> None:
    before, between, after = parts
    slots = ("[X]", "[Y]") if is_head_first else ("[Y]", "[X]")
    values = (head, tail) if is_head_first else (tail, head)
    template = before + slots[0] + between + slots[1] + after
    assert fill(template, head, tail) == before + values[0] + between + values[1] + after


@pytest.mark.parametrize(
    ("template", "head", "tail", "text"),
    [
        ("[X] may treat [Y].", "aspirin", "pain", "Aspirin may treat pain."),
        ("[Y] may be treated by [X].", "aspirin", "acute pain", "Acute pain may be treated by aspirin."),
        ("[X] is made by [Y].", "mRNA", "p53", "mRNA is made by p53."),
        ("[X] is made by [Y].", "p53 protein", "x", "p53 protein is made by x."),
        ("The drug [X] may treat [Y].", "aspirin", "pain", "The drug aspirin may treat pain."),
        ("Take a [X] for an [Y].", "aspirin", "fever", "Take an aspirin for a fever."),
        ("A [X] is a [Y].", "MRI", "uterine scan", "An MRI is a uterine scan."),
        (
            "An [X] is an [Y].",
            "urinary infection",
            "unusual event",
            "A urinary infection is an unusual event.",
        ),
        ("Vitamin a [X] [Y].", "one-off", "use", "Vitamin a one-off use."),
        ("[X] treats [Y].", "crohn's drug", "x", "Crohn's drug treats x."),
        ("[X] treats [Y].", "β-blocker", "$1 [X]", "β-blocker treats $1 [X]."),
    ],
)
def test_sentences_begin_with_a_capital_and_have_the_right_articles(
    template: str, head: str, tail: str, text: str
) -> None:
    frame = pl.DataFrame({"template": [template], "head": [head], "tail": [tail]})
    assert frame.select(write_sentence(pl.col("template"))).item() == text
    assert write_sentences(frame).item() == text


@pytest.mark.parametrize(
    ("article", "names"),
    [
        ("an", "MRI MI NSAID ECG HIV LAD X-ray mRNA hCG siRNA AIDS ulcer unusual uninfected oncogene onion"),
        ("an", "hour heir infarct Ebola upper umbilicus 80-year 11-beta S F-wave étude ε-toxin"),
        (
            "a",
            "UTI UV uterus urologic ureter unit unilateral use ubiquitin uveal European Ewing one-off once",
        ),
        ("a", "SARS NASH HELLP CT PET scan beta tRNA 70-year 110 héros Rash 1-alpha γ-globulin"),
    ],
)
def test_articles_follow_the_sound_of_the_name(article: str, names: str) -> None:
    expected = [f"It is {article} {name} of x." for name in names.split()]
    for written in ("a", "an"):
        frame = pl.DataFrame({"head": names.split()}).with_columns(
            tail=pl.lit("x"), template=pl.lit(f"It is {written} [X] of [Y].")
        )
        assert frame.select(write_sentence(pl.col("template"))).to_series().to_list() == expected


def test_statement_of_a_variant_is_its_filled_prototype() -> None:
    triplets = draw_triplets(make_base(r=make_facts(12, 4)), "r", TripletSampling(1))
    variants = derive_variants(triplets, ("P", "Q"))
    statements = fill_prototypes(variants, triplets, make_prototypes("r"))
    assert statements.columns == STATEMENTS.names
    assert statements["variant_id"].to_list() == variants["variant_id"].to_list()
    assert statements["label"].to_list() == variants["label"].to_list()
    entities = {i: (h, t) for i, h, t in triplets.select("triplet_id", "head", "tail").iter_rows()}
    for triplet_id, name, statement in statements.select(
        "triplet_id", "transformation", "statement"
    ).iter_rows():
        head, tail = entities[triplet_id]
        first, second = (tail, head) if name.startswith("inv") else (head, tail)
        assert statement == f"r {name} 0: {first} and {second}."


def test_prototype_id_depends_on_relation_transformation_and_template() -> None:
    triplets = draw_triplets(make_base(r=make_facts(12, 4)), "r", TripletSampling(1))
    variants = derive_variants(triplets, ("P", "Q"))
    same = {name: ["[X] and [Y]."] for name in NAMES}
    pools = [
        make_prototypes("r"),
        make_prototypes("r", word="or"),
        build_prototypes("r", ("P", "Q"), same),
        build_prototypes("s", ("P", "Q"), same),
    ]
    ids = [set(fill_prototypes(variants, triplets, p)["prototype_id"]) for p in pools]
    assert [len(found) for found in ids] == [8, 8, 8, 8]
    assert len(set().union(*ids)) == 32


def test_sentences_of_many_templates_are_those_of_each_row() -> None:
    templates = ["A [X] is an [Y].", "[Y]: an [X]!", "No a [X]an [Y]", "[X] [X] a [Y]", "no slot"]
    names = ["aspirin", "UV light", "β-blocker", "[Y]", "$1", "cell \x00"]
    rows = [(template, head, tail) for template in templates for head in names for tail in names]
    frame = pl.DataFrame(rows, schema=["template", "head", "tail"], orient="row").reverse()
    expected = [frame[row].select(write_sentence(pl.col("template"))).item() for row in range(frame.height)]
    assert write_sentences(frame).to_list() == expected
