r"""Unwrap the answer of a reply: from special tokens, JSON, tool calls, tags, and boxes such as \boxed{B}.

What a wrapping holds is a stated answer, and counts before the text around it. A key or a tag says by its
words whether it holds the answer, names what was rejected, or explains (`words.toml`).
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VOCABULARY: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
WORDS_OF: dict[str, str] = VOCABULARY["words"]
SAID_WORDS = map("|".join, zip(*VOCABULARY["languages"].values(), strict=True))
WORDS_OF |= zip(("said_true", "said_false", "said_unsure"), SAID_WORDS, strict=True)


def join_clauses(*kinds: str) -> str:
    """Return the pattern of the clauses of these kinds in the vocabulary."""
    clauses = VOCABULARY["clauses"]
    joined = "|".join(clause for kind in kinds for clause in clauses[kind])
    return joined.replace("FEW", clauses["few"]).replace("ANSWER", clauses["answer"]).replace(" ", r"\s")


def compile_phrases(*kinds: str) -> re.Pattern[str]:
    """Return the pattern of the phrases of these kinds; two kinds are told by the group "noun"."""
    phrases = [VOCABULARY["phrases"][kind] for kind in kinds]
    parts = [part if isinstance(part, str) else "|".join(part) for part in phrases]
    pattern = parts[0] if len(parts) == 1 else rf"(?P<noun>{parts[0]})|{parts[1]}"
    for name, words in WORDS_OF.items():
        pattern = pattern.replace(f"<{name}>", f"(?:{words})")
    return re.compile(pattern, re.IGNORECASE)


END_TOKEN = compile_phrases("end_token")
TOKEN = compile_phrases("token")
FENCE = re.compile(r"(?:```|~~~)[a-z]*", re.IGNORECASE)
SWITCH = compile_phrases("switch")
COMMAND = re.compile(r"\\(?!(?:f?box|framebox|boxed)\b)[a-zA-Z]{2,20}\*?\s?\{([^{}\\]{0,300})\}")
BOXED = compile_phrases("boxed")
TAG = re.compile(r"<(?!/)([^<>\n]{3,60})>([^<>]{1,300})(?=</|$)")
# "<answer>A</answer><answer>C</answer>" states one list.
BETWEEN_TAGS = re.compile(r"</[^<>]{1,60}>\s{0,9}")
# Boxes of one sentence state one answer: "\boxed{A} and \boxed{C}".
SAME_SENTENCE = re.compile(r"(?:(?![.;?!]\s)[^\\]){0,80}")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
OBJECT = re.compile(r"(?<![\\\w])\{(?=\s{0,9}[\"'\w])|\[(?=\s{0,9}\{)")
PAIR = compile_phrases("pair")
QUOTED_ITEM = re.compile(r"[\"']([^\"']{1,200})[\"']")
OPTION_NAME = re.compile(r"^(?i:option|choice|answer)(?:[ _-](?=[A-Ja-j]$)|(?=[A-J]$))")
OPTION_KEY = re.compile(r"option|letter|choice|key|id|label", re.IGNORECASE)
TRUE_OR_FALSE = re.compile(r"true[\W_]?(?:or)?[\W_]?false", re.IGNORECASE)
VERDICTS = {word: kind == "right" for kind, words in VOCABULARY["verdicts"].items() for word in words}
MAX_OBJECTS = 20
# A probability behind an answer, in "A: 5%, B: 95%".
PROBABILITY_VALUE = r"(\d{1,3}(?:\.\d+)?)\s?(?:%|[,;|\s]|$)"


@dataclass(frozen=True)
class UnwrappedReply:
    """A reply without its wrapping."""

    text: str
    stated: tuple[tuple[str, str], ...] = ()
    """The rule and the content of each wrapping; the most important one is first."""
    refuses: bool = False
    """True if its first clause refuses to answer, or asks for something."""


def read_probabilities(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return answer, in capitals -> probability; empty unless they add up to 1, or to 100 %."""
    given = {answer.upper(): float(value) for answer, value in pairs}
    is_whole = any(0.98 * whole <= sum(given.values()) <= 1.02 * whole for whole in (1, 100))
    return given if is_whole else {}


def unwrap_reply(text: str) -> UnwrappedReply:
    """Return the text without special tokens, objects and boxes, and what these hold."""
    parts = (TOKEN.sub(" ", part).strip() for part in END_TOKEN.split(text))
    text, values = _take_objects(FENCE.sub("", next(filter(None, parts), "")))
    if "\\" in text or "$" in text:
        text = SWITCH.sub(" ", text)
        for _ in range(3):
            text = COMMAND.sub(r" \1", text)
    boxes: list[list[str]] = []
    end = 0
    for match in BOXED.finditer(text):
        if not boxes or not SAME_SENTENCE.fullmatch(text, end, match.start()):
            boxes.append([])
        boxes[-1].append(_get_box(match))
        end = match.end()
    tagged: list[str] = []
    last: re.Match[str] | None = None
    for tag in TAG.finditer(text):
        if _weigh([tag[1].rpartition("=")[2]]) >= 2:
            is_listed = last and last[1] == tag[1] and BETWEEN_TAGS.fullmatch(text, last.end(), tag.start())
            tagged.append(f"{tagged.pop()}, {tag[2].strip()}" if is_listed else tag[2].strip())
            last = tag
    marked = [("boxed", inside) for inside in (*map(", ".join, reversed(boxes)), *reversed(tagged))]
    return UnwrappedReply(
        BOXED.sub(_get_box, text).strip(), (*(("json", value) for value in values), *marked)
    )


