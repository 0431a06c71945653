import pytest

from pretexeval.gate.lexicon import split_words
from pretexeval.gate.names import mask_entities

SAME = [
    ("lung cancer", "cancer of the lung"),
    ("lung cancer", "Lung cancers"),
    ("lung cancer", "lung carcinoma"),
    ("Crohn's disease", "Crohn disease"),
    ("iron deficiency anemia", "iron-deficiency anaemia"),
    ("esophageal tumor", "oesophageal tumour"),
    ("First degree laceration", "first-degree laceration"),
    ("myocardial infarction", "myocardial infarction (MI)"),
    ("Dyskinesia, Drug-Induced", "drug-induced dyskinesia"),
    ("Pancreatic Neoplasm, High Grade", "High-Grade Pancreatic Neoplasm"),
    ("radiation (PUVA) keratosis", "radiation keratosis (PUVA)"),
    ("Psoralen and ultraviolet radiation (PUVA) keratosis", "PUVA keratosis"),
    ("Appendicitis (disorder)", "appendicitis"),
    ("Sjögren's syndrome", "Sjogren syndrome"),
    ("ulcer of cornea", "corneal ulcer"),
    ("GNAQ Gene Mutation", "a mutation in the GNAQ gene"),
    ("[X] syndrome", "[x] syndrome"),
    ("hepatitis A", "Hepatitis A"),
    ("metastasis", "metastases"),
    ("corneal ulcer", "corneal ulcer(s)"),
    ("X-linked recessive inheritance", "inheritance that is X-linked recessive"),
    ("mitogen-activated protein kinase kinase kinase 7", "MAP3K7"),
    ("Borrelia burgdorferi", "B. burgdorferi"),
    (
        "B Lymphoblastic Leukemia with t(9;22)(q34.1;q11.2); BCR-ABL1",
        "BCR-ABL1 t(9;22)(q34.1;q11.2) B lymphoblastic leukemia",
    ),
]
OTHER = [
    ("type 1 diabetes", "type 2 diabetes"),
    ("type 1 diabetes", "diabetes type"),
    ("left kidney", "right kidney"),
    ("acute pancreatitis", "chronic pancreatitis"),
    ("chronic kidney disease", "kidney disease"),
    ("lung cancer", "cancer"),
    ("lung cancer", "breast cancer"),
    ("hepatitis A", "a case of hepatitis"),
    ("hepatitis B virus", "hepatitis B vaccine"),
    ("hypothyroidism", "hyperthyroidism"),
    ("factor VIII", "factor IX"),
    ("carcinoma", "carcinoid"),
    ("G0 to G1 transition", "transition of G1 to G0"),
    ("First degree laceration", "superficial cut"),
    ("mixed carcinoma of breast", "breast tissue exhibiting mixed carcinoma"),
    ("stage 2 lung cancer", "lung cancer, now at stage 3 and 2 years old"),
]


def is_found(name: str, mention: str) -> bool:
    masked = mask_entities(f"The body shows {mention} beside quartz.", [name], ["quartz"])
    return not masked.is_head_lost


@pytest.mark.parametrize(("name", "mention"), SAME)
def test_the_name_in_another_form_is_the_same_entity(name: str, mention: str) -> None:
    assert is_found(name, mention)


@pytest.mark.parametrize(("name", "mention"), OTHER)
def test_another_name_is_another_entity(name: str, mention: str) -> None:
    assert not is_found(name, mention)


def test_a_name_inside_the_other_name_does_not_count_as_a_mention() -> None:
    masked = mask_entities("Hepatitis B virus causes fever.", ["hepatitis B virus"], ["hepatitis B"])
    assert masked.tokens == ("X", "causes", "fever")
    assert masked.is_tail_lost


def test_names_that_differ_only_in_number_are_distinguished_by_their_order() -> None:
    masked = mask_entities("Crystal shows crystals.", ["crystal"], ["crystals"])
    assert masked.tokens == ("X", "shows", "Y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("X isn't, can't, cannot", ["x", "is", "not", ",", "can", "not", ",", "can", "not"]),
        ("Parkinson’s oedema does", ["parkinson", "edema", "does"]),
        ("minimised tumour disease", ["minimized", "tumor", "disease"]),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert split_words(text) == words
