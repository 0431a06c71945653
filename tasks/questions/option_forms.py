"""The grammatical form of an option, which decides how a statement can contain it.

The lists are of general English and of clinical instructions. An option that they do not know is taken for a
noun phrase in the singular, the form of most options; an option with a finite verb is never taken for one.
"""

import re
from collections.abc import Sequence
from enum import Enum

from tasks.questions.vocabulary import (
    AFTER_NOUN,
    FINITE,
    INSTRUCTIONS,
    INSTRUCTIONS_OR_NOUNS,
    PLURALS,
    SENTENCE_STARTS,
    SENTENCE_VERBS,
    SINGULARS,
    THIRD_PERSON,
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
_ADJECTIVE_ENDS = ("al", "ar", "ary", "ic", "ick", "in", "ive", "ous", "ed", "ent")
_SINGULAR_ENDINGS = ("ss", "us", "is", "'s", "’s", "ous")


class Form(Enum):
    """What an option is: a noun phrase of some number, an instruction, a sentence, or none of them."""

    SINGULAR = "singular"
    PLURAL = "plural"
    JOINED = "joined"
    INSTRUCTION = "instruction"
    SENTENCE = "sentence"
    OTHER = "other"

    @property
    def is_noun(self) -> bool:
        """Whether the option can stand where a noun stands."""
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
        is_adjective = " " not in parts[0] and " " in parts[-1] and not parts[0].endswith("s")
        is_adjective = (
            is_adjective and not is_plural(parts[-1].split()[-1]) and parts[0].endswith(_ADJECTIVE_ENDS)
        )
        return Form.OTHER if is_adjective else Form.JOINED
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
