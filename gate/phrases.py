"""Replace idioms, whose words mean something else on their own, by one word, or remove them."""

from collections.abc import Iterator, Sequence
from itertools import product

from gate.words import list_words

# Words of a phrase ("/" separates alternatives) -> its replacement; empty if the phrase is removed. "+" in a
# replacement stands for the first word of the phrase.
_PHRASES = {
    "not only/just/merely/simply/solely": "",
    "if/or not": "",
    "whether or not": "",
    "no doubt": "undoubtedly",
    "without doubt/question": "undoubtedly",
    "without a doubt": "undoubtedly",
    "without any doubt/question": "undoubtedly",
    "without exception": "without_exception",
    "beyond doubt/question/dispute": "undoubtedly",
    "no denying/disputing/question that": "undoubtedly",
    "no denying/disputing": "undoubtedly",
    "not least": "",
    "no less than": "",
    "none other than": "",
    "can not but": "",
    "can not help but": "",
    "by no means": "never",
    "no longer": "not no_longer",
    "not any longer/more": "not no_longer",
    "not yet": "not not_yet",
    "rule/rules/ruled/ruling out": "rule_out",
    "free of/from": "free_of",
    "far from": "far_from",
    "anything but": "far_from",
    "a far cry from": "far_from",
    "rather than": "other_than",
    "other than": "other_than",
    "instead of": "other_than",
    "apart from": "other_than",
    "aside from": "other_than",
    "as opposed to": "other_than",
    "a little": "",
    "a few": "some",
    "have/has/had to": "have_to",
    "more/less likely": "+ risk",
    "very/highly/quite likely": "likely",
    "certain that": "certain_that",
    "in certain": "some",
    "as well as": "and",
    "unnecessary/needless": "not need_to",
    "unnecessarily": "not necessarily",
    "one or more": "some",
    "more than one": "some",
    "at least": "",
    "it does not follow that": "it does not follow_that",
    "it does not necessarily follow that": "it does not follow_that",
    "lead/leads/led/leading to": "lead_to",
    "result/results/resulted/resulting in": "lead_to",
    "result/results/resulted/resulting from": "result_from",
    "bring/brings/brought/bringing about": "bring_about",
    "bring/brings it about": "bring_about it",
    "bring/brings/brought/bringing on": "bring_about",
    "give/gives/gave/given/giving rise to": "give_rise_to",
    "due to": "due_to",
    "owing to": "due_to",
    "because of": "due_to",
    "thanks to": "due_to",
    "secondary to": "due_to",
    "as a result/consequence of": "due_to",
    "trace/traced/traces/traceable back to": "traced_to",
    "trace/traced/traces/traceable to": "traced_to",
    "effect/effects/impact/influence on": "effect_on",
    "ward/wards/warded/warding off": "ward_off",
    "stave/staves/staved/staving off": "ward_off",
    "fend/fends/fended/fending off": "ward_off",
    "keep/keeps/kept/keeping off": "ward_off",
    "prior to": "before",
    "ahead of": "before",
    "subsequent to": "after",
    "in the wake/aftermath of": "after",
    "code/codes/coded/coding for": "encodes",
    "starting/start point": "source",
}
_USE_VERBS = list_words(
    """
    take takes taking use uses using receive receives receiving administer administering administration
    give giving prescribe prescribing employ employing
    """
)
_AVOID = frozenset(["avoid", "avoids", "avoided", "avoiding"])


def _index_phrases() -> dict[str, list[tuple[tuple[str, ...], list[str]]]]:
    """Return first word -> [(the words of a phrase, its replacement)], the longest phrase first."""
    index: dict[str, list[tuple[tuple[str, ...], list[str]]]] = {}
    for pattern, meaning in _PHRASES.items():
        for words in product(*(part.split("/") for part in pattern.split())):
            read = [words[0] if part == "+" else part for part in meaning.split()]
            index.setdefault(words[0], []).append((words, read))
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return index


_INDEX = _index_phrases()


def join_phrases(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens with every phrase replaced by its meaning."""
    return tuple(_replace_phrases(tokens))


def _replace_phrases(tokens: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        found = _find_phrase(tokens, at) if token in _INDEX else None
        if found is not None:
            yield from found[1]
            at += len(found[0])
            continue
        if token in _AVOID and _USE_VERBS.intersection(tokens[at + 1 : at + 3]):
            token = "avoid_use"
        elif token == "too" and "to" in tokens[at + 2 : at + 4]:
            token = "too_to"
        yield token
        at += 1


def _find_phrase(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], list[str]] | None:
    for words, read in _INDEX[tokens[at]]:
        if tuple(tokens[at : at + len(words)]) == words:
            return words, read
    return None
