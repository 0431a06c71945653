"""Changes of a template after which it says something else, or nothing; all in general English.

A template is a sentence with the slots [X] and [Y]. A function returns null if it cannot change the template.
"""

import re
from random import Random

from training.sound_edits import capitalise, lower_start

BEFORE_NAME = (
    "acute", "chronic", "severe", "mild", "early", "late", "congenital", "secondary", "juvenile", "benign",
    "malignant", "left", "bilateral", "resistant", "recurrent", "fear of", "resistance to", "absence of",
    "history of", "family history of", "suspected", "microscopic", "partial", "anti-", "non-", "post-",
    "pre-", "lack of", "treatment of", "prevention of", "high-dose", "intravenous", "topical", "neonatal",
)  # fmt: skip
AFTER_NAME = (
    "in children", "in pregnancy", "of the lung", "of the skin", "vaccine", "deficiency", "receptor",
    "antibody", "syndrome", "therapy", "stage IV", "type 2", "in adults", "in overdose", "mutation",
    "gene", "surgery", "resistance", "withdrawal", "test", "levels", "without complications",
    "and its complications", "abuse",
)  # fmt: skip
CONDITIONS = (
    "in children", "in overdose", "during pregnancy", "in animals", "in rare cases",
    "only in combination with other drugs",
    "at high doses", "as its first finding", "in elderly men", "after surgery", "before the age of five",
    "in the absence of treatment", "within two days", "if untreated", "in laboratory studies", "in winter",
    "on the left side", "when given intravenously", "indirectly", "permanently", "for the first time",
)  # fmt: skip
ADDITIONS = (
    ", and it also affects the kidney", " and several other conditions", ", which is often fatal",
    ", a rare disease", ", especially in women", ", which makes it the best choice", ", so surgery is needed",
    " and should be avoided", ", but only for a short time", ", because it damages the liver",
)  # fmt: skip
# Words of a writer that talks about the sentence, and of one that says nothing.
TALK = (
    "The medical term for {}", "The statement means that {}", "This can be described as {}",
    "Namely {other}, {}", "The question is whether {}", "The patient says that {}",
    "It is unclear whether {}", "Some believe that {}", "Rephrased, {}", "One example is {other}, and {}",
    "{other}, {}", "It is asked if {}", "The term {}",
)  # fmt: skip
TRAILS = (
    ", which is a medical term", ", also known as {other}", ", commonly referred to as {other}",
    ", which is a gene located on {other}", " and is also referred to as {other}",
    ", a condition that affects the muscles",
    ", which is involved in {other}", ", which is a serious medical condition", ", such as {other}",
    " and {other}",
    ", which is critical for survival", ", including {other}", " in this context", " as a medical term",
)  # fmt: skip
EXTENTS = (
    "primarily",
    "exclusively",
    "the most",
    "mainly",
    "solely",
    "possibly",
    "rarely",
    "also",
    "never",
    "only",
)
STRONGER = ("must", "will", "always", "invariably")
WEAKER_WORDS = ("may not", "is unlikely to", "does not always", "rarely")
_MODAL = re.compile(r"\b(may|might|can|could)\b(?! not|not)")
_NEGATION = re.compile(
    r"\b(is|are|does|do|can|has|was) ?(not|n't)\b|\b(cannot|can't|isn't|doesn't|none|never|exclude|lacks|"
    r"impossible|unable|incapable|false|incorrect|excluded|fails|no)\b",
    re.IGNORECASE,
)
OPPOSITES = {
    "cannot": "can", "can't": "can", "isn't": "is", "doesn't": "does", "none": "one", "never": "",
    "exclude": "include", "lacks": "has", "impossible": "possible", "unable": "able", "incapable": "capable",
    "false": "true", "incorrect": "correct", "excluded": "included", "fails": "manages", "no": "a",
}  # fmt: skip


def talk(text: str, other: str, random: Random) -> str:
    """Return the text within words about it, with a trail, or with a word that says how far it holds."""
    kind = random.random()
    if kind < 0.35:
        return random.choice(TALK).format(lower_start(text), other=other)
    if kind < 0.7:
        trail = random.choice(TRAILS).format(other=other)
        slot = random.choice(("[X]", "[Y]"))
        return (
            text.replace(slot, f"{slot}{trail}", 1)
            if random.random() < 0.5
            else f"{text.rstrip('.')}{trail}."
        )
    if kind < 0.85:
        word = random.choice(EXTENTS)
        return re.sub(r"\b(is|are|may be|does not|not|has)\b", lambda m: f"{m[1]} {word}", text, count=1)
    # A relative clause takes the place of the verb: "[X], commonly used to treat [Y]."
    return re.sub(r"(\[[XY]\]) (is|are|has|may|can|does)\b(?: not)?", r"\1,", text, count=1)


def flip_negation(text: str, random: Random) -> str | None:
    """Return the text with a negation removed, or with one added where there is none."""
    found = list(_NEGATION.finditer(text))
    if found:
        match = random.choice(found)
        word = match[0].lower()
        new = OPPOSITES.get(word, match[1] or "")
        return re.sub(r"\s+", " ", text[: match.start()] + new + text[match.end() :])
    if modal := _MODAL.search(text):
        return f"{text[: modal.start()]}cannot{text[modal.end() :]}"
    return (
        re.sub(r"\b(is|are|has|include)\b", lambda m: f"{m[1]} not", text, count=1)
        if " is " in text
        else None
    )


