"""The grammatical form of an option, which decides how a statement can contain it.

The lists are of general English and of clinical instructions. An option that they do not know is taken for a
noun phrase in the singular, the form of most options; an option with a finite verb is never taken for one.
"""

import re
from collections.abc import Sequence
from enum import Enum

from pretexeval.gate.lexicon import list_words

# Finite auxiliaries: an option with one of them is a sentence.
FINITE = list_words(
    """
    am are aren't can can't cannot could couldn't did didn't do does doesn't don't had has hasn't have
    haven't is isn't may might must shall should shouldn't was wasn't were weren't will won't would
    wouldn't
    """
)
# First words of instructions ("Administer oxygen").
INSTRUCTIONS = list_words(
    """
    abstain accept add adjust administer admit advise agree allow apply arrange ask assess assure attempt
    avoid begin bypass call change check conduct confront consider consult contact continue cool counsel
    decline decrease defer deliver determine discharge disclose discontinue discuss dispose disregard draw
    educate elevate encourage ensure evaluate examine exclude explain extubate follow get give hold honor
    identify ignore immobilize immunize increase induce inform initiate inject inquire insert insufflate
    intubate invite involve irrigate keep leave let limit maintain make measure mention monitor move
    notify observe obtain offer open order perform permit persuade place plan postpone prepare prescribe
    prevent proceed protect provide pursue reassess reassure recommend reduce refer refuse remove repair
    repeat replace report request respect respond restart restrict resuscitate return revise rule schedule
    screen seek send set share speak start stop suggest supplement suture switch take taper tell terminate
    test transfer transfuse treat try turn undergo use vaccinate ventilate wait warn wean withdraw
    withhold wrap
    """
)
# Instructions that are nouns too ("change in mood"): they are nouns before AFTER_NOUN.
INSTRUCTIONS_OR_NOUNS = list_words(
    """
    attempt call change decrease discharge draw increase limit monitor offer open order place plan repair
    repeat report request return rule screen start stop supplement switch test transfer use wait
    """
)
AFTER_NOUN = list_words("and at by for from in is of on or to with")
# First words of predicates in the third person ("Blocks reuptake of dopamine").
THIRD_PERSON = list_words(
    """
    activates acts affects alters antagonizes attaches binds blocks causes cleaves competes contains
    converts creates decreases depolarizes destroys disrupts drains elicits encodes enhances enlarges
    forms increases induces inhibits interferes leads lowers makes occurs prevents produces promotes
    reduces regulates releases requires results runs stabilizes stimulates suppresses tends transports
    triggers
    """
)
# First words of sentences.
SENTENCE_STARTS = list_words("he if it she that there these they this we you")
# Verbs in the third person that are no nouns: an option with one of them is a sentence.
SENTENCE_VERBS = list_words(
    """
    activates allows alters becomes binds carries competes contains contributes converts depends encodes
    enhances fails generates improves induces inhibits interferes makes metabolize metabolizes needs
    occurs pays plays poses prevents promotes provides reduces remains requires shows stimulates
    suppresses
    """
)
# Plurals without a plural ending.
PLURALS = list_words(
    """
    bacilli bacteria bodies casts children cocci data diverticula emboli feet foci fungi media men nuclei
    ova people petechiae spirochetes striae teeth thrombi varices vertebrae villi women
    """
)
# Singulars that end like a plural.
SINGULARS = list_words(
    """
    abscess albicans ascites atlas bias biceps caries diabetes facies forceps gas herpes hives lens
    measles meninges mumps mutans pancreas pons rabies rickets scabies series shingles species tabes
    torsades triceps yaws
    """
)
_AFTER_INSTRUCTION = {
    "screen": "for",
    "test": "for",
    "wait": "for",
    "switch": "to",
    "refer": "to",
    "report": "to",
}
_SENTENCE_SIGNS = re.compile(r"""["“”]|;\s|(?<!\b[A-Z])(?<!i\.e)\.\s|[.!?]$|\b(?:need|fail|tend)s? to\b""")
_UNPLACEABLE = re.compile(r"-->|<=>|[<>=]")
_ADJECTIVE = re.compile(r"^(?:\w+(?:able|ible|ed)|Found) (?:by|for|to|in|from|with|on)\b")
_HEAD_ENDS = re.compile(
    r"\s(?:of|in|on|with|without|to|from|for|by|at|that|which|who|due|between|within|into|through|against|during|"
    r"after|before|under|over|per|via|along|across|following|secondary|caused|associated|seen|containing|"
    r"consistent|causing|resulting|leading|lining|around|surrounding|arranged|directed|derived|mediated|produced|attached|filled|covered|staining|when|as|located|involving|"
    r"throughout|upon|near|up)\s"
)
_ADJECTIVE_ENDS = ("al", "ar", "ary", "ic", "ick", "in", "ive", "ed", "ent")
_SINGULAR_ENDINGS = ("ss", "us", "is", "'s", "’s")


class Form(Enum):
    """Form of an option: a noun phrase of some number, an instruction, a sentence, or none of them."""

    SINGULAR = "singular"
    PLURAL = "plural"
    JOINED = "joined"
    INSTRUCTION = "instruction"
    SENTENCE = "sentence"
    OTHER = "other"

    @property
    def is_noun(self) -> bool:
        """Return whether the option can stand where a noun stands."""
        return self in (Form.SINGULAR, Form.PLURAL, Form.JOINED)


