"""Run all checks of the gate on one rewording or on a frame of rewordings."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

import polars as pl

from pretexeval.gate.features import are_roles_changed, compare_polarity, extract_features
from pretexeval.gate.lexicon import WORDS, load_groups, make_singular, split_words, stem_word, tag_word
from pretexeval.gate.names import SLOTS, mask_entities, stem_name_word
from pretexeval.gate.predicate import is_claim_narrowed, is_entity_changed, is_predicate_changed, list_known
from pretexeval.gate.relations import find_noun_kinds, follows_place
from pretexeval.gate.statement_form import is_malformed, is_not_a_sentence
from pretexeval.primitives.errors import InputError

# In the order of the checks. The caller adds "collision" itself, from the result of `find_collisions`.
REASONS = (
    *("no text", "unchanged", "not one statement", "head lost", "tail lost", "other entity"),
    *("polarity", "modality", "roles", "predicate", "addition", "new words", "collision"),
)


_SAME = load_groups("interchangeable")


def count_changed_words(statement: Sequence[str], text: Sequence[str]) -> int:
    """Return the number of words that were added, dropped or exchanged, apart from harmless changes.

    Harmless are: articles, commas and "then"; singular and plural; words of one group of the vocabulary; and
    to leave out what the statement calls an entity ("the condition X" said as "X"). A text without any other
    change says what its statement says, whoever wrote it.
    The sequences are matched by the longest blocks that they share (`difflib`; Ratcliff and Metzener, 1988).
    """
    own = _simplify(statement, ())
    other = _simplify(text, own)
    own = [word if word in other else word.split("/")[0] for word in own]
    if own == other:
        return 0
    changes = SequenceMatcher(None, own, other, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in changes if tag != "equal")


def _simplify(words: Sequence[str], called: Collection[str]) -> list[str]:
    """Return the words without harmless differences; "the condition X" becomes "X/condition".

    "The condition of X" does as well if "X/condition" is among ``called``.
    """
    kept: list[str] = []
    nouns: list[str] | None = None  # What the next entity is called, from an article on.
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in SLOTS and nouns:
            kept[-len(nouns) :] = ["/".join((word, *nouns))]
            nouns = None
        elif word in WORDS["articles"]:
            nouns = []
        elif nouns and word == "of" and "/".join((following, *nouns)) in called:
            continue
        elif word not in WORDS["dropped"]:
            kept.append(_find_group(word))
            nouns = [*nouns, kept[-1]] if nouns is not None and find_noun_kinds(word) else None
    return kept


def _find_group(word: str) -> str:
    """Return the first word of the word's group, or its singular; "anatomic" for "anatomical"."""
    singular = make_singular(word)
    singular = singular.removesuffix("al") if singular.endswith("ical") else singular
    return _SAME.get(word) or _SAME.get(singular, singular)


_NO_WORD = re.compile(r"[\W_]+")


