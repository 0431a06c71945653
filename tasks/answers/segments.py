"""Find the part of a response that answers the question: without repeated options and invented questions."""

import re
from bisect import bisect_right
from itertools import islice

from tasks.answers.letters import MIN_QUOTED, AnswerOptions, fold_text, scan_letters

NEW_QUESTION = re.compile(
    r"^[ \t#*_>]{0,8}(?:\d{1,2}[.)] ?)?(?:Question|Q)[ \t]?\d{0,4}[ \t]?[*_]{0,2}:", re.MULTILINE
)
FIRST_OPTION = re.compile(r"(?:^|(?<=[\s(*_]))A(?=[*_]{0,2}[.:)])", re.MULTILINE)
MAX_LISTS = 50
OPTIONS_HEADER = re.compile(r"\b(?:options?|choices|answer choices)\b[\s*_:]{0,8}$", re.IGNORECASE)
# "The correct answer to the second question is B", "Question 2: B", "2. The correct answer is B" and
# "2. Incorrect" answer several questions, one of which may be this one.
ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
NUMBERED = re.compile(
    rf"\b(?:(?P<word>{ORDINALS}|\d{{1,2}}(?:st|nd|rd|th)|final|last)\s(?:(?:sample|example|exam)\s)?"
    r"(?:questions?|samples?|examples?|problems?)"
    r"|(?:question|sample|example|problem)\s(?:#|number\s)?(?P<number>\d{1,2}))\b"
    r"|^(?P<line>\d{1,2})[.)] (?:(?:the )?(?:correct |right |final |best )?answers?|correct|incorrect)\b",
    re.IGNORECASE | re.MULTILINE,
)
FINAL = ("final", "last")
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?:;] )|(?<=\n))(?=\S)")
SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2000-\u200b\u3000]+")
LINES = re.compile(r"\n(?: ?\n){2,}")
# What chat templates, LaTeX and other spellings of a box put around an answer.
SPECIAL_TOKEN = re.compile(
    r"<\|[^|<>\s]{1,40}\|>(?:(?:assistant|model)\s?\n)?|<(?:start|end)_of_turn>(?:model\n)?|</?s>|<eos>"
)
BOX = re.compile(r"\\(?:fbox|framebox(?:\[[^\]\n]{0,20}\])?|boxed)\s?\{\s?")
FONT = re.compile(r"\\(?:text|math)\w{0,8}\s?\{([^{}\n]{0,200})\}")
QUOTED_STATEMENT = re.compile(r"\bstatements?\s(?:\w+\s){0,2}[\"“]([^\"“”\n]{12,600})[\"”]", re.IGNORECASE)
# Words of four letters or more; some occur in every question.
WORD = re.compile(r"\w{4,}")
COMMON = frozenset(
    (
        "this",
        "that",
        "with",
        "most",
        "likely",
        "best",
        "next",
        "step",
        "patient",
        "patients",
        "management",
        "condition",
    )
)
FULL_WIDTH = str.maketrans({0xFF01 + n: 0x21 + n for n in range(94)} | {"。": ". "})
# A question is recognized by its beginning: models shorten the rest.
N_RECOGNIZED = 60


def tidy_text(response: str) -> str:
    r"""Return the response with single spaces, at most one empty line in a row, and no full-width signs.

    Special tokens and fonts are removed, and every box is written \boxed{...}.
    """
    text = SPECIAL_TOKEN.sub("", response.translate(FULL_WIDTH))
    text = BOX.sub(r"\\boxed{", FONT.sub(r"\1", FONT.sub(r"\1", text)))
    return LINES.sub("\n\n", SPACES.sub(" ", text)).strip()


# "The answer" in other languages.
FOREIGN_NOUN = (
    r"(?:(?:正确|最终)?答案|答え|정답|답|antwort|respuesta|réponse|risposta|resposta|ответ|الإجابة|الجواب|उत्तर|cevap)"
    r"(?:\s?(?:ist|es|est|è|é|是|为|は|는|은))?\s?:?"
)
JSON_KEY = re.compile(r"[\"'](?P<key>[A-Za-z][\w \-]{0,40})[\"']\s?[:=]\s?")
KEY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# A key with one of these words says what the answer is not, what somebody else answered, or why.
NOT_ANSWERING = re.compile(
    r"\b(?:incorrect|wrong|false|rejected|others?|not|alternatives?|excluded|eliminated|distractors?|unlikely"
    r"|remaining|original|given|offered|previous|initial|student|explanation|reason|reasoning|rationale|thoughts?"
    r"|thinking|analysis|justification|confidence|question|statement)\b"
)
ANSWERING = (
    re.compile(r"\b(?:options?|letters?|response|result|output|value)\b"),
    re.compile(
        r"\b(?:answers?|choices?|correct|correctness|right|true|valid|prediction|label|verdict|selections?"
        r"|selected|judge?ment|decision|conclusion)\b"
    ),
    re.compile(r"\bfinal\b"),
)
"""The words of keys that answer; a key with a later word counts before one with an earlier word."""


