"""Compare the relations of two sentences ("follows" is not "is caused by"), and find what a text adds."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, product

from pretexeval.gate.features import SentenceFeatures
from pretexeval.gate.lexicon import (
    CACHE_SIZE,
    MARKS,
    PATTERNS,
    WORDS,
    load_partners,
    make_singular,
    stem_word,
    tag_word,
)
from pretexeval.gate.names import SLOTS
from pretexeval.gate.relations import find_ideas, find_noun_kinds, is_predicate_noun, list_hinted, list_stated

# A rewording must name these classes, because no other wording implies them.
_NEVER_IMPLIED = frozenset(("cause", "treat", "prevent", "time", "encode", "origin"))
_NEVER_ADDED = _NEVER_IMPLIED | {"cure", "worse", "bind", "map", "regulate"}
# These classes say too little to tell one relation from another.
_VAGUE = frozenset(("have", "vague"))
_OPPOSITES = load_partners("opposites")
# A word with one of these prefixes says something else: "overexpressed".
_PREFIXES = ("over", "under", "hyper", "hypo", "co", "re", "pre", "de")
# What a gene encodes, or what a cause brings about, also originates from it.
_IMPLIED = {"given": {"treat"}, "encode": {"origin"}, "cause": {"origin"}, "origin": {"cause"}}


def is_predicate_changed(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text adds a class of relation to those of the statement, or loses its class."""
    added = (text.stated & _NEVER_ADDED) - statement.hinted
    added -= set().union(*(_IMPLIED.get(kind, set()) for kind in statement.hinted))
    # "The protein encoded by X" is the gene product X.
    if "encode" in added and _only_names_products(text.tokens, statement):
        added -= {"encode"}
    # X leads to Y only figuratively in "if X, then Y", or if the text repeats what X does.
    # The adjective of a name, as in "a positive X", is nothing that X does.
    said = statement.tokens
    titles = {w for w, n in pairwise(said) if n in SLOTS and (_is_adjective(w) or w in WORDS["class_nouns"])}
    stems = set() if statement.stated else {*map(stem_word, set(said).difference(SLOTS, titles))}
    pairs = zip(text.tokens, text.tags, strict=True)
    told = {stem_word(w) for w, tags in pairs if not (tags.isdisjoint(("up", "down")) and _is_neutral(w))}
    is_premise = statement.premise is not None and text.sources.get("cause") == statement.premise
    is_figurative = not told.isdisjoint(stems) or (is_premise and "lead_to" in text.tokens)
    # What raises a risk leads to a higher risk.
    if is_figurative or "hazard" in statement.hinted & text.hinted:
        added -= {"cause"}
    own = statement.stated & _NEVER_IMPLIED
    is_lost = bool(own) and not own & text.hinted and not ("cause" in own and "origin" in text.hinted)
    is_risk_added = "time" in statement.stated and "hazard" in text.hinted - statement.hinted
    # "Is a risk factor for X" does not say "leads to X".
    is_risk_lost = "hazard" in statement.hinted - text.hinted and "cause" in text.stated - statement.stated
    is_changed = bool(added) or is_lost or is_risk_added or is_risk_lost or _changes_degree(statement, text)
    is_changed = is_changed or _is_turned(statement.tokens, text.tokens)
    # Ideas are compared only if the text names no class of relation in place of that of the statement. A
    # vague class, as of "is carried by", does not count where a word of the statement has an idea.
    is_classed = bool(statement.hinted and text.hinted)
    if statement.hinted <= _VAGUE:
        has_idea = any(map(find_ideas, statement.tokens))
        is_classed = bool(statement.hinted) and (not has_idea or not text.hinted <= _VAGUE)
    # The opposite of a word ("wider", "narrower") says the same of exchanged names.
    is_compared = not (is_classed or _has_opposite(statement.tokens, text.tokens))
    return is_changed or (is_compared and _has_other_idea(statement.tokens, text.tokens))


