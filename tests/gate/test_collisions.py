from gate import find_collisions, fold_text


def test_folding_ignores_case_punctuation_and_spaces() -> None:
    assert fold_text(" A  treats B-12. ") == fold_text("a treats “b 12”")
    assert fold_text("A treats B") != fold_text("B treats A")


def test_a_text_with_the_opposite_label_collides() -> None:
    texts = ["A may treat B.", "a may treat b", "A may treat C.", "A may treat D.", "A may treat E."]
    labels = [True, False, True, True, True]
    taken = {fold_text("A may treat C"): False, fold_text("A may treat D"): True}
    assert find_collisions(texts, labels, taken) == [True, True, True, False, False]


def test_no_texts_have_no_collisions() -> None:
    assert find_collisions([], [], {"a": True}) == []
