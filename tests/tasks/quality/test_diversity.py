"""Distances between samples and statements, and how their texts are read into words and tags."""

from collections.abc import Sequence

import polars as pl
import pytest

from schemas.stages import DIVERSITY, SAMPLES
from tasks.quality.diversity import HEAD, TAIL, measure_distance, measure_diversity, read_sentence


def make_triplets(n: int, split: str = "test") -> pl.DataFrame:
    """Return triplets of one relation: drug i treats pain i."""
    rows = [(f"{split}{i}", "treats", f"drug {i}", f"pain {i}", split) for i in range(n)]
    return pl.DataFrame(rows, ["triplet_id", "relation", "head", "tail", "split"], orient="row")


def make_statements(triplet_id: str, **statements: str) -> pl.DataFrame:
    """Return the statements of one triplet, given by transformation."""
    rows = [(f"{triplet_id} {name}", triplet_id, name, text) for name, text in statements.items()]
    schema = dict.fromkeys(("variant_id", "triplet_id", "transformation", "statement"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def make_samples(triplet_id: str, method: str, *texts: tuple[str | None, str]) -> pl.DataFrame:
    """Return the samples of one triplet by one method, given as (transformation, text)."""
    columns = ("sample_id", "method", "variant_id", "triplet_id", "relation", "text", "sample_index")
    rows = [
        (f"{triplet_id} {method} {i}", method, name and f"{triplet_id} {name}", triplet_id, "treats", text, i)
        for i, (name, text) in enumerate(texts)
    ]
    return pl.DataFrame(rows, {name: SAMPLES.empty.schema[name] for name in columns}, orient="row")


def measure(*samples: pl.DataFrame) -> dict[str, tuple[float, float, float | None, float | None]]:
    """Return sample id -> its four distances."""
    statements = make_statements("test0", none="Drug 0 treats pain 0.", dn="Drug 0 never treats pain 0.")
    frame = measure_diversity(make_triplets(1), pl.concat(samples), statements)
    assert frame.columns == DIVERSITY.names
    return {row[0]: row[4:] for row in frame.iter_rows()}


def test_sample_is_compared_with_its_statement_and_with_other_samples_of_its_triplet() -> None:
    texts = ("none", "Drug 0 heals pain 0."), ("dn", "Drug 0 never treats pain 0.")
    # "heals" replaces "treats": one word of three, the same part of speech. "never" adds one word of four.
    assert measure(make_samples("test0", "pretexeval", *texts)) == {
        "test0 pretexeval 0": (pytest.approx(1 / 3), 0.0, 0.5, 0.25),
        "test0 pretexeval 1": (0.0, 0.0, 0.5, 0.25),
    }
    # A sample without a variant is compared with the plain statement.
    found = measure(make_samples("test0", "llmeval", (None, "Drug 0 never treats pain 0.")))
    assert found == {"test0 llmeval 0": (0.25, 0.25, None, None)}


def test_spread_compares_samples_of_the_same_method() -> None:
    stated, other = "Drug 0 treats pain 0.", "Nothing beats drug 0 at pain 0."
    found = measure(
        make_samples("test0", "direct", ("none", stated)),
        make_samples("test0", "prototype", ("none", stated), ("dn", stated), ("dn", other)),
    )
    assert found["test0 direct 0"] == (0.0, 0.0, None, None)
    to_other = found["test0 prototype 2"][2]
    assert to_other is not None
    assert found["test0 prototype 0"][2] == pytest.approx(to_other / 2)


def test_same_triplets_are_drawn_for_every_method() -> None:
    triplets = pl.concat([make_triplets(30), make_triplets(5, "demonstration")])
    ids = triplets["triplet_id"].to_list()
    statements = pl.concat(make_statements(i, none="Drug treats pain.") for i in ids)
    samples = pl.concat(make_samples(i, m, ("none", "A text.")) for i in ids for m in ("direct", "prototype"))
    found = measure_diversity(triplets, samples, statements, n_triplets=7)
    first, second = (set(frame["triplet_id"]) for _, frame in found.group_by("method"))
    assert first == second
    assert len(first) == 7
    assert all(triplet_id.startswith("test") for triplet_id in first)
    others = [frame.sample(fraction=1, shuffle=True, seed=3) for frame in (triplets, samples, statements)]
    assert measure_diversity(others[0], others[1], others[2], n_triplets=7).equals(found)
    everything = measure_diversity(triplets, samples, statements, n_triplets=100)
    assert everything["triplet_id"].n_unique() == 30


def read_words(text: str, head: str = "gout", tail: str = "joint pain") -> Sequence[str]:
    return read_sentence(text, head, tail).words


def test_text_is_split_into_words_with_each_entity_as_one() -> None:
    words = {
        "Gout may cause joint pain.": (HEAD, "may", "cause", TAIL),
        "JOINT-PAINS, in gout, are common": (TAIL, "in", HEAD, "are", "common"),
        "A patient’s joint pain: gout's?": ("a", "patient", "'s", TAIL, HEAD, "'s"),
        "It can't be gout": ("it", "can", "not", "be", HEAD),
        "It cannot be gout": ("it", "can", "not", "be", HEAD),
        "Gout isn't well-known": (HEAD, "is", "not", "well-known"),
        # A longer word, or the same words in another order, are not the entity.
        "goutweed; pain of the joint": ("goutweed", "pain", "of", "the", "joint"),
        "": (),
        " … ": (),
    }
    assert {text: read_words(text) for text in words} == words
    # The longer of two names is found first, also where they begin alike.
    assert read_words("Iron treats iron deficiency.", "iron", "iron deficiency") == (HEAD, "treats", TAIL)
    text = "Anemia is not an iron deficiency anemia."
    assert read_words(text, "anemia", "iron deficiency anemia") == (HEAD, "is", "not", "an", TAIL)
    assert read_words(text, "iron deficiency anemia", "anemia") == (TAIL, "is", "not", "an", HEAD)
    text = "HER2+ tumours are not her2− tumours, but HER2 (+) tumours."
    rest = ("are", "not", TAIL, "but", HEAD)
    assert read_words(text, "HER2+ tumour", "HER2- tumour") == (HEAD, *rest)


def test_every_word_has_a_tag_and_entities_are_nouns() -> None:
    text = "If a patient has renal agenesis, it cannot be treated by QX-9."
    sentence = read_sentence(text, "QX-9", "renal agenesis")
    words = ["if", "a", "patient", "has", TAIL, "it", "can", "not", "be", "treated", "by", HEAD]
    tags = ["CJS", "AT0", "NN1", "VHZ", "NN1", "PNP", "VM0", "XX0", "VBI", "VVN", "PRP", "NN1"]
    assert (list(sentence.words), list(sentence.tags)) == (words, tags)
    # Names do not change the tags.
    pairs = (("Aspirin", "pain"), ("May treat (R)", "the running of noses"), ("5-FU $1", "X]Y"))
    assert len({read_sentence(f"{head} may treat the {tail}.", head, tail) for head, tail in pairs}) == 1


def test_distance_is_the_least_number_of_edits() -> None:
    edits = {("", ""): 0, ("", "ab"): 2, ("abc", "abc"): 0, ("abc", "abd"): 1, ("abc", "c"): 2}
    edits |= {("ab", "ba"): 2, ("kitten", "sitting"): 3, ("saturday", "sunday"): 3, ("abcabc", "bcabca"): 2}
    for (left, right), n in edits.items():
        distance = n / max(len(left), len(right), 1)
        distances = (measure_distance(tuple(left), tuple(right)), measure_distance(tuple(right), tuple(left)))
        assert distances == pytest.approx((distance, distance)), (left, right)