def _get_box(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "").strip()


def _take_objects(text: str) -> tuple[str, list[str]]:
    """Return the text without its JSON objects, and the values of the keys that answer."""
    values: list[tuple[int, int, str]] = []
    kept, place = "", 0
    for n in range(MAX_OBJECTS):
        if (match := OBJECT.search(text, place)) is None:
            break
        try:
            data, end = json.JSONDecoder(strict=False).raw_decode(text, match.start())
            weighted = list(_list_values(data, []))
        except (ValueError, RecursionError):
            # The object was cut, or is no valid JSON.
            pairs = PAIR.findall(text, match.start())
            if not pairs:
                break
            weighted, end = [value for pair in pairs for value in _read_pair(*pair)], len(text)
        values += [(-weight, -n, value) for weight, value in weighted]
        kept, place = f"{kept}{text[place : match.start()]} ", end
    values.sort(key=lambda value: value[:2])
    return (kept + text[place:]).strip(), [value for *_, value in values]


def _read_pair(key: str, value: str) -> Iterator[tuple[int, str]]:
    items: Any = QUOTED_ITEM.findall(value) if value[0] == "[" else value.strip("\"'{[ ")
    return _list_values({key: items}, [])


def _list_values(data: object, path: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the weight and the text of each value whose keys say that it is the answer."""
    weight = _weigh(path)
    if isinstance(data, str) and data.lstrip()[:1] in ("{", "["):
        data = json.loads(data)
    if isinstance(data, list) and len(data) > 1 and all(map(_name_item, data)):
        data = {_name_item(item): item for item in data}
    if isinstance(data, dict):
        names = [OPTION_NAME.sub("", str(key)) for key in data]
        verdicts = list(map(_read_verdict, data.values()))
        numbers = [x for x in data.values() if isinstance(x, int | float) and not isinstance(x, bool)]
        is_choice = weight >= 2 or (len(names) == 1 and not _has(path, "denies"))
        if len(names) > 1 and None not in verdicts and all(len(x) == 1 or not _weigh([x]) for x in names):
            chosen = (name for name, verdict in zip(names, verdicts, strict=True) if verdict)
            yield max(2, weight), ", ".join(chosen)
        elif len(numbers) == len(names) > 1 and all(len(x) == 1 or x.casefold() in VERDICTS for x in names):
            # The probability of each answer.
            best = (name for name, number in zip(names, numbers, strict=True) if number == max(numbers))
            yield max(1, weight), ", ".join(best)
        elif is_choice and all(len(name) == 1 and name.isalpha() for name in names):
            yield max(2, weight), ", ".join(names)
        else:
            for key, value in data.items():
                # {"answer": {"id": "B"}}: the key says only that the value is the letter.
                is_letter = weight and OPTION_KEY.fullmatch(str(key))
                name = TRUE_OR_FALSE.sub("answer", str(key))
                yield from _list_values(value, path if is_letter else [*path, name])
    elif isinstance(data, list) and weight >= 2 and all(letters := [*map(_find_letter, data)]):
        yield weight, ", ".join(filter(None, letters))
    elif isinstance(data, list) and data and _has(path[-1:], "ranks"):
        yield 2, str(data[0])
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        for item in data:
            yield from _list_values(item, path)
    elif isinstance(data, bool) and not _has(path[-1:], "explains"):
        yield max(1, weight), str(data != _has(path[-1:], "negative"))
    elif isinstance(data, str | list) and weight:
        yield weight, ", ".join(map(str, data)) if isinstance(data, list) else data


def _name_item(item: object) -> str | None:
    """Return the option of which an object of a list says whether it is right, if it does."""
    return None if _read_verdict(item) is None else _find_letter(item)


def _find_letter(item: object) -> str | None:
    """Return the option that an object of a list names, if it names one."""
    fields = item.items() if isinstance(item, dict) else ()
    return next(
        (value for key, value in fields if OPTION_KEY.fullmatch(key) and isinstance(value, str)), None
    )


def _read_verdict(value: object) -> bool | None:
    """Return what a value says of its option: a truth value, a word, or an object that holds one."""
    if isinstance(value, dict):
        verdicts = (_read_verdict(inner) for key, inner in value.items() if _weigh([str(key)]))
        return next((verdict for verdict in verdicts if verdict is not None), None)
    return VERDICTS.get(str(value).strip().casefold())


def _weigh(path: list[str]) -> int:
    """Return how much a key, below other keys, claims to hold the answer; 0 if it does not."""
    if _has(path, "denies") or _has(path, "explains"):
        return 0
    return next(
        (weight for weight, kind in ((3, "final"), (2, "answers"), (1, "weak")) if _has(path, kind)), 0
    )


def _has(path: list[str], kind: str) -> bool:
    words = (word.casefold() for key in path for word in WORD.findall(key))
    return any(re.match(VOCABULARY["keys"][kind], word) for word in words)
