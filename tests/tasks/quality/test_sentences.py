import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.quality.diversity import HEAD, TAIL, measure_distance, read_sentence
from tests.support.small_bases import names

SEQUENCES = st.lists(st.sampled_from("abc"), max_size=6).map(tuple)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Gout may cause joint pain.", [HEAD, "may", "cause", TAIL]),
        ("JOINT-PAINS, in gout, are common", [TAIL, "in", HEAD, "are", "common"]),
        ("A patient’s joint pain: gout's?", ["a", "patient", "'s", TAIL, HEAD, "'s"]),
        ("It can't be gout", ["it", "can", "not", "be", HEAD]),
        ("It cannot be gout", ["it", "can", "not", "be", HEAD]),
        ("Gout isn't well-known", [HEAD, "is", "not", "well-known"]),
        # A longer word, or the same words in another order, are not the entity.
        ("goutweed; pain of the joint", ["goutweed", "pain", "of", "the", "joint"]),
        ("", []),
        (" … ", []),
    ],
)
def test_text_is_split_into_words_with_each_entity_as_one(text: str, words: list[str]) -> None:
    assert list(read_sentence(text, "gout", "joint pain").words) == words


def test_longer_of_two_names_is_found_first() -> None:
    text = "Anemia is not an iron deficiency anemia."
    expected = (HEAD, "is", "not", "an", TAIL)
    assert read_sentence(text, "anemia", "iron deficiency anemia").words == expected
    swapped = (TAIL, "is", "not", "an", HEAD)
    assert read_sentence(text, "iron deficiency anemia", "anemia").words == swapped


def test_every_word_has_a_tag_and_entities_are_nouns() -> None:
    sentence = read_sentence(
        "If a patient has renal agenesis, it cannot be treated by QX-9.", "QX-9", "renal agenesis"
    )
    assert sentence.words == (
        "if",
        "a",
        "patient",
        "has",
        TAIL,
        "it",
        "can",
        "not",
        "be",
        "treated",
        "by",
        HEAD,
    )
    assert sentence.tags == (
        *("CJS", "AT0", "NN1", "VHZ", "NN1", "PNP"),
        *("VM0", "XX0", "VBI", "VVN", "PRP", "NN1"),
    )


def test_names_do_not_change_the_tags() -> None:
    sentences = {
        read_sentence(f"{head} may treat the {tail}.", head, tail)
        for head, tail in (("Aspirin", "pain"), ("May treat (R)", "the running of noses"), ("5-FU", "X]Y"))
    }
    assert len(sentences) == 1


@given(names(), names(), names())
def test_any_name_and_text_can_be_read(text: str, head: str, tail: str) -> None:
    sentence = read_sentence(f"{text} {head} is {tail}", head, tail)
    assert "" not in sentence.words
    assert read_sentence(f"{text} {head} is {tail}", head, tail) == sentence


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0.0),
        ("abc", "abc", 0.0),
        ("abc", "", 1.0),
        ("abc", "abd", 1 / 3),
        ("abc", "ab", 1 / 3),
        ("abc", "bca", 2 / 3),
        ("abcd", "xbyd", 0.5),
        ("kitten", "sitting", 3 / 7),
    ],
)
def test_distance_is_edits_divided_by_the_longer_length(left: str, right: str, distance: float) -> None:
    assert measure_distance(tuple(left), tuple(right)) == pytest.approx(distance)


@given(SEQUENCES, SEQUENCES)
def test_distance_is_the_least_number_of_edits(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    longest = max(len(left), len(right))
    assert measure_distance(left, right) * longest == pytest.approx(count_edits(left, right))
    assert measure_distance(left, right) == measure_distance(right, left)


def count_edits(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Return the least number of edits by its recursive definition."""
    if not left or not right:
        return max(len(left), len(right))
    if left[0] == right[0]:
        return count_edits(left[1:], right[1:])
    shorter = ((left[1:], right), (left, right[1:]), (left[1:], right[1:]))
    return 1 + min(count_edits(*pair) for pair in shorter)