def find_forms(options: Sequence[str], are_sentences_likely: bool) -> list[Form]:
    """Return the form of each option of a question.

    Options are parallel: if two of them are sentences, all are. One is enough if ``are_sentences_likely``.
    """
    forms = [find_form(option) for option in options]
    n_sentences = forms.count(Form.SENTENCE)
    are_sentences = n_sentences > 1 or (n_sentences == 1 and are_sentences_likely)
    return [Form.SENTENCE] * len(forms) if are_sentences else forms


def find_form(option: str) -> Form:
    """Return the form of an option by itself. "A and B" is joined; a list without "and" is something else."""
    words = [word.strip(",;:()").casefold().replace("’", "'") for word in option.split()]
    # Names of genes are in capitals ("WAS gene").
    is_verb = words[0] in THIRD_PERSON | FINITE and not option.split()[0].isupper()
    if is_verb or words[0] in SENTENCE_STARTS or _SENTENCE_SIGNS.search(option):
        return Form.SENTENCE
    if is_instruction(words):
        return Form.INSTRUCTION
    if (FINITE | SENTENCE_VERBS) & set(option.replace("’", "'").split()) or _ADJECTIVE.match(option):
        return Form.SENTENCE
    # The negation of "no treatment is needed" would be a double one.
    return Form.OTHER if words[0] == "no" or _UNPLACEABLE.search(option) else _find_number(option)


def is_instruction(words: list[str]) -> bool:
    """Return whether casefolded words begin like an instruction: "administer oxygen", "test for HIV"."""
    verb, *rest = words[1:] if words[0].endswith("ly") and len(words) > 1 else words
    if verb not in INSTRUCTIONS or not rest:
        return verb in {"extubate", "intubate"}
    following = rest[0]
    if verb == "change":
        return following not in AFTER_NOUN and "to" in rest
    if _AFTER_INSTRUCTION.get(verb) == following:
        return True
    return verb not in INSTRUCTIONS_OR_NOUNS or following not in AFTER_NOUN


def _find_number(option: str) -> Form:
    """Return the number of a noun phrase: that of its head, the last word before the first preposition."""
    plain = re.sub(r"\([^)]*\)", " ", re.sub(r"(?<=\d),(?=\d)", "", option)).strip() or option
    head = _HEAD_ENDS.split(f"{plain} ", maxsplit=1)[0].strip()
    if option[0].isdigit():
        return Form.SINGULAR
    parts = re.split(r",?\s(?:and|or|plus|&|\+)\s", head)
    if len(parts) == 1 and "," in head:
        return Form.OTHER
    if len(parts) > 1:
        # In "thick and thin blood smear", "thick" is no noun.
        is_adjective = parts[0].endswith(_ADJECTIVE_ENDS) and " " not in parts[0] and " " in parts[-1]
        return Form.OTHER if is_adjective and not is_plural(parts[-1].split()[-1]) else Form.JOINED
    if "," in plain and (re.search(r",\s\w+ing\b", plain) or not re.search(r"\s(?:and|or)\s", plain)):
        return Form.OTHER
    return Form.PLURAL if is_plural(re.split(r"[\s/-]", head)[-1]) else Form.SINGULAR


def is_plural(word: str) -> bool:
    """Return whether a noun is a plural by its ending. Acronyms in capitals, such as AIDS, are not."""
    folded = word.casefold()
    if folded in PLURALS or folded.endswith(("cocci", "bacilli")):
        return True
    if word.isupper() or folded in SINGULARS or not folded.endswith("s") or len(folded) < 4:
        return False
    return not folded.endswith(_SINGULAR_ENDINGS)


def split_head(noun: str) -> tuple[str, str]:
    """Return the last word of the head of a noun phrase, and what follows: "modes", " of inheritance"."""
    parts = re.split(r"(?=\s(?:of|in|on|about|for|from|regarding|seen)\s)", noun, maxsplit=1)
    return parts[0].split(" ")[-1], "".join(parts[1:])


def make_singular(noun: str) -> str:
    """Return a plural noun phrase, such as "findings" or "modes of inheritance", in the singular."""
    word, rest = split_head(noun)
    start = noun[: len(noun) - len(rest) - len(word)]
    if word.casefold() == "bacteria":
        word = "bacterium"
    elif word.casefold() in {"diagnoses", "analyses", "metastases", "prognoses"}:
        word = f"{word[:-2]}is"
    elif word.endswith("ies") and word != "species":
        word = f"{word[:-3]}y"
    elif word.endswith(("ches", "shes", "xes", "sses", "viruses", "sinuses")):
        word = word[:-2]
    elif is_plural(word):
        word = word[:-1]
    return f"{start}{word}{rest}"


def make_plural(noun: str) -> str:
    """Return a noun phrase with a regular plural, such as "area of the body", in the plural."""
    word, rest = split_head(noun)
    return noun if is_plural(word) else f"{noun.removesuffix(rest)}s{rest}"
