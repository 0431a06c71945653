import pytest

from tasks.quality.guesses import ComparedName, describe_resemblance, weigh_words


def describe(head: str, tail: str, *others: str) -> dict[str, float]:
    names = [ComparedName(text) for text in (head, tail, *others)]
    return describe_resemblance(names[0], names[1], weigh_words(names))


def test_words_are_shared_whatever_their_case_and_punctuation() -> None:
    found = describe("Large-cell LYMPHOMA", "lymphoma cell")
    assert found["n_shared"] == 2
    assert (found["quarters_of_head"], found["quarters_of_tail"]) == (2, 4)
    assert (found["is_first_of_tail_shared"], found["is_last_of_tail_shared"]) == (True, True)
    assert (found["is_first_of_head_shared"], found["is_last_of_head_shared"]) == (False, True)
    assert (found["is_first_same"], found["is_last_same"]) == (False, False)


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    others = ("cell of the skin", "cell of the bone", "cell of the lung")
    found = describe("basal cell tumor", "basal cell", *others)
    assert found["weight_shared"] == pytest.approx(found["largest_weight"] + found["smallest_weight"])
    assert found["largest_weight"] > found["smallest_weight"] == 0


def test_stems_substrings_and_acronyms_are_found_between_different_words() -> None:
    found = describe("hepatic fibrosis", "hepatitis")
    assert found["n_shared"] == 0
    assert (found["n_stems_5"], found["n_stems_6"]) == (1, 1)
    assert found["longest_prefix_of_words"] == len("hepati")
    assert found["longest_substring"] == len("hepati")
    assert found["longest_suffix_of_words"] == found["n_trailing_letters"] == len("is")
    assert describe("COPD", "chronic obstructive pulmonary disease")["is_tail_acronym"]
    assert describe("breast cancer", "breast cancer type 1")["is_head_in_tail"]


@pytest.mark.parametrize(("head", "tail"), [("aspirin", "fever"), ("a", "b"), ("!?", "fever"), ("fever", "")])
def test_names_with_nothing_in_common_have_no_words_in_common(head: str, tail: str) -> None:
    found = describe(head, tail)
    assert {found[name] for name in found if "shared" in name or "weight" in name} == {0}


def test_every_pair_has_the_same_features() -> None:
    assert list(describe("a b", "b c")) == list(describe("", "x"))
