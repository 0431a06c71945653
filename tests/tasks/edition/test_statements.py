import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prototypes.templates import build_prototypes
from schemas.stages import STATEMENTS
from schemas.transformations import NAMES
from tasks.drawing.heads import TripletSampling
from tasks.edition.statements import fill_prototypes, write_sentences
from tasks.edition.triplets import draw_triplets
from tasks.edition.variants import derive_variants
from tests.support.small_bases import make_base, make_facts, make_prototypes, names

PLAIN = st.text(st.characters(exclude_characters="\x00[]", exclude_categories=["Cs"]), max_size=9)


def fill(template: str, head: str, tail: str) -> str:
    frame = pl.DataFrame({"template": [template], "head": [head], "tail": [tail]})
    return str(write_sentences(frame).item())


@given(st.tuples(PLAIN, PLAIN, PLAIN), names(), names(), st.booleans())
def test_names_do_not_change_how_a_template_is_filled(
    parts: tuple[str, str, str], head: str, tail: str, is_head_first: bool
) -> None:
    before, between, after = parts
    slots = ("[X]", "[Y]") if is_head_first else ("[Y]", "[X]")
    values = (head, tail) if is_head_first else (tail, head)
    # A word before the slot: what begins a sentence gets a capital, and an article fits the name.
    template = f"As {before}: {slots[0]}{between}: {slots[1]}{after}"
    assert fill(template, head, tail) == f"As {before}: {values[0]}{between}: {values[1]}{after}"


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
        ("Take [X] for [Y].", "[Y]", "[X]", "Take [Y] for [X]."),
        ("[Y] and [X] \\1 {} $0.", "[Y]", "a\\b [X]", "a\\b [X] and [Y] \\1 {} $0."),
    ],
)
def test_sentences_begin_with_a_capital_and_have_the_right_articles(
    template: str, head: str, tail: str, text: str
) -> None:
    assert fill(template, head, tail) == text


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
        assert write_sentences(frame).to_list() == expected


def test_statement_of_a_variant_is_its_filled_prototype() -> None:
    triplets = draw_triplets(make_base(r=make_facts(12, 4)), "r", TripletSampling(1))
    variants = derive_variants(triplets, ("P", "Q"), is_possibility=False)
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
    variants = derive_variants(triplets, ("P", "Q"), is_possibility=False)
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


def test_sentences_are_in_the_order_of_their_rows() -> None:
    rows = [(template, f"h{i}", "t") for i in range(3) for template in ("[X] of [Y].", "[Y] has [X].")]
    frame = pl.DataFrame(rows, schema=["template", "head", "tail"], orient="row")
    assert write_sentences(frame).to_list() == [
        text for i in range(3) for text in (f"h{i} of t.", f"t has h{i}.")
    ]
