"""Changes of a template that keep its meaning, in general English.

A template is a sentence with the slots [X] and [Y].
"""

import re
from collections.abc import Sequence
from random import Random

from prototypes.templates import fill_slots

# Words that a rewording exchanges without a change of meaning, in groups of the same meaning.
SYNONYMS = (
    ("condition", "disorder", "disease", "illness", "health problem"),
    ("drug", "medication", "medicine", "agent", "pharmaceutical"),
    ("procedure", "intervention", "operation"),
    ("gene product", "protein"),
    ("finding", "feature", "sign"),
    ("tissue", "body part", "structure"),
    ("process", "activity"),
    ("effect", "action"),
    ("used for", "employed for", "applied in", "utilized for"),
    ("used to treat", "used for treating", "given for", "prescribed for", "employed in treating"),
    ("treated with", "treated by", "treated using", "managed with"),
    ("managed with", "managed by", "managed through", "handled with", "treated with"),
    ("encodes", "codes for", "carries the code for", "is responsible for producing"),
    ("encoded by", "coded by", "specified by"),
    ("occurs", "happens", "takes place", "arises"),
    ("prevent", "avert", "help avoid", "protect against"),
    ("mapped to", "assigned to", "linked to", "traced to"),
    ("found in", "seen in", "observed in", "present in", "detected in"),
    ("located in", "situated in", "positioned in"),
    ("plays a role in", "has a role in", "is involved in", "takes part in", "contributes to"),
    ("known", "recognized", "established"),
    ("associated", "linked", "connected"),
    ("those", "the ones"),
    ("undergoes", "receives"),
    ("takes", "is given", "uses"),
    ("patient", "person", "individual"),
    ("somebody", "someone", "a person"),
    ("common", "frequent", "usual", "typical", "widespread"),
    ("possible", "potential"),
    ("is among", "is one of", "belongs to"),
    ("is not among", "is not one of", "does not belong to", "isn't among"),
    ("include", "comprise", "contain"),
    ("exclude", "do not include", "don't include"),
    ("lacks", "does not have", "doesn't have", "is without"),
    ("it is true that", "it is correct that", "it is right that", "it holds that"),
    ("it is false that", "it is incorrect that", "it is not true that", "it is wrong that"),
    ("cannot", "can't", "is unable to", "is not able to"),
    ("does not", "doesn't", "fails to"),
    ("is not", "isn't"),
    ("may", "might", "can", "could"),
    ("used to", "employed to", "utilized to"),
    ("if a patient has", "when a patient has", "in a patient who has", "for a patient with"),
    ("known to", "recognized to"),
    ("a feature of", "a characteristic of"),
    ("those that", "the ones that"),
    ("associated with", "linked to", "related to"),
    ("caused by", "brought about by"),
    ("leads to", "results in", "brings about"),
    ("lead to", "result in", "bring about"),
    ("suffers from", "has", "is affected by"),
    ("shows", "displays", "exhibits"),
    ("known to", "reported to"),
    ("taking", "receiving", "being given"),
    ("somebody with", "anyone with", "those with"),
    ("one of the", "one among the", "counted among the"),
    ("serves as", "acts as", "functions as", "represents"),
    ("may be", "might be", "could be", "is possibly"),
    ("plays no part in", "plays no role in", "has no part in"),
    ("in no way", "not at all"),
)
FREQUENT = ("commonly", "frequently", "often", "typically", "usually", "generally", "routinely", "widely")
_AFTER_VERB = re.compile(
    r"\b(is not|are not|is|are|does not|may|can)\b(?! (?:true|false|correct|incorrect|not)\b)"
)
TRUISMS = (
    "It is true that ",
    "It is correct that ",
    "It is a fact that ",
    "It is known that ",
    "Medically, ",
)
DENIALS = ("It is false that ", "It is not true that ", "It is incorrect that ", "It is not the case that ")
# Nouns that say what a name is; a rewording drops them, adds them, or exchanges them.
_KIND_NOUN = re.compile(
    r"\b[Tt]he (condition|drug|agent|disease|disorder|procedure|intervention|gene product|product|finding|"
    r"event|protein|medication|feature|substance|medicine|illness|vaccine|factor|operation|gene|process|effect)"
    r"(?= \[)"
)
_ENDING = re.compile(r" as an? \w+(?: \w+)?\.$")
ASIDES = ("in fact, ", "indeed, ", "specifically, ", "in general, ", "of note, ")