def _has_opposite(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether a word of the statement is replaced by its opposite."""
    lost, new = set(statement).difference(text), set(map(stem_word, set(text).difference(statement)))
    return any(not new.isdisjoint(_OPPOSITES.get(stem, ())) for stem in {*map(stem_word, lost)} - new)


def _is_subject_kept(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether both have the same subject in the active voice: "X flexes Y", "Y is flexed by X"."""
    if "than" in statement and "than" in text:
        own, other = ({*words[words.index("than") :]} for words in (statement, text))
        return own.intersection(SLOTS) == other.intersection(SLOTS)
    firsts = [next(word for word in words if word in SLOTS) for words in (statement, text)]
    pairs = [() if WORDS["copulas"].isdisjoint(words) else pairwise(words) for words in (statement, text)]
    passive = [any(w.endswith("ed") and n in ("by", "with") for w, n in each) for each in pairs]
    return (firsts[0] == firsts[1]) == (passive[0] == passive[1])


def _is_turned(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the text has the opposite of a word, or the word with a prefix that changes it.

    "X is anterior to Y" says the same as "Y is posterior to X". A comparison may be new or turned as well.
    """
    are_compared, is_less = "than" in statement and "than" in text, ("less" in statement) != ("less" in text)
    is_opposite = (are_compared and is_less) or _has_opposite(statement, text)
    is_new = "than" in text and WORDS["comparing"].isdisjoint(statement)
    if is_new or ((is_opposite or are_compared) and is_opposite == _is_subject_kept(statement, text)):
        return True
    # "Phosphorylates" and "dephosphorylates", "hyperpolarizes" and "depolarizes". Only after two steps have
    # "decreases" and "decreased" the same stem.
    stems, others = ({stem_word(stem_word(word)) for word in words} for words in (statement, text))
    bare, bare_others = _list_bare_stems(stems - others), _list_bare_stems(others - stems)
    return not (bare.isdisjoint(others | bare_others) and bare_others.isdisjoint(stems))


def _list_bare_stems(stems: Iterable[str]) -> set[str]:
    """Return the stems that have a prefix, without it."""
    pairs = product(stems, _PREFIXES)
    return {bare for stem, prefix in pairs if (bare := stem.removeprefix(prefix)) != stem and len(bare) > 2}


def _has_other_idea(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the text states another idea in place of a word of the statement."""
    own, said, told = _list_ideas(statement), {*map(stem_word, statement)}, {*map(stem_word, text)}
    new = _list_ideas(word for word in text if stem_word(word) not in said)
    named = WORDS["class_nouns"].union(SLOTS)
    lost = (w for w in statement if stem_word(w) not in told and w not in named and not _is_neutral(w))
    if new and new.isdisjoint(own) and (own - _list_ideas(text) or any(lost)):
        return True
    before, after = _find_place(statement), _find_place(text)
    return after.isdisjoint(before or own) and (bool(before and after) or "near" in after)


def _list_ideas(words: Iterable[str]) -> frozenset[str]:
    """Return the ideas that the words state together."""
    return frozenset().union(*map(find_ideas, words))


def _find_place(tokens: Sequence[str]) -> frozenset[str]:
    """Return the ideas of the prepositions of place before the entities: behind X is not through X."""
    words = pairwise(word for word in tokens if word not in WORDS["articles"])
    return _list_ideas(word for word, at in words if word in WORDS["places"] and at in SLOTS)


def _only_names_products(tokens: Sequence[str], statement: SentenceFeatures) -> bool:
    """Return whether "encoded by" only says which gene product is meant, and is no predicate."""
    others = [slot for slot, kinds in statement.entity_kinds.items() if kinds and "gene" not in kinds]
    return all(
        word.endswith("ed")
        and tokens[i + 1 : i + 2] == ("by",)
        and "gene" in find_noun_kinds(tokens[i - 1])
        and not is_predicate_noun(tokens, i)
        and next((token for token in tokens[i:] if token in SLOTS), None) not in (None, *others)
        for i, word in enumerate(tokens)
        if "encode" in list_stated(word)
    )


def _is_graded(tokens: Sequence[str]) -> bool:
    """Return whether a word says more than that a thing is there: "rich in", "a hallmark of"."""
    return not _GRADED.isdisjoint(map(stem_word, tokens))


def _changes_degree(statement: SentenceFeatures, text: SentenceFeatures) -> bool:
    """Return whether the text adds that something rises, falls, is abnormal, or only that it is there."""
    is_there = not WORDS["presence"].difference(statement.tokens).isdisjoint(text.tokens)
    if is_there and _is_graded(statement.tokens) and not _is_graded(text.tokens):
        return True
    own, ideas = statement.vocabulary, _list_ideas(statement.tokens)
    # "Eliminates" adds nothing to "clears", which states the same idea.
    pairs = zip(text.tokens, text.tags, strict=True)
    other = frozenset().union(*(tags for word, tags in pairs if ideas.isdisjoint(find_ideas(word))))
    is_remedy = bool(statement.stated & {"treat", "prevent"})
    # "Denser than" and "of a higher density than"
    are_compared = "than" in statement.tokens and "than" in text.tokens
    is_new = own.isdisjoint(("up", "down")) and not are_compared
    is_raised = "up" in other and ("risk" not in other or is_remedy)
    is_damaged = "normal" in own and "abnormal" in other - own
    return is_damaged or (is_new and (is_raised or ("down" in other and not is_remedy)))


_BOUNDARIES = WORDS["determiners"] | WORDS["prepositions"] | WORDS["clause_words"] | MARKS
_is_adjective = PATTERNS["adjective"].search
_BEFORE_VERB = WORDS["before_verb"].union(SLOTS)
_PHRASE_EDGES = _BOUNDARIES.union(WORDS["places"], WORDS["particles"], SLOTS)
# After a name, or before "of" or "to" and a name, these nouns name a thing of another type.
_TYPE_CHANGING = frozenset(map(stem_word, WORDS["type_changing"]))
# A form of an entity that a statement speaks of must not get lost.
_FORMS = frozenset(map(stem_word, ("variant", "mutation", "deletion", "deficiency", "overexpression")))
_TOLD_FORMS = _FORMS.union(map(stem_word, WORDS["privative"]))
_GRADED = frozenset(map(stem_word, WORDS["graded"]))
_RANKS = load_partners("same_ranks")
Stems = frozenset[str]


def list_known(words: Iterable[str]) -> Stems:
    """Return the stems of what the words say: their own, and those of ranks of one meaning."""
    stems = set(map(stem_word, words))
    # Only after two steps have "positive" and "positively" the same stem.
    return frozenset(stems.union(map(stem_word, stems), *(_RANKS.get(stem, ()) for stem in stems)))


@lru_cache(CACHE_SIZE)
def _is_neutral(word: str) -> bool:
    """Return whether the word can stand beside any entity: a class of things, or a part of any predicate."""
    is_listed = word in WORDS["neutral"] or word in _BOUNDARIES or word.endswith("ly")
    return is_listed or bool(find_noun_kinds(word) or tag_word(word))


def _is_foreign(word: str, known: Stems) -> bool:
    """Return whether the word is neither known, if only shortened ("lab"), nor neutral beside any entity."""
    is_known = _is_neutral(word) or stem_word(word) in known
    return not is_known and (len(word) < 3 or not any(stem.startswith(word) for stem in known))


def is_entity_changed(statement: Sequence[str], text: Sequence[str], known: Stems) -> bool:
    """Return whether a word next to a slot, absent from the statement, makes it another entity.

    Or whether the statement speaks of a form of an entity, "a variant of X", and the text does not.
    """
    forms = {word for word in statement if stem_word(word) in _FORMS}
    new = [word for word in text if word not in statement or word in forms]
    is_told = not forms or any(stem_word(word) in _TOLD_FORMS or "abnormal" in tag_word(word) for word in new)
    places = (i for i, token in enumerate(text) if token in SLOTS)
    rules = (_is_narrowed, _is_extended, _is_part_of_other)
    return not is_told or any(is_other(text, at, known) for at in places for is_other in rules)


def _is_narrowed(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether the noun phrase that ends in the slot has a foreign adjective: "microscopic X"."""
    start = at
    while start and text[start - 1] not in _PHRASE_EDGES:
        start -= 1
    words, before = text[start:at], text[start - 1] if start else ""
    if not words or find_noun_kinds(words[-1]) or words[-1] in WORDS["class_nouns"]:
        return False
    # "A typical X" is not every X.
    if "often" in tag_word(words[-1]):
        return True
    verbs = [i for i, word in enumerate(words) if _is_verb(word, words[i - 1] if i else before)]
    return any(_is_foreign(word, known) for word in words[verbs[-1] + 1 if verbs else 0 :])


def _is_verb(word: str, before: str) -> bool:
    """Return whether the word is a verb, by its ending and by the word before it."""
    is_form = word.endswith("ing") or bool(list_hinted(word)) or _ends_like_verb(word)
    is_finite = before in _BEFORE_VERB or before.endswith("ly") or "person" in tag_word(before)
    return is_form or is_finite or (word.endswith("ed") and before in WORDS["clause_words"])


def _ends_like_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ous", "us", "ss", "is"))


def _is_extended(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether a foreign noun follows the slot: "X vaccine", "X and amlodipine", "X of the lung"."""
    after = text[at + 1 : at + 5]
    if not after:
        return False
    if after[0] in ("and", "or", "plus", "of"):
        # The second "right" of "in the right ventricle or the right atrium" is a word of the name.
        said = known if after[0] == "or" else frozenset()
        following = [w for w in after[1:] if w not in _BOUNDARIES and stem_word(w) not in said]
        return bool(following) and _is_noun(following[0], following[1:2], known, is_listed=after[0] != "of")
    # "X mimics Y" is a predicate, "X mimics do" is not.
    is_other = make_singular(after[0]) in WORDS["type_changing"] and stem_word(after[0]) not in known
    is_other = is_other and WORDS["determiners"].union(SLOTS).isdisjoint(after[1:2])
    # In "X survive in Y", the word is the only verb.
    others = (w for w in (*text[:at], *text[at + 2 :]) if w in WORDS["auxiliaries"] or _ends_like_verb(w))
    return after[0].isdigit() or is_other or (_is_noun(after[0], after[1:2], known) and any(others))


def _is_noun(word: str, after: Sequence[str], known: Stems, is_listed: bool = False) -> bool:
    """Return whether the word is foreign and no verb, by its ending and by the word after it."""
    if not _is_foreign(word, known) or list_hinted(word):
        return False
    if word.endswith(("ed", "ing")) or _ends_like_verb(word):
        return is_listed
    return not after or (after[0] not in WORDS["determiners"] and after[0] not in SLOTS)


def _is_part_of_other(text: Sequence[str], at: int, known: Stems) -> bool:
    """Return whether the slot only describes another thing: "resistance to X", "amlodipine and X"."""
    start = at - 1
    while start > 0 and text[start] in WORDS["determiners"]:
        start -= 1
    if start < 1:
        return False
    before = text[start - 1]
    # "The function and growth of X" is more than X; a denial with "or" denies both.
    if text[start] == "of" and text[start - 2] == "and" and _is_noun(before, (), known, is_listed=True):
        return True
    if text[start] in ("of", "to", "against", "for"):
        # "X metastasizes to Y" and "X is resistant to Y" are predicates.
        is_verb = start > 1 and text[start - 2] in _BEFORE_VERB - {"and"}
        return not (is_verb or is_predicate_noun(text, start)) and stem_word(before) in _TYPE_CHANGING - known
    return text[start] in ("and", "or", "plus", "(") and _is_noun(before, (), known)


_LETTER_WORDS = {"a", "s", "i", "e", *SLOTS}
_LIMITS = {("at", "least"), ("up", "to"), ("more", "than"), ("less", "than"), ("at", "most")}
_PARTS = {(word, "of") for word in ("part", "parts", "regions", "areas")}
# Endings of participles, and of fields of knowledge: "in human genetics" narrows no claim.
_NO_ADDITION = ("ed", "ing", "ics", "logy")


def is_claim_narrowed(text: Sequence[str], known: Stems) -> bool:
    """Return whether the text adds a rank ("its first finding"), a condition ("in overdose") or a clause."""

    def is_added(word: str) -> bool:
        is_told = word in WORDS["frames"] or word.endswith(_NO_ADDITION) or bool(list_hinted(word))
        return not is_told and _is_foreign(word, known)

    # "The R-enantiomer", "at least 27", "up to 21"
    letters = (word for word in text if len(word) == 1 and word.isalpha())
    ranks = (word for word in text if word in WORDS["ranks"] and stem_word(word) not in known)
    if any(ranks) or not known.union(_LETTER_WORDS).issuperset(letters):
        return True
    limits = (pair for pair, n in zip(pairwise(text), text[2:], strict=False) if n.isdigit() or n in SLOTS)
    is_limited = any(pair in _LIMITS and not known.issuperset(map(stem_word, pair)) for pair in limits)
    if is_limited or (text[1:2] == ("the",) and is_added(text[0])):
        return True
    # "Removes a part of X"; "is a part of X" says another thing.
    words = ["", *(word for word in text if word not in WORDS["articles"])]
    parts = (i for i, pair in enumerate(pairwise(words)) if pair in _PARTS and words[i + 2] in SLOTS)
    if "part" not in known and any(words[i - 1] not in WORDS["copulas"] for i in parts):
        return True
    for word, after in pairwise(text):
        # "Not directly" leaves a part of the claim undenied, and "a serious reaction" is not every reaction.
        is_limit = word == "not" and after.endswith("ly") and after not in WORDS["confirming"]
        if is_limit and not tag_word(after) and stem_word(after) not in known:
            return True
        is_described = stem_word(after) in known and after not in WORDS["prepositions"]
        if _is_adjective(word) and word not in WORDS["class_nouns"] and is_described and is_added(word):
            return True
    commas = [i for i, token in enumerate(text) if token == ","]
    last = max(i for i, token in enumerate(text) if token in SLOTS)
    asides = [text[at + 1 : end] for at, end in pairwise(commas) if text[at + 1] in WORDS["inserting"]]
    # "X, a bacterium, …" only says of which class X is.
    asides = [
        x for x in asides if len(x) > 3 or not (x[-1] in WORDS["class_nouns"] or find_noun_kinds(x[-1]))
    ]
    if sum(map(is_added, text[last + 2 :])) > 1 or any(is_added(word) for aside in asides for word in aside):
        return True
    # "… in overdose", "In pregnancy, …"
    for at in (i for i, word in enumerate(text) if word in WORDS["conditional"] and (i == 0 or i > last)):
        phrase = text[at + 1 : next((i for i in commas if i > at), len(text))]
        is_outer = bool(phrase) and WORDS["frames"].union(SLOTS).isdisjoint((*phrase[:3], phrase[-1]))
        # "… if the aorta is narrowed"
        is_clause = text[at] in WORDS["circumstances"] and any(_is_foreign(word, known) for word in phrase)
        is_clause = is_clause and set(SLOTS).isdisjoint(phrase)
        if is_outer and (is_added(phrase[-1]) or is_clause):
            return True
    return False
