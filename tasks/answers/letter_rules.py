"""The rules that find the letters of the options that a response chooses, in the order of their use.

Every rule has a name, which is stored beside the answer. Gaps in patterns have fixed limits, so that each
rule takes linear time on any text.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from tasks.answers.letters import EDGES, AnswerOptions, is_line_end, scan_letters
from tasks.answers.segments import remove_repeated_options
from tasks.answers.text_rules import (
    CONDITION,
    N_SENTENCE,
    Found,
    read_concluded_text,
    read_listed_texts,
    read_nearest_text,
    read_only_text,
    read_opening_text,
    read_text_alone,
    read_texts_at,
)
from tasks.answers.unwrapping import (
    PROBABILITY_VALUE,
    VERDICTS,
    WORDS_OF,
    UnwrappedReply,
    compile_phrases,
    read_probabilities,
)

LINE_START = re.compile(r"\A[\s*_•\-|]{0,6}(?:\d{1,2}[.)]\s)?[*_]{0,2}")
ITEM_LABEL = re.compile(r"\(?([A-J])(?![^\W_])[).:]{0,2}\s?[*_]{0,2}")
SIGN = re.compile(r"[✅✔☑✓❌✗✘☒✖]\ufe0f?\s?")
SMALL_LETTERS = re.compile(r"[a-j](?:(?:\s?[,;/&]\s?| and )[a-j])+\.?")
ARE_WRONG = re.compile(r"\W{0,4}(?:is|are) (?:all )?(?:wrong|incorrect|false)\b", re.IGNORECASE)
NOUNS = re.compile(rf"\b(?:{WORDS_OF['nouns']})\b", re.IGNORECASE)
STATED = compile_phrases("stated_noun", "stated")
NOT_BUT = re.compile(r"\s?not\s[^.\n]{1,40}?,?\sbut\s(?:rather\s)?", re.IGNORECASE)
NOT_CHOSEN = re.compile(rf"(?:\w(?<!\blet)['’]s|(?<!only\s)\b(?:{WORDS_OF['not_chosen']})) $", re.IGNORECASE)
DENIED_VERB = compile_phrases("denied_verb")
OTHERS = compile_phrases("others")
N_BEFORE = 24
CONCLUDING = compile_phrases("concluding")
# "Plasma level (option D) is a": a response that was cut after an article states nothing.
CUT_ARTICLE = re.compile(r"\s?a$")
NAMED = re.compile(r"\b[A-J]\b")
WRONG_HEADER = compile_phrases("wrong_header")
BRACKET = re.compile(r"\s?\([^()\n]{0,80}\)")
NOTE = re.compile(r"[\s*_.]{0,4}(?:$|[–—(:-])")
REVIEW_HEADER = compile_phrases("review_header")
BEFORE_LETTER = compile_phrases("before_letter")
CALLED_RIGHT = compile_phrases("called_right")
DENIED = compile_phrases("denied")
DENIED_FIRST = compile_phrases("denied_first")
ELIMINATED = compile_phrases("eliminated")
CONTRAST = re.compile(r"[^.\n]{0,160}?(?=\b(?:but|however|yet)\b)", re.IGNORECASE)
VERDICT = compile_phrases("verdict")
RANKED = re.compile(r"\W{0,8}([A-J])\s?[>≻＞]{1,2}\s?[A-J]\b")
PROBABILITY = re.compile(rf"(?<!\w)([A-J])\b[\s():=*|_–—-]{{1,6}}{PROBABILITY_VALUE}")
ALL = compile_phrases("all")
ALL_EXCEPT = compile_phrases("all_except")
AFTER_EXCEPT = compile_phrases("after_except")
EXCEPTED = compile_phrases("excepted")
EXCEPTED_LETTERS = re.compile(r"\W{0,3}([A-J](?:(?:,? and |, | & )[A-J])*)\b[*_)\"]{0,3}(?=[.;](?:\s|$))")


def read_letters_alone(text: str, options: AnswerOptions) -> Found:
    """Read a response that is nothing but letters."""
    text = text.upper() if SMALL_LETTERS.fullmatch(text) else text
    letters = scan_letters(text, 0, options)
    is_all = letters is not None and letters.n_texts == 0 and not text[letters.end :].strip(" .\n")
    return letters.found if letters and is_all else ()


def read_stated(text: str, options: AnswerOptions) -> Found:
    """Read "The answer is B", "Answer: B", "I choose option B", or texts instead of letters.

    The first one counts. One that concludes counts before one that names an answer,
    and this one before all others.
    """
    chosen: Found = ()
    weight = 0
    for match in STATED.finditer(text):
        starts = [noun.start() for noun in NOUNS.finditer(text, match.start(), match.end())]
        before = [text[max(0, start - N_BEFORE) : start] for start in starts or [match.start()]]
        if all(map(NOT_CHOSEN.search, before)) or DENIED_VERB.search(match[0]):
            continue
        sentence = text[max(0, match.start() - N_SENTENCE) : match.start()].rpartition(". ")[2]
        if OTHERS.search(sentence) or ("would" in match[0] and CONDITION.search(sentence.casefold())):
            continue
        denied = NOT_BUT.match(text, match.end())
        place = denied.end() if denied else match.end()
        letters = scan_letters(text, place, options)
        is_cut = CUT_ARTICLE.match(text, place) and NAMED.search(match[0])
        if letters and (is_cut or DENIED.match(text, letters.end)):
            continue
        is_named = match["noun"] is not None
        names_text = is_named or "leaves" in match[0].casefold()
        stated = letters.found if letters else read_texts_at(text, place, options)[0] if names_text else ()
        stated_weight = 1 + is_named + (is_named and any(map(CONCLUDING.search, before)))
        if stated and stated_weight > weight:
            chosen, weight = stated, stated_weight
    # "I'd say A … Final answer\n\nB": a last line of letters alone concludes more than words without a noun.
    last = read_last_line(text, options) if weight == 1 and "\n" in text else ()
    return last or chosen


def read_leading(text: str, options: AnswerOptions) -> Found:
    """Read the letters at the beginning: "B. Because ...", "Not A. B.", "A: text" and "C: text" in lines."""
    others = DENIED_FIRST.match(text)
    letters = scan_letters(text, others.end() if others else 0, options)
    if not letters or DENIED.match(text, letters.end) or _is_conceded(text, letters.end, options):
        return ()
    found = first = letters.found
    # "A: text. Why." and "C: text. Why." in lines are chosen; with "B: text", all options are discussed.
    while letters.n_texts and (line := text.find("\n", letters.end)) >= 0:
        following = scan_letters(text, line, options)
        if not following or not following.n_texts or following.found[0] <= found[-1]:
            break
        found, letters = found + following.found, following
    return found if found == first or found[:2] != ("A", "B") else ()


def _is_conceded(text: str, end: int, options: AnswerOptions) -> bool:
    """Return whether the sentence of a letter calls another one right: "A is tempting, but B is right"."""
    contrast = CONTRAST.match(text, end)
    if not contrast or CALLED_RIGHT.match(text, end):
        return False
    return bool(read_called_right(text[contrast.end() :].partition("\n")[0], options))


def read_called_right(text: str, options: AnswerOptions) -> Found:
    """Read the last "Option B is correct", or the only option that is not called wrong."""
    called_right: Found = ()
    denied: set[str] = set()
    end = 0
    for match in BEFORE_LETTER.finditer(text):
        if match.end() < end:
            continue
        letters = scan_letters(text, match.end(), options)
        # The letters of a list that was scanned once are not scanned again, which would take quadratic time.
        end = letters.end if letters and letters.n_texts == 0 else 0
        called = letters and CALLED_RIGHT.match(text, letters.end)
        if letters and called and "not" not in (called["between"] or "").casefold().split():
            called_right = letters.found
        elif letters and (match["denied"] or ELIMINATED.match(text, letters.end)):
            denied.update(letters.found)
    remaining = tuple(letter for letter in options.letters if letter not in denied)
    return called_right or (remaining if len(remaining) == 1 < len(options.letters) else ())


def read_all_options(text: str, options: AnswerOptions) -> Found:
    """Read "All of the above", "All but B", and "All but B are wrong"."""
    if match := ALL_EXCEPT.search(text):
        letters = scan_letters(text, match.end(), options)
        found, end = (letters.found, letters.end) if letters else read_texts_at(text, match.end(), options)
        if found and ARE_WRONG.match(text, end):
            return found
        named = EXCEPTED_LETTERS.match(text, match.end())
        excepted = found if AFTER_EXCEPT.match(text, end) else ()
    else:
        named, excepted = EXCEPTED.search(text), ()
    if named:
        excepted = tuple(NAMED.findall(named[1]))
    if excepted:
        return tuple(letter for letter in options.letters if letter not in excepted)
    return tuple(options.letters) if ALL.search(text) else ()


def read_last_line(text: str, options: AnswerOptions) -> Found:
    """Read a last line that is nothing but letters, or a letter and a text."""
    *lines, line = text.rstrip().splitlines() or [""]
    letters = scan_letters(line, 0, options)
    if not letters or not is_line_end(line, letters.end) or line.startswith(("Options", "Choices")):
        return ()
    # After a question, or other lines such as "A: text", a last line "E: text" belongs to a list.
    is_asked = any(other.rstrip().endswith(("?", "Options:", "options:")) for other in lines[-2:])
    is_list = letters.n_texts > 0 and (is_asked or any(scan_letters(other, 0, options) for other in lines))
    # "C: text" and, below it, a cut "D"
    above = scan_letters(lines[-1], 0, options) if lines and letters.n_texts == 0 else None
    is_list |= above is not None and ord(letters.found[0]) == ord(above.found[-1]) + 1
    return () if is_list else letters.found


def read_groups(text: str, options: AnswerOptions) -> Found:
    """Read the only list of some options behind a heading: "The anticoagulants are:", "Live vaccines: A, C".

    Lists whose heading denies or reviews are no answer.
    """
    groups: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        heading, colon, rest = line.partition(":")
        rest = BRACKET.sub("", rest)
        if item := _read_item(LINE_START.sub("", line).strip("*_ "), options):
            groups[-1][1].append(item)
        elif letters := scan_letters(rest, 0, options):
            is_list = is_line_end(rest, letters.end)
            groups.append((heading, list(letters.found)) if is_list else ("", []))
        elif line.strip():
            groups.append((heading.rpartition(". ")[2] if colon else "", []))
    lists = [
        letters
        for heading, letters in groups
        if heading and letters and not (REVIEW_HEADER.search(heading) or WRONG_HEADER.search(heading))
    ]
    n_listed = sum(len(letters) for heading, letters in groups if heading)
    is_answer = len(lists) == 1 and n_listed > 1 and len({*lists[0]}) < len(options.letters)
    return tuple(dict.fromkeys(lists[0])) if is_answer else ()


def _read_item(line: str, options: AnswerOptions) -> str:
    """Return the letter of an item such as "A", "A. text", "A - text (note)" or "text"; else nothing."""
    label = ITEM_LABEL.match(line)
    rest = line[label.end() :].lstrip("–—- ") if label else line
    named, end = read_texts_at(rest, 0, options)
    if label and not rest.strip(EDGES):
        return label[1] if label[1] in options.letters else ""
    is_item = len(named) > 0 and NOTE.match(rest, end) is not None and (not label or label[1] in named)
    return (label[1] if label else named[0]) if is_item else ""


def read_verdicts(text: str, options: AnswerOptions) -> Found:
    r"""Read a verdict for each option, such as "A: correct\nB: incorrect", or check marks for some."""
    verdicts: dict[str, str] = {}
    for before, letter, verdict, last in VERDICT.findall(_put_letters(text, options)):
        if said := (before or verdict or last).casefold():
            verdicts.setdefault(letter.upper(), said)
    is_marked = all(not word.isalpha() for word in verdicts.values())
    if set(verdicts) != set(options.letters) and not is_marked:
        return ()
    return tuple(
        letter for letter, word in verdicts.items() if VERDICTS.get(word) and letter in options.letters
    )


def _put_letters(text: str, options: AnswerOptions) -> str:
    """Return the text with the letter of an option before each of several lines that begin with its text."""
    lines = text.splitlines()
    for number, line in enumerate(lines if len(lines) > 1 else ()):
        item = LINE_START.sub("", line)
        sign = SIGN.match(item)
        start = sign.end() if sign else 0
        letter = next((letter for letter in options.letters if options.skip_text(item, start, letter)), None)
        lines[number] = f"{item[:start]}{letter}: {item[start:]}" if letter else line
    return "\n".join(lines)


def read_ranking(text: str, options: AnswerOptions) -> Found:
    """Read the first of "B > A > C", and the most probable options if each has a probability."""
    if first := RANKED.match(text):
        return (first[1],) if first[1] in options.letters else ()
    given = read_probabilities(PROBABILITY.findall(text))
    if set(given) != set(options.letters) or any(option[:1].isdigit() for option in options.texts):
        return ()
    return tuple(letter for letter, value in given.items() if value == max(given.values()))


LETTER_RULES: tuple[tuple[str, Callable[[str, AnswerOptions], Found]], ...] = (
    ("letters_alone", read_letters_alone),
    ("all_options", read_all_options),
    ("stated", read_stated),
    ("leading", read_leading),
    ("called_right", read_called_right),
    ("groups", read_groups),
    ("last_line", read_last_line),
    ("text_alone", read_text_alone),
    ("concluded_text", read_concluded_text),
    ("nearest_text", read_nearest_text),
    ("only_text", read_only_text),
    ("opening_text", read_opening_text),
    ("listed_texts", read_listed_texts),
)
# A reply that begins with a refusal, or calls several options right, can meet only the first of them.
N_STATING = 3
N_COPIED = 20


def find_letters(
    reply: UnwrappedReply, options: AnswerOptions, *, are_several: bool = False
) -> tuple[Found, str | None]:
    """Return the letters that the first rule finds, and the name of the rule.

    What a wrapping holds is read first, and then verdicts on all options, which look like a repeated list.
    """
    for rule, inside in reply.stated:
        readers = (
            read_leading(inside, options),
            read_texts_at(inside, 0, options)[0],
            read_stated(inside, options),
        )
        if letters := next(filter(None, readers), ()):
            return letters, rule
    for rule, read in (("verdicts", read_verdicts), ("ranking", read_ranking)):
        letters = read(reply.text, options)
        if len(letters) == 1 or (letters and are_several):
            return letters, rule
        reply = replace(reply, refuses=reply.refuses or len(letters) > 1)
    text = remove_repeated_options(reply.text, options)
    weak = ("only_text", "concluded_text" if options.asks_wrong else "")
    for name, rule_of_text in LETTER_RULES[: N_STATING if reply.refuses else None]:
        # Behind a copy of all options, a reply may mention one as a finding.
        is_weak = name in weak and not text.startswith(reply.text[:N_COPIED])
        if not is_weak and (letters := rule_of_text(text, options)):
            if are_several and {*letters} < {*(listed := read_groups(text, options))}:
                return listed, "groups"
            return letters, name
    return (), None
