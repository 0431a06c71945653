"""Draft the eight prototypes of a relation from one affirmative sentence in English.

A tagger tells nouns and verbs apart, and a few rules turn and deny the sentence. A sentence that they are not
sure to understand is refused, with what to write instead.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import polars as pl

from pretexeval.gate.lexicon import join_parts, list_words, load_tagger
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml, render_toml
from pretexeval.storage.files import write_bytes
from prototypes.templates import NEGATIONS, SLOTS, check_cells, check_text
from schemas.transformations import NAMES

SIDES = ["head", "tail"]
COMMENT = "# Drafted from one sentence: read every text, and change what does not read well.\n"
EXAMPLE = '"The drug [X] may treat the disease [Y]."'
# Tags of the C5 set of the BNC: VVZ is "treats", VVB is "(they) treat".
FINITE = re.compile(r"VM0|V[BDHV][BDZ]")
NOUN = re.compile(r"NN|AJ|NP|UNC|CRD")
# The tagger reads these names for the slots.
STAND_INS = dict(zip(SLOTS, ("Velorak", "Tunsobar"), strict=True))
# Logarithm of a word's probability below which the tagger guesses.
KNOWN = -20
# Auxiliary -> its denial. "may not" would leave open that it may: both sentences could be true.
DENIED = {"may": "cannot", "can": "cannot", "is": "is not", "are": "are not"}
# With one of these, "not" would deny less or more than the sentence says ("is not always", "not in some").
QUANTIFIERS = list_words(
    "all any both each either every few many more most only several some always usually sometimes "
    "generally mainly typically rarely"
)
CLAUSES = list_words(
    "that which who whom whose where when if because although while unless but it there this these"
)
# What is so of a patient with something of a kind: "If a patient takes the drug [X], …".
CONDITIONS = {
    "takes": "drug|medicine|medication|medicinal product|supplement",
    "has": "disease|condition|disorder|syndrome|symptom|sign|finding|phenotype|illness|infection|cancer|tumor"
    "|neoplasm|abnormality|complication|comorbidity|allergy|injury|manifestation|side effect|adverse effect",
    "undergoes": "procedure|operation|surgery|test|treatment|therapy|examination|intervention",
    "is exposed to": "agent|substance|chemical|toxin|compound|allergen|pathogen|virus|bacterium",
}
# "An ulcer", "an HLA allele", but "a unit".
_VOWEL = re.compile(r"[aeioAEIO]|u(?!ni|r[ei]|t[ei]|s[eu])|[FHLMNRSX][A-Z]")
# Words that the name of a predicate does not need.
_EMPTY = re.compile(
    r"^If(?: a patient)?|\b(?:the|this|these|an?)\b|\b(?:is|are) (?:one|something|things) that|\[[XY]\]"
)
_Pair = tuple[str, str]
"""Words that affirm, and words that deny the same."""


@dataclass(frozen=True)
class Draft:
    """The eight prototypes of a relation, and the names of the predicates of its instantiated form."""

    cells: dict[str, str]
    instance: tuple[str, str]
    advice: tuple[str, ...]
    """Changes of the sentence that make the texts clearer."""


@dataclass(frozen=True)
class _Word:
    text: str
    tag: str


@dataclass(frozen=True)
class _Name:
    """A slot with the words that say what it is, such as "the drug [X]"."""

    slot: str
    article: str
    kind: str
    """Such as "drug"; empty if the sentence does not say it."""

    @property
    def full(self) -> str:
        return join_parts(self.article, self.kind, self.slot)

    @property
    def condition(self) -> str:
        for verb, nouns in CONDITIONS.items():
            if re.search(rf"\b(?:{nouns})$", self.kind):
                return f"a patient {verb}"
        return "the record of a patient mentions"


@dataclass(frozen=True)
class _Sentence:
    """The parts of "Mutations in the gene [X] often cause the disease [Y] in children."."""

    prefix: str
    subject: _Name
    verbs: _Pair
    """The verb with its adverbs: "often cause", "do not often cause"."""
    before: str
    """The words between the verb and the other name, as in "is a symptom of the disease [Y]"."""
    other: _Name
    after: str
    is_identity: bool
    """True if it says what the subject is: "is a symptom of"."""

    def say(self, name: str) -> _Pair:
        """Return what the sentence says of its subject, and the denial, with this for the other name."""
        affirmed, denied = (join_parts(verb, self.before, name, self.after) for verb in self.verbs)
        return affirmed, denied


def draft_prototypes(sentence: str) -> Draft:
    """Return the draft of a relation from a sentence that states it with `[X]` and `[Y]`, in either order.

    Raises:
        InputError: the rules do not understand the sentence; the message says what to write instead.
    """
    parts = _read_sentence(" ".join(sentence.split()).rstrip(".") + ".")
    cells = _write_cells(parts)
    if problems := list(check_cells({name: [text] for name, text in cells.items()})):
        raise InputError("\n  ".join([f"the sentence gives no sound prototypes; try {EXAMPLE}", *problems]))
    advice = tuple(
        f'a noun before {name.slot} makes the texts clearer, as in "the {noun} {name.slot}"'
        for name, noun in ((parts.subject, "drug"), (parts.other, "disease"))
        if not name.kind
    )
    condition, claim = _EMPTY.sub("", cells["ins"]).split(", then ")
    return Draft(cells, (_name_predicate(condition), _name_predicate(claim)), advice)


def _write_cells(parts: _Sentence) -> dict[str, str]:
    """Return transformation -> prototype, in the order of the transformations.

    A claim about one patient says no more than the relation: the drug "is one that causes" the disease, which
    need not be the cause of this patient's disease.
    """
    subject, other = parts.subject, parts.other
    is_bare, are_many = not parts.prefix, parts.verbs[1].startswith(("are ", "do ", "have "))
    be, something, this = ("are", "things", "these") if is_bare and are_many else ("is", "something", "this")

    def call(what: str, verb: str = "is") -> _Pair:
        return f"{verb} {what}", f"{verb} not {what}"

    said, about = parts.say(other.full), join_parts(parts.prefix, subject.full)
    turned = call(f"{'one' if other.kind else 'something'} that {about} {parts.say('')[0]}")
    this_one, of_this = join_parts(parts.prefix, this, subject.kind), said
    if is_bare and not parts.is_identity:
        of_this = call(f"{'one' if subject.kind else something} that {said[0]}", be)
    name, of_other = join_parts("this", other.kind), turned
    if is_bare and other.kind:
        name, of_other = subject.full, parts.say(name)
        if not parts.is_identity:
            article = "an" if _VOWEL.match(subject.kind) else "a"
            kind = f"{article} {subject.kind}" if subject.kind else something
            name, of_other = subject.slot if subject.kind else name, call(f"{kind} that {of_other[0]}", be)
    forms = (
        (subject.slot, "", about, said),
        (other.slot, "", other.full, turned),
        (subject.slot, "ins", f"if {subject.condition} {subject.full}, then {this_one}", of_this),
        (other.slot, "ins", f"if {other.condition} {other.full}, then {name}", of_other),
    )
    cells = {}
    for slot, form, start, predicates in forms:
        for ending, predicate in zip(("", "dn"), predicates, strict=True):
            steps = [step for step in ("inv" if slot == "[Y]" else "", form, ending) if step]
            text = f"{start} {predicate}."
            cells["_".join(steps) or "none"] = text[0].upper() + text[1:]
    return {name: cells[name] for name in NAMES}


def _read_sentence(sentence: str) -> _Sentence:
    """Return the parts of a sentence, or raise InputError with what to write instead."""
    if problems := list(check_text(sentence)):
        raise InputError(f"the sentence {problems[0]}: write one like {EXAMPLE} (prototypes are in English)")
    words = _tag_words(sentence.rstrip("."))
    first, second = (i for i, word in enumerate(words) if word.text in SLOTS)
    at_verb = next((i for i in range(first + 1, second) if words[i].tag != "AV0"), second)
    starts = _find_name(words, 0, first), _find_name(words, min(at_verb + 1, second), second)
    for problem, instead in _find_problems(words, first, at_verb, second, starts):
        raise InputError(f"the sentence {problem}: write {instead} (prototypes are in English)")
    before = words[at_verb + 1 : starts[1]]
    return _Sentence(
        prefix=_join_words(words[: starts[0]]),
        subject=_read_name(words[starts[0] : first + 1]),
        verbs=_deny_verb(_join_words(words[first + 1 : at_verb]), words[at_verb].text, before),
        before=_join_words(before),
        other=_read_name(words[starts[1] : second + 1]),
        after=_join_words(words[second + 1 :]),
        is_identity=words[at_verb].text in ("is", "are") and before[0].tag.startswith(("AT", "NN")),
    )


def _find_problems(
    words: list[_Word], first: int, at_verb: int, second: int, starts: tuple[int, int]
) -> Iterator[_Pair]:
    """Yield each problem of the words, and what to write instead. Each problem may hide the later ones."""
    one, other, verb = words[first].text, words[second].text, words[at_verb].text
    texts = [word.text.lower() for word in words]
    signs = [text for text in texts if re.fullmatch(r"[^\w\[]", text)]
    # The tagger reads "an overdose of" as a verb.
    finite = [
        i for i in range(len(words)) if FINITE.match(words[i].tag) and (not i or words[i - 1].tag != "AT0")
    ]
    verbs = [texts[i] for i in finite if i > at_verb]
    verbs += [b.text for a, b in pairwise(words) if a.tag == "CJC" and not NOUN.match(b.tag)]
    causes = f'"{one} causes …", "{one} may cause …" or "Mutations in the gene {one} cause …"'
    clause = f"one clause, as in {EXAMPLE}"
    for found, problem, instead in (
        (NEGATIONS.findall(" ".join(texts)), "denies something with", "what is true of a fact"),
        (QUANTIFIERS & {*texts}, "has no clear denial with", 'it without this word, or with "may"'),
        (CLAUSES & {*texts}, "has a second clause with", clause),
        (signs, "has the sign", "words only"),
        ([texts[i] for i in finite if i < first], f"has no {one} before its verb", clause),
        ([] if _is_verb(verb, words[at_verb + 1]) else [verb], f"needs a verb after {one}, not", causes),
        (verbs, "has a second verb,", clause),
    ):
        if found:
            yield f"{problem} {min(found)!r}", instead
    before, after, prefix = words[at_verb + 1 : starts[1]], words[second + 1 :], words[: starts[0]]
    nouns = words[starts[0] : first], words[starts[1] : second]
    for noun, slot in zip(nouns, (one, other), strict=True):
        if noun and noun[-1].tag.startswith("NN2" if noun[0].tag == "AT0" else ("NN2", "AJ")):
            yield f"has {noun[-1].text!r} before {slot}", f'a noun in the singular, as in "the drug {slot}"'
    is_named = bool(nouns[0]) and nouns[0][-1].tag != "AT0"
    if prefix and not (prefix[-1].tag.startswith("PR") and is_named):
        yield f"does not say what {one} is", f'"{_join_words(prefix)} the gene {one} …", or another noun'
    if is_named and not prefix and not verb.endswith("s") and verb not in ("may", "can"):
        yield f"has the plural {verb!r} after a singular", '"causes"'
    last = before[-1] if before else words[at_verb]
    if last.text in ("is", "are", "be"):
        yield f"says only {last.text!r} before {other}", '"is a kind of", "is treated with", or another verb'
    if before and not last.tag.startswith(("PR", "VV", "VH", "AVP")):
        yield f"has {last.text!r} before {other}", f'a noun, as in "the disease {other}"'
    if after and (last.tag.startswith("PR") or not after[0].tag.startswith(("PR", "CJS", "AV0"))):
        yield f"has {_join_words(after)!r} after {other}", f"a sentence that ends in {other}"


def _tag_words(text: str) -> list[_Word]:
    """Return the words with their tags; the first one without its capital, unless it is a name."""
    texts = re.findall(r"\[[XY]\]|[^\W_][\w'-]*|\S", text)
    tags = load_tagger().tag_sent([STAND_INS.get(each, each) for each in texts], taglevel=0)
    words = [_Word(each, "NP0" if each in SLOTS else tag) for each, tag in zip(texts, tags, strict=True)]
    if words[0].text.istitle() and words[0].tag != "NP0":
        words[0] = replace(words[0], text=words[0].text.lower())
    return words


def _find_name(words: list[_Word], lower: int, slot: int) -> int:
    """Return where the words begin that say what the slot is: "the drug", "the mode of inheritance"."""

    def skip_nouns(end: int) -> int:
        return next((i + 1 for i in reversed(range(lower, end)) if not NOUN.match(words[i].tag)), lower)

    start = skip_nouns(slot)
    if lower < start < slot and words[start - 1].text == "of":
        longer = skip_nouns(start - 1)
        if lower < longer < start - 1 and words[longer - 1].text == "the":
            start = longer
    return start - (start > lower and words[start - 1].tag == "AT0")


def _read_name(words: list[_Word]) -> _Name:
    """Return the slot with the words before it. A noun without an article gets one: "the drug [X]"."""
    *nouns, slot = words
    article = nouns.pop(0).text if nouns and nouns[0].tag == "AT0" else "the" if nouns else ""
    return _Name(slot.text, article, _join_words(nouns))


def _deny_verb(adverbs: str, verb: str, rest: list[_Word]) -> _Pair:
    """Return the verb with its adverbs, affirmed and denied."""
    if verb in DENIED:
        denied = join_parts(DENIED[verb], adverbs)
    elif verb in ("has", "have") and rest and rest[0].tag in ("VVN", "VBN"):
        denied = join_parts(verb, "not", adverbs)
    else:
        denied = join_parts("does not" if verb.endswith("s") else "do not", adverbs, _strip_s(verb))
    return join_parts(adverbs, verb), denied


def _is_verb(word: str, following: _Word) -> bool:
    """Return whether the word may be a verb in the present. An unknown one needs the s of "methylates"."""
    tags = dict(load_tagger().tag_word(word, cutoff=10))
    known = dict(load_tagger().tag_word(_strip_s(word), cutoff=10))
    is_known = any(known.get(tag, 2 * KNOWN) > KNOWN for tag in ("VVI", "VVB", "VHB"))
    has_object = following.tag == "AT0" or following.text in SLOTS
    return word in DENIED or is_known or (word.endswith("s") and (has_object or "VVZ" in tags))


def _strip_s(verb: str) -> str:
    """Return the base form of a verb: "causes" becomes "cause"."""
    base = re.sub(r"(?<=..)ies$", "y", verb)
    return "have" if verb == "has" else re.sub(r"(?<=ss|zz|ch|sh)es$|(?<=[xo])es$|(?<!s)s$", "", base)


def _join_words(words: list[_Word]) -> str:
    return join_parts(*(word.text for word in words))


def _name_predicate(text: str) -> str:
    """Return the words as the name of a predicate: TakesDrug."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", text))


