"""Find the part of a response that answers the question: without repeated options and invented questions."""

import html
import re
from bisect import bisect_right

from tasks.answers.letters import MIN_QUOTED, AnswerOptions, fold_text, scan_letters
from tasks.answers.unwrapping import WORDS_OF, compile_phrases, join_clauses

NEW_QUESTION = compile_phrases("new_question")
FIRST_OPTION = re.compile(r"(?:^|(?<=[\s(*_]))A(?=[*_]{0,2}[.:)])", re.MULTILINE)
MAX_LISTS = 50
CUT_LIST = compile_phrases("cut_list")
NUMBERED = compile_phrases("numbered")
FINAL = ("final", "last")
# Words such as "correct" say nothing in a clause that refuses to answer, or asks for something.
REFUSES = re.compile(rf"\b(?:{join_clauses('doubts', 'refuses')})\b", re.IGNORECASE)
CLAUSES = compile_phrases("clause_breaks")
POLITE = compile_phrases("polite")
STATES = compile_phrases("states")
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?:;] )|(?<=\n))(?=\S)")
SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2000-\u200b\u3000]+")
ESCAPED_TAG = re.compile(r"&lt;/?\w{1,20}&gt;")
LABELLED_VERDICT = compile_phrases("labelled_verdict")
GLUED = compile_phrases("glued")
STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
LINES = re.compile(r"\n(?: ?\n){2,}")
FULL_WIDTH = str.maketrans({0xFF01 + n: 0x21 + n for n in range(94)} | {"。": ". ", "、": ", "})
WITHOUT_SIGNS = str.maketrans(dict.fromkeys(".,;:!?()'\"", " "))
QUOTED_STATEMENT = compile_phrases("quoted_statement")
LISTED_OPTION = re.compile(r"^[ \t(*_]{0,4}(?:Option )?([A-J])[*_]{0,2}[.:)] ?(\S.{2,300})", re.MULTILINE)
N_LISTED = 2
# One option at the beginning of a reply is told to be another question's only if it has so many words.
N_WORDS_OF_ONE = 10
SMALL = re.compile(WORDS_OF["small"])
# Words that deny or doubt a statement, or speak about it.
TURNS = re.compile(rf"\b(?:{WORDS_OF['turns']})\b|n't|\?")
JUDGED_OPTION = re.compile(
    rf"\b(?:{join_clauses('refuses')}|(?:in)?correct|right|wrong|true|false|not|because)\b"
)
# Of the words of a list of this question's options, nearly all are known; of an explanation of each, many.
SHARE_OF_OTHER_LIST = 0.2
# A question is recognized by its beginning: models shorten the rest.
N_RECOGNIZED = 60


def tidy_text(response: str) -> str:
    """Return the response without repeated spaces, full-width signs, struck words and escaped tags.

    Labels of verdicts are left out as well: "Correct: No" says no.
    """
    if ESCAPED_TAG.search(response):
        response = html.unescape(response)
    text = GLUED.sub(r"\g<0> ", SPACES.sub(" ", STRUCK.sub(" ", response.translate(FULL_WIDTH))))
    return LABELLED_VERDICT.sub("\n", LINES.sub("\n\n", text)).strip()


def remove_refusals(text: str) -> str:
    """Return the text without clauses that refuse to answer or ask for something, and without "Sure!"."""
    parts = CLAUSES.split(POLITE.sub("", text))
    clauses = zip(parts[::2], [*parts[1::2], ""], strict=True)
    return "".join(
        part + end for part, end in clauses if STATES.match(part) or not REFUSES.search(part)
    ).strip()


def split_other_statement(text: str, question: str) -> tuple[str, str]:
    """Return the text before a statement that is not the one of the question, and the text from it on."""
    known = set(_list_long_words(question))
    other = len(text)
    for match in QUOTED_STATEMENT.finditer(text):
        words = _list_long_words(next(filter(None, match.groups())))
        if 2 * sum(word in known for word in words) < len(words) > 2:
            other = min(other, match.start())
        elif other < len(text) and len(words) > 2:
            # Behind other statements, the one of the question is quoted.
            return text[match.start() :], text[: match.start()]
    return text[:other].strip(), text[other:]


def list_stems(text: str) -> set[str]:
    """Return the words of a folded text without endings, articles, prepositions and words for the patient."""
    words = text.translate(WITHOUT_SIGNS).replace("ncy", "nt").split()
    return {re.sub("(?:ing|ed|es|s|e)$", "", word) for word in words if not SMALL.fullmatch(word)}


def remove_copied_sentences(text: str, question: str) -> str:
    """Return the text without the sentences that it copies from the question, which answer nothing."""
    folded = fold_text(question)
    return "".join(
        part
        for part in SENTENCE_START.split(text)
        if len(part) < N_RECOGNIZED or fold_text(part.strip()) not in folded
    ).strip()


def split_other_options(text: str, question: str, options: AnswerOptions) -> tuple[str, str]:
    """Return the text before options that are not this question's, and the text from them on.

    A model may repeat the options of a demonstration, and answer that one.
    """
    known = set(_list_long_words(" ".join((question, *options.texts))))
    items = list(LISTED_OPTION.finditer(text))[: MAX_LISTS * N_LISTED]
    # The first option by itself, then each one with the option after it.
    runs = [items[:1], *(items[n : n + N_LISTED] for n in range(len(items)))] if items else []
    for run in runs:
        listed = fold_text(" ".join(item[2] for item in run))
        letters = "".join(item[1] for item in run)
        if (
            (letters[0] != "A" and run[0].start())
            or list(letters) != sorted(letters)
            or JUDGED_OPTION.search(listed)
        ):
            continue
        words = _list_long_words(listed)
        is_long = run[0].start() == 0 and len(words) >= N_WORDS_OF_ONE and not options.find_mentions(listed)
        is_other = sum(word in known for word in words) < SHARE_OF_OTHER_LIST * len(words)
        if is_other and (is_long or len(run) == N_LISTED):
            return text[: run[0].start()].strip(), text[run[0].start() :]
    return text, ""


def _list_long_words(text: str) -> list[str]:
    """Return the folded words of more than three letters, which tell one question from another."""
    return [word for word in fold_text(text).translate(WITHOUT_SIGNS).split() if len(word) > 3]


def cut_completion(response: str | None) -> str | None:
    """Return the first line with text: after its answer, a raw completion continues with something else."""
    return response if response is None else next(iter(response.strip().splitlines()), "")


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
    be told to be this one, the first part is what stands before all of them.
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
    before = text[: next(iter(starts.values()))]
    return [parts.pop(own) if own else before, *parts.values()]


def remove_repeated_options(text: str, options: AnswerOptions) -> str:
    """Return the text without its first list of all options, and without a list at its end."""
    text = CUT_LIST.sub("", text)
    for match in list(FIRST_OPTION.finditer(text))[:MAX_LISTS]:
        letters = scan_letters(text, match.start(), options)
        if (
            letters
            and "".join(letters.found) == options.letters
            and letters.n_texts >= len(options.letters) > 1
        ):
            before = text[: match.start()].rstrip("*_ \n(")
            return f"{before}\n{text[letters.end :]}".strip()
    return text


def _is_repeated(part: str, question: str, options: AnswerOptions) -> bool:
    folded = fold_text(part)
    beginning = fold_text(question)[:N_RECOGNIZED]
    quoted = [text for text in options.by_text if len(text) >= MIN_QUOTED and text in folded]
    return (beginning != "" and beginning in folded) or len(quoted) >= min(2, len(options.by_text) or 2)