def fold_text(text: str) -> str:
    """Return the words in order, without case and punctuation; colliding texts have the same result."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def find_collisions(texts: Sequence[str], labels: Sequence[bool], taken: Mapping[str, bool]) -> list[bool]:
    """Return for each text whether ``texts`` or ``taken`` has the same folded text with the opposite label.

    ``taken`` maps the folded text to its label, for the texts that were accepted before.
    """
    folds = [fold_text(text) for text in texts]
    said: dict[str, set[bool]] = {}
    for fold, label in zip(folds, labels, strict=True):
        said.setdefault(fold, set()).add(label)
    return [
        taken.get(fold, label) != label or label not in said[fold] or len(said[fold]) == 2
        for fold, label in zip(folds, labels, strict=True)
    ]


Words = tuple[str, ...]
Stems = frozenset[str]


def check_rewordings(rows: pl.DataFrame, max_new_words: int | None = None) -> list[tuple[str, ...]]:
    """Return the reasons against each row, as `check_rewording` gives them.

    The columns are statement, text, head, tail, and optionally head_aliases and tail_aliases, lists of names.
    """
    columns = [rows[name] for name in ("statement", "text", "head", "tail")]
    names = ("head_aliases", "tail_aliases")
    aliases = [rows[name].to_list() if name in rows.columns else [None] * len(rows) for name in names]
    return [
        check_rewording(statement, text, (head, *(of_head or ())), (tail, *(of_tail or ())), max_new_words)
        for statement, text, head, tail, of_head, of_tail in zip(*columns, *aliases, strict=True)
    ]


def check_rewording(
    statement: str, text: str | None, heads: Words, tails: Words, max_new_words: int | None = None
) -> tuple[str, ...]:
    """Return the reasons against a text, in the order of REASONS; empty if it passes.

    Args:
        heads: the name of the head in the statement, then further names that the text may use instead.
        max_new_words: at most so many words may change besides harmless ones (`count_changed_words`), and
            both names are as they are written.

    Raises:
        InputError: the statement itself does not contain both names.
    """
    if text is None or not text.strip():
        return ("no text",)
    if text.strip().removesuffix(".") == statement.strip().removesuffix("."):
        return ("unchanged",)
    own, said, name_words = _mask_statement(statement, heads, tails)
    masked = mask_entities(text, heads, tails, said)
    if is_malformed(masked.text):
        return ("not one statement",)
    if masked.is_head_lost or masked.is_tail_lost:
        return ("head lost",) * masked.is_head_lost + ("tail lost",) * masked.is_tail_lost
    # Words of the names that are outside a mention do not make it another entity.
    reasons = _compare_sentences(own, masked.tokens, name_words.intersection(masked.tokens))
    if max_new_words is None:
        return reasons
    is_close = count_changed_words(own, masked.tokens) <= max_new_words
    is_close = is_close and _are_names_literal(statement, text, heads, tails)
    return reasons if is_close else (*reasons, "new words")


def _are_names_literal(statement: str, text: str, heads: Words, tails: Words) -> bool:
    """Return whether the text has both names as written, apart from case and punctuation.

    It has no new bracket either: an abbreviation after a name may be one that a weak writer made up.
    """
    folded = f" {fold_text(text)} "
    return text.count("(") <= statement.count("(") and all(
        any(f" {fold_text(name)} " in folded for name in names) for names in (heads, tails)
    )


@lru_cache(4096)
def _mask_statement(statement: str, heads: Words, tails: Words) -> tuple[Words, Stems, Stems]:
    """Return the masked words, stems of those that a name need not repeat, and the words of the names."""
    masked = mask_entities(statement, heads, tails)
    for names, is_lost in ((heads, masked.is_head_lost), (tails, masked.is_tail_lost)):
        if is_lost:
            raise InputError(
                f"the statement {statement!r} does not contain the name {names[0]!r}: give the head and "
                "the tail that its prototype was filled with"
            )
    said = (word for word in masked.tokens if not (word in WORDS["function_words"] or tag_word(word)))
    name_words = frozenset(word for name in (*heads, *tails) for word in split_words(name))
    return masked.tokens, frozenset(map(stem_name_word, said)), name_words - WORDS["function_words"]


@lru_cache(1 << 16)
def _compare_sentences(statement: Words, text: Words, name_words: frozenset[str]) -> tuple[str, ...]:
    """Return the reasons against masked words; ``name_words`` are those of names outside a mention."""
    if statement == text:
        return ()
    text = _drop_class_nouns(statement, text)
    # "Probable" in a name says nothing about how sure the sentence is.
    unsure = {word for word in name_words if tag_word(word) & {"likely", "often", "mainly", "part"}}
    text = tuple(word for word in text if word not in unsure)
    own, other = extract_features(statement), extract_features(text)
    lacking = WORDS["privative"] if own.polarity.absent else ()
    known = list_known((*own.tokens, *name_words, *lacking))
    changed = compare_polarity(own, other)
    checks = {
        "not one statement": is_not_a_sentence(own.tokens, other.tokens, own.premise is not None),
        "other entity": is_entity_changed(own.tokens, other.tokens, known),
        "polarity": changed == "polarity",
        "modality": changed == "modality",
        "roles": are_roles_changed(own, other) or _is_exchanged_copy(own.tokens, other.tokens),
        "predicate": is_predicate_changed(own, other),
        "addition": is_claim_narrowed(other.tokens, known),
    }
    return tuple(reason for reason, is_found in checks.items() if is_found)


def _drop_class_nouns(statement: Words, text: Words) -> Words:
    """Return the text without new nouns that say of which class a name is: "the X" for "the vitamin X"."""
    new, articles = WORDS["class_nouns"].difference(statement), WORDS["articles"]
    after_name = WORDS["after_name"] if WORDS["after_name"].isdisjoint(statement) else frozenset()
    nouns = zip(("", *text), text, (*text[1:], ""), strict=False)
    return tuple(
        word
        for before, word, after in nouns
        if not (word in new and before in articles and after in SLOTS)
        and not (word in after_name and before in SLOTS)
    )


# Words that may differ between a statement with its names exchanged and a text that copies it.
_MAX_COPY_CHANGES = 2
_NO_RELATION = WORDS["symmetric"].union(WORDS["function_words"], SLOTS) - {"is", "are", "has", "have"}


def _is_exchanged_copy(statement: Words, text: Words) -> bool:
    """Return whether the text is nearly the statement with exchanged names; not for symmetric relations."""
    own, other = ({word for word in words if word not in _NO_RELATION} for words in (statement, text))
    relation = {w for w, after in pairwise(statement) if after == "of" or not find_noun_kinds(w)} & own
    stems = set(map(stem_word, other))
    is_told = all(stem_word(word) in stems for word in relation if word.endswith(("s", "ed", "ing")))
    is_told = is_told and all(map(find_noun_kinds, other - own)) and bool(relation - WORDS["copulas"])
    if not is_told or follows_place(text):
        return False
    exchanged = [SLOTS[word == SLOTS[0]] if word in SLOTS else word for word in statement]
    n_changes = count_changed_words(exchanged, text)
    return n_changes <= _MAX_COPY_CHANGES and n_changes < count_changed_words(statement, text)
