"""Why a text of ours differs from the published one: the kinds of differences, and whose text is right.

Differences are taken away one after the other, the smallest first. The kind of a pair is the first one
without which the texts are equal.
"""

import re
from collections.abc import Callable

from knowledge.spelling import fold_name

_FORMS = {"are": "is", "were": "was", "do": "", "does": "", "did": ""}
_ARTICLES = frozenset(("a", "an", "the"))
# Words of the frames in which a statement holds an option.
_FRAME = _ARTICLES | {"to", "which", "what", "of", "following", "is", "be"}
NOTHING = "none: the texts are equal"
STRAY = "stray quotation marks, stops and line breaks"
CAPITALS = "a capital or an article within the sentence"
FORMS = "number or form of the verb"
OPENING = "'what … is not' or 'which of the following is not'"
SENTENCE = "a sentence or list as the option"
INSTRUCTION = "an instruction as the option"
NOUNS = "a plural or joined noun as the option"
LOST = "words of the question that the published text lost"
TWICE = "a question that denies already"
BROKEN = "a published word or sentence that its regular expression broke"
PLACE = "the place of 'not' or of the hint"
REST = "another wording"
WHOSE = {
    NOTHING: "",
    STRAY: "ours: the marks open or close nothing, and option E of some items ends in a line break",
    CAPITALS: "ours: 'a lesion in the medial …', not 'a lesion in Medial …'",
    FORMS: "ours: theirs has 'do not best explains', 'which … are the most likely cause', 'findings is seen'",
    OPENING: "ours: theirs has 'what are not the most likely diagnosis', which does not ask about options",
    SENTENCE: "ours: 'the following is true: it is …', not 'It is … is true'",
    INSTRUCTION: "ours: 'to administer … is the next step', not 'Administer … is the next step'",
    NOUNS: "ours: 'the treatment is aspirin and heparin', not 'aspirin and heparin is the treatment'",
    LOST: "ours: without 'most likely', 'also' or the object of its verb, their text asks something else",
    TWICE: "ours: it affirms what theirs denies twice ('would not NOT be expected'); the answers agree",
    BROKEN: "ours: 'this' became 'thare', or 'Statement:' stands in the middle of the sentence",
    PLACE: "ours: 'does not most likely explain' denies the question, 'most likely do not explains' does not",
    REST: "ours: 'chromosome 5', not '5'; theirs has 'Karyotyping tests is' and 'what other symptom are not'",
}


def find_cause(ours: str, theirs: str) -> str:
    """Return the kind of difference between two texts, one of ``WHOSE``."""
    if ours == theirs:
        return NOTHING
    steps: list[tuple[str, Callable[[str], object]]] = [
        (STRAY, lambda text: re.sub(r"[\W_]+", "", text)),
        (CAPITALS, lambda text: [word for word in fold_name(text).split() if word not in _ARTICLES]),
        (FORMS, _fold_forms),
        (OPENING, lambda text: _fold_forms(re.sub(r"\bwhat\b", "which of the following", text, flags=re.I))),
    ]
    for cause, fold in steps:
        if fold(ours) == fold(theirs):
            return cause
    return _find_larger_cause(ours, theirs)


def _find_larger_cause(ours: str, theirs: str) -> str:
    """Return the kind of a difference in more than the forms of words."""
    if re.search(r"\bthare\b|is patient is|, \. (?:which|Statement)", theirs):
        return BROKEN
    if re.search(r"\bnot NOT\b", theirs) or "NOT" in theirs:
        return TWICE
    ours_stated = ours.rsplit('Statement: "', 1)[-1]
    if ours_stated != ours and re.search(r"\bthe following\b.*:", ours_stated, re.IGNORECASE):
        return SENTENCE
    our_words, their_words = _list_content(ours), _list_content(theirs)
    if our_words == their_words:
        if ours_stated == ours:
            return PLACE
        return INSTRUCTION if re.match(r"(?:[^:]*, t|T)o [a-z]+", ours_stated) else NOUNS
    return LOST if set(their_words) < set(our_words) else REST


def _fold_forms(text: str) -> list[str]:
    """Return the words of a text without articles, forms of "do" and endings of number and person."""
    words = (_FORMS.get(word, word) for word in fold_name(text).split() if word not in _ARTICLES)
    return [_drop_ending(word) for word in words if word]


def _drop_ending(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _list_content(text: str) -> list[str]:
    """Return the folded words of a text in alphabetical order, without those of the frame."""
    return sorted(word for word in _fold_forms(text) if word not in _FRAME)
