"""The parts of many names, against those of each name by itself."""

import polars as pl

from pretexeval.knowledge.names import fold_name
from tasks.drawing.name_features import AFFIX_LENGTHS, GRAM_LENGTHS, NameFeatures

NAMES = pl.Series(
    [
        "+++",
        "Biopsies of the Lungs",
        "Cell carcinoma",
        "Déjà-vu syndromes",
        "Lung biopsy",
        "Non-small cell carcinomas",
        "Not otherwise specified pains",
        "Pain",
        "Small cell carcinoma, NOS",
        "T Lymphocyte",
        "TLymphocytes of the",
        "x",
        "β-catenins",
    ]
)


def list_parts(name: str) -> tuple[set[str], set[str], set[str]]:
    """Return the n-grams, the beginnings and the endings of the words of a name."""
    words = fold_name(name).split(" ")
    padded = [f" {word} " for word in words]
    grams = {word[i : i + n] for word in padded for n in GRAM_LENGTHS for i in range(len(word) - n + 1)}
    beginnings = {word[:n] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    endings = {word[-n:] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    return grams, beginnings, endings


def test_names_share_the_parts_that_both_have() -> None:
    features = NameFeatures(NAMES)
    parts = [list_parts(name) for name in NAMES]
    for kind, matrix in enumerate((features.grams, features.beginnings, features.endings)):
        shared = [[len(one[kind] & other[kind]) for other in parts] for one in parts]
        assert (matrix @ matrix.T).toarray().tolist() == shared