def place_slots(sentence: str, facts: pl.DataFrame) -> str:
    """Return the sentence with `[X]` and `[Y]` in place of the names of a fact, unless it has a slot.

    Args:
        facts: the columns head and tail.

    Raises:
        InputError: the sentence names no fact.
    """
    if any(slot in sentence for slot in SLOTS):
        return sentence
    text = pl.lit(sentence.lower())
    named = facts.filter(text.str.contains(pl.col(c).str.to_lowercase(), literal=True) for c in SIDES)
    for names in sorted(named.select(SIDES).rows(), key=lambda row: len("".join(row)), reverse=True):
        slots = {name.lower(): slot for name, slot in zip(names, SLOTS, strict=True)}
        pattern = "|".join(re.escape(name) for name in sorted(slots, key=len, reverse=True))
        parts = re.split(rf"(?<!\w)({pattern})(?!\w)", sentence, flags=re.IGNORECASE)
        if slots.keys() <= {part.lower() for part in parts}:
            return "".join(slots.get(part.lower(), part) for part in parts)
    head, tail = facts.select(SIDES).row(0)
    raise InputError(
        f"the sentence names no fact of the relation: write [X] and [Y], as in {EXAMPLE}, or the names of a "
        f"fact, such as {head!r} and {tail!r}"
    )