def change_modality(text: str, random: Random) -> str | None:
    """Return the text more sure, or less sure."""
    if modal := _MODAL.search(text):
        word = random.choice((*STRONGER, *WEAKER_WORDS))
        return text[: modal.start()] + word + text[modal.end() :]
    if " cannot " in text:
        return text.replace(
            " cannot ", f" {random.choice(('may not', 'might not', 'rarely can', 'is unlikely to'))} ", 1
        )
    for word in (" is not ", " does not "):
        if word in text:
            return text.replace(
                word, f"{word}{random.choice(('always', 'usually', 'necessarily', 'only'))} ", 1
            )
    if " is " in text:
        return text.replace(
            " is ", f" is {random.choice(('possibly', 'perhaps', 'rarely', 'always', 'only'))} ", 1
        )
    return None


def qualify_name(text: str, random: Random) -> str:
    """Return the text about another entity, whose name contains that of one slot."""
    slot = random.choice(("[X]", "[Y]"))
    if random.random() < 0.5:
        word = random.choice(BEFORE_NAME)
        return text.replace(slot, f"{word}{'' if word.endswith('-') else ' '}{slot}", 1)
    return text.replace(slot, f"{slot} {random.choice(AFTER_NAME)}", 1)


def lose_name(text: str, other: str, random: Random) -> str:
    """Return the text with another name, or with none, in one slot."""
    slot = random.choice(("[X]", "[Y]"))
    stand_ins = (
        other,
        other,
        other,
        "this condition",
        "another disease",
        "it",
        "the patient",
        other + " and " + other,
    )
    new = random.choice(stand_ins)
    other_slot = "[Y]" if slot == "[X]" else "[X]"
    return text.replace(slot, other_slot if random.random() < 0.2 else new)


def add_condition(text: str, random: Random) -> str:
    """Return the text with a condition, which makes it say less."""
    body, condition = text.rstrip("."), random.choice(CONDITIONS)
    if random.random() < 0.3:
        return f"{capitalise(condition)}, {lower_start(body)}."
    return f"{body} {condition}."


def add_claim(text: str, random: Random) -> str:
    """Return the text with a further claim, which makes it say more."""
    return f"{text.rstrip('.')}{random.choice(ADDITIONS)}."


def contradict(text: str, contrary: str, random: Random) -> str:
    """Return a sentence that states the text and its contrary."""
    link = random.choice(
        (", but ", ", although ", ", and ", ", which means that ", " and yet ", ", even though ")
    )
    first, second = random.sample((text, contrary), 2)
    if random.random() < 0.3:
        words = second.rstrip(".").split()
        tail = " ".join(words[random.randrange(len(words)) :])
        return f"{first.rstrip('.')}, which {random.choice(('is not', 'is', 'does not', 'cannot'))} {tail}."
    return f"{first.rstrip('.')}{link}{lower_start(second)}"


def break_sentence(text: str, random: Random) -> str | None:
    """Return a text with both slots that is no complete sentence, or says nothing."""
    names = random.sample(("[X]", "[Y]"), 2)
    kind = random.randrange(6)
    words = text.rstrip(".").split()
    if kind == 0:
        opening = random.choice(
            ("If a patient has", "When a person has", "A patient with", "In a patient with", "Having")
        )
        return f"{opening} {names[0]}, then {names[1]}."
    if kind == 1:
        middle = random.choice(("of", "and", "with", "in", "or", "is", "for", "by", "versus", "as"))
        return f"{names[0]} {middle} {names[1]}."
    if kind == 2:  # the words between the names, or a part of them, are lost
        start, end = sorted((text.find("[X]"), text.find("[Y]")))
        inner = text[start + 3 : end].split()
        kept = inner[: random.randrange(max(len(inner) // 2, 1))]
        return " ".join([text[: start + 3], *kept, text[end:]])
    if kind == 3:  # some words are lost
        kept = [w for w in words if "[" in w or random.random() > 0.4]
        return " ".join(kept) + "." if len(kept) < len(words) - 2 else None
    if kind == 4:  # two pieces in the wrong order
        cut = random.randrange(1, len(words))
        return " ".join([*words[cut:], *words[:cut]]) + "."
    start = random.randrange(len(words))
    piece = words[start : start + 6]
    return " ".join([*words, random.choice(("which", "that", "and", "of")), *piece]) + "."


def mix(text: str, other: str, random: Random) -> str | None:
    """Return the beginning of one text with the end of another."""
    first, second = text.rstrip(".").split(), other.rstrip(".").split()
    cut, start = random.randrange(1, len(first)), random.randrange(len(second))
    mixed = " ".join([*first[:cut], *second[start:]]) + "."
    return mixed if "[X]" in mixed and "[Y]" in mixed else None


def swap_slots(text: str) -> str:
    """Return the text with its slots exchanged."""
    return text.replace("[X]", "\0").replace("[Y]", "[X]").replace("\0", "[Y]")