def find_json_answers(text: str) -> list[int]:
    """Return where the values of the keys that answer begin, the one that counts most last."""
    found: list[tuple[int, int]] = []
    end = 0
    for match in JSON_KEY.finditer(text):
        key = " ".join(KEY_WORD.findall(match["key"])).lower()
        if match.start() < end:
            continue
        if NOT_ANSWERING.search(key):
            end = _skip_container(text, match.end())
        elif weights := [n for n, words in enumerate(ANSWERING) if words.search(key)]:
            found.append((max(weights), match.end()))
    return [place for _, place in sorted(found)]


def _skip_container(text: str, start: int) -> int:
    """Return the end of the object or list that begins at a place; the place itself if none does."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "{[") - (text[place] in "}]")
        if depth <= 0:
            return place if place > start else start
    return len(text)


def cut_completion(response: str | None) -> str | None:
    """Return the first line with text: after its answer, a raw completion continues with something else."""
    return response if response is None else next(iter(response.strip().splitlines()), "")


def find_other_statement(text: str, question: str) -> int | None:
    """Return where a reply quotes a statement that is not in the question; None if it does not."""
    quoted = QUOTED_STATEMENT.search(text)
    words = set(WORD.findall(fold_text(quoted[1]))) - COMMON if quoted and question else set()
    is_other = 2 * len(words & set(WORD.findall(fold_text(question)))) < len(words)
    return quoted.start() if quoted and is_other else None


def split_questions(text: str, question: str, options: AnswerOptions) -> tuple[str, list[str]]:
    """Return the part that answers the question, and the parts that begin with another question.

    A model in completion style goes on with questions of its own, and answers those. A part that repeats this
    question, or two of its options, before it answers is no other question.
    """
    own, *others = NEW_QUESTION.split(text)
    if not own.strip() and others and _is_repeated(others[0], question, options):
        own = others.pop(0)
    own, *numbered = _split_numbered(own.strip(), options)
    return own.strip(), [other for other in (*numbered, *others) if other.strip()]


def _split_numbered(text: str, options: AnswerOptions) -> list[str]:
    """Return the part that answers this question, and those that answer others of several numbered questions.

    This question is "the final question", or the only one whose answer quotes one of its options. If none can
    be told to be this one, the first part is empty.
    """
    sentences = [match.start() for match in SENTENCE_START.finditer(text)]
    starts: dict[str, int] = {}
    for match in NUMBERED.finditer(text):
        name = (match["word"] or match["number"] or match["line"]).casefold()
        starts.setdefault(name, sentences[bisect_right(sentences, match.start()) - 1])
    if len(starts) < 2:
        return [text]
    ends = [*list(starts.values())[1:], len(text)]
    parts = {name: text[start:end] for (name, start), end in zip(starts.items(), ends, strict=True)}
    final = [name for name in FINAL if name in parts]
    quoting = [name for name, part in parts.items() if options.find_mentions(fold_text(part))]
    own = final[0] if final else quoting[0] if len(quoting) == 1 else None
    return [parts.pop(own) if own else "", *parts.values()]


def remove_repeated_options(text: str, options: AnswerOptions) -> str:
    """Return the text without its first list of all options, from the first to the last, each with a text."""
    for match in islice(FIRST_OPTION.finditer(text), MAX_LISTS):
        letters = scan_letters(text, match.start(), options)
        if (
            letters
            and "".join(letters.found) == options.letters
            and letters.n_texts >= len(options.letters) > 1
        ):
            before = OPTIONS_HEADER.sub("", text[: match.start()].rstrip("*_ \n("))
            return f"{before}\n{text[letters.end :]}".strip()
    return text


def _is_repeated(part: str, question: str, options: AnswerOptions) -> bool:
    folded = fold_text(part)
    beginning = fold_text(question)[:N_RECOGNIZED]
    quoted = [text for text in options.by_text if len(text) >= MIN_QUOTED and text in folded]
    return (beginning != "" and beginning in folded) or len(quoted) >= min(2, len(options.by_text) or 2)