def choose_facts(facts: pl.DataFrame, n: int) -> pl.DataFrame:
    """Return up to n facts, from the one with the shortest names to the one with the longest."""
    length = pl.sum_horizontal(pl.col(SIDES).str.len_chars())
    ordered = facts.select(SIDES).unique().sort(length, *SIDES)
    return ordered[sorted({round(i * (len(ordered) - 1) / (n - 1)) for i in range(n)})]


def add_draft(path: Path, relation: str, draft: Draft) -> None:
    """Add the relation's table to a TOML pool, which is made if it does not exist.

    Raises:
        InputError: the file is no TOML, or it has the relation already.
    """
    if path.suffix != ".toml":
        raise InputError(f"{path}: prototypes are written as TOML: choose a name that ends in .toml")
    if relation == "extends" or (path.exists() and relation in parse_toml(path)):
        raise InputError(f"{path} has the relation {relation!r} already: delete its table to draft it again")
    before = path.read_text(encoding="utf-8-sig").rstrip("\n") + "\n\n" if path.exists() else ""
    cells = [f"{name} = [{render_toml(text)}]" for name, text in draft.cells.items()]
    lines = [f"[{relation}]", f"instance = {render_toml(list(draft.instance))}", *cells]
    write_bytes(path, (before + COMMENT + "\n".join(lines) + "\n").encode())