def capitalise(text: str) -> str:
    """Return the text with a capital at its start, unless it starts with a slot."""
    return text[:1].upper() + text[1:]


def lower_start(text: str) -> str:
    """Return the text as it stands within a sentence."""
    return text if text.startswith("[") else text[:1].lower() + text[1:]


def exchange_synonyms(text: str, random: Random) -> str:
    """Return the text with up to three of its words exchanged for others of the same meaning."""
    for group in random.sample(SYNONYMS, len(SYNONYMS))[:24]:
        found = random.choice(group)
        if not found.strip():
            continue
        pattern = re.compile(rf"(?<![\w'-]){re.escape(found.strip())}(?![\w'-])(?! not\b)", re.IGNORECASE)
        if pattern.search(text):
            word = random.choice(group).strip()
            text = re.sub(r"\s+", " ", pattern.sub(word, text, count=1)).strip()
    return capitalise(text)


def insert_frequency(text: str, other: str, random: Random) -> tuple[str, str]:
    """Return both texts with words for "often" in the same place, if they have such a place."""
    first, second = random.sample(FREQUENT, 2)
    if not _AFTER_VERB.search(text) or not _AFTER_VERB.search(other):
        return text, other
    return _AFTER_VERB.sub(rf"\1 {first}", text, count=1), _AFTER_VERB.sub(rf"\1 {second}", other, count=1)


def edit_lightly(text: str, random: Random) -> str:
    """Return the text with one to three small changes that keep its meaning."""
    for word in FREQUENT:
        if f" {word} " in text and random.random() < 0.7:
            text = text.replace(f" {word} ", f" {random.choice(FREQUENT)} ", 1)
            break
    for edit in random.sample((_edit_kind_noun, _edit_opening, _edit_ending, _add_aside), 2):
        text = edit(text, random)
    if random.random() < 0.75:
        text = exchange_synonyms(text, random)
    return capitalise(text)


def _edit_kind_noun(text: str, random: Random) -> str:
    """Return the text without a noun before a slot, with another article, or with an abbreviation."""
    kind = random.random()
    if kind < 0.6 and _KIND_NOUN.search(text):
        return capitalise(_KIND_NOUN.sub("", text, count=random.choice((0, 1))).replace("  ", " ").strip())
    slot = random.choice(("[X]", "[Y]"))
    if kind < 0.75:
        letters = "".join(random.choices("ABCDEFGHLMNPRST", k=random.randint(2, 5)))
        return text.replace(slot, f"{slot} ({letters})", 1)
    if kind < 0.85 and f"the {slot}" not in text:
        return text.replace(slot, f"the {slot}", 1)
    return text.replace(f"the {slot}", slot, 1) if kind < 0.95 else text.replace(slot, f"'{slot}'", 1)


def _edit_opening(text: str, random: Random) -> str:
    text = text.replace(", then ", ", ") if random.random() < 0.6 else text
    text = re.sub(
        r", this (condition|drug|procedure|disease|agent)\b", ", it", text, count=random.choice((0, 1))
    )
    if text.startswith("If ") and random.random() < 0.5:
        return f"{random.choice(('When', 'Whenever', 'In case'))}{text[2:]}"
    return (
        text.replace("this ", random.choice(("the ", "that ", "such a ")), 1)
        if random.random() < 0.3
        else text
    )


def _edit_ending(text: str, random: Random) -> str:
    """Return the text without what its end says twice ("managed with [Y] as a procedure")."""
    shorter = _ENDING.sub(".", text)
    return shorter if "[X]" in shorter and "[Y]" in shorter else text


def _add_aside(text: str, random: Random) -> str:
    aside = random.choice(ASIDES)
    if random.random() < 0.3:
        return f"{capitalise(aside)}{lower_start(text)}"
    return text.replace(" is ", f" is, {aside}", 1) if random.random() < 0.3 else text


def affirm(text: str, random: Random) -> str:
    """Return the text after words that say that it is true."""
    return random.choice(TRUISMS) + lower_start(text)


def deny(text: str, random: Random) -> str:
    """Return the text after words that say that it is false."""
    return random.choice(DENIALS) + lower_start(text)


def fill_sentence(text: str, names: Sequence[str]) -> str:
    """Return the text with these names for [X] and [Y], and with a capital at its start."""
    return capitalise(fill_slots(text, *names))
