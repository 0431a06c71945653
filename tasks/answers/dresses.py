r"""Take the answer out of its dress: special tokens, JSON, calls of tools, tags, and boxes such as \boxed{B}.

What a dress holds is a stated answer, and counts before the text around it. A key or a tag says by its words
whether it holds the answer, names what was rejected, or explains.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VOCABULARY: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
KEYS = VOCABULARY["keys"]

# The name of a role is dropped with the token before it: "<|im_start|>assistant\nB<|im_end|>".
END_TOKEN = re.compile(
    r"<\|(?:im_end|end|eot_id|endoftext|end_of_text|return|end▁of▁sentence|eom_id|END_OF_TURN_TOKEN)\|>|</s>"
    r"|<end_of_turn>|<eos>"
)
TOKEN = re.compile(
    r"(?:<\|[^<>|\n]{1,40}\|>|<start_of_turn>|</?s>|<bos>|<pad>|\[/?INST\])"
    r"(?:\s?(?:assistant|model|user|system|final|analysis)\b:?)?(?=\s|<|\W|$)|^\s*assistant(?::|\s?\n)",
    re.IGNORECASE,
)
FENCE = re.compile(r"^[ \t]*(?:```|~~~)\w*[ \t]*$|```(?:json)?", re.MULTILINE | re.IGNORECASE)
BOX = r"(?:boxed|fbox|framebox|colorbox)\b"
SWITCH = re.compile(r"\\(?:bf|rm|it|tt|sf|bfseries|displaystyle|large|Large|quad)\b|\\[,;! ]|\\[{}]|\$")
COMMAND = re.compile(rf"\\(?!{BOX})[a-zA-Z]{{2,20}}\*?\s?\{{([^{{}}\\]{{0,300}})\}}")
BOXED = re.compile(
    rf"\\{BOX}\s?(?:\[[^\]\n]{{0,20}}\]){{0,2}}\s?(?:\{{{{0,3}}([^{{}}]{{0,300}})(?:\}}{{1,3}}|$)|([A-J])\b)"
    r"|\[\[([^\[\]\n]{1,80})\]\]|【([^【】\n]{1,80})】"
    r"|\b(?:submit|answer|respond)\w{0,20}\((?:\w{1,20}=)?[\"']([^\"'()\n]{1,300})[\"']\)"
)
TAG = re.compile(r"<(?!/)([^<>\n]{3,60})>([^<>]{1,300})(?=</|$)")
# Boxes of one sentence state one answer: "\boxed{A} and \boxed{C}".
SAME_SENTENCE = re.compile(r"(?:(?![.;?!]\s)[^\\]){0,80}")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
PAIR = re.compile(
    r"[{,]\s?[\"']?([\w -]{1,40}?)[\"']?\s?:\s?"
    r"(\"[^\"\n]{0,600}|'[^'\n]{0,600}|\[[^\[\]]{0,300}|(?i:true|false)\b|[A-J]\b)"
)
QUOTED_ITEM = re.compile(r"[\"']([^\"']{1,200})[\"']")
RIGHT = ("true", "correct", "yes", "right", "accurate", "t", "✓", "✔", "✅")
WRONG = ("false", "incorrect", "no", "wrong", "inaccurate", "not correct", "not true", "f", "✗", "✘", "❌")
MAX_OBJECTS = 20
DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Reply:
    """A reply without its dress."""

    text: str
    stated: tuple[tuple[str, str], ...] = ()
    """What the dresses hold, and the rules that found it; the most important one is first."""
    refuses: bool = False
    """Whether its first clause refuses to answer, or asks for something."""


def join_clauses(*kinds: str) -> str:
    """Return the pattern of the clauses of these kinds in the vocabulary."""
    clauses = VOCABULARY["clauses"]
    found = "|".join(pattern for kind in kinds for pattern in clauses[kind])
    return found.replace("FEW", clauses["few"]).replace("ANSWER", clauses["answer"]).replace(" ", r"\s")


def undress(text: str) -> Reply:
    """Return the text without special tokens, objects and boxes, and what these hold."""
    parts = (TOKEN.sub(" ", part).strip() for part in END_TOKEN.split(text))
    text = FENCE.sub("", next((part for part in parts if part), ""))
    text, found = _take_objects(text)
    if "\\" in text or "$" in text:
        text = SWITCH.sub(" ", text)
        for _ in range(3):
            text = COMMAND.sub(r" \1", text)
    boxes = [(match.start(), match.end(), _get_box(match)) for match in BOXED.finditer(text)]
    groups: list[list[str]] = []
    end = 0
    for start, after, inside in boxes:
        if groups and SAME_SENTENCE.fullmatch(text, end, start):
            groups[-1].append(inside)
        else:
            groups.append([inside])
        end = after
    found += [("boxed", ", ".join(group)) for group in reversed(groups)]
    tagged = [(_weigh([tag[1]]), tag[2].strip()) for tag in TAG.finditer(text)]
    found += [("boxed", inside) for weight, inside in reversed(tagged) if weight >= 2 and inside]
    return Reply(BOXED.sub(_get_box, text).strip(), tuple(found))


def _get_box(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()), "").strip()


def _take_objects(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text without its JSON objects, and the values of the keys that answer."""
    values: list[tuple[int, int, str]] = []
    kept, place = "", 0
    for n in range(MAX_OBJECTS):
        start = min((at for mark in "{[" if (at := _find_object(text, mark, place)) >= 0), default=-1)
        if start < 0:
            break
        try:
            data, end = DECODER.raw_decode(text, start)
            found = list(_list_values(data, []))
        except (ValueError, RecursionError):
            pairs = PAIR.findall(text, start)
            if not pairs:
                break
            found, end = [value for pair in pairs for value in _read_pair(*pair)], len(text)
        values += [(weight, n, value) for weight, value in found]
        kept, place = f"{kept}{text[place:start]} ", end
    ordered = sorted(values, key=lambda value: (-value[0], -value[1]))
    return (kept + text[place:]).strip(), [("json", value) for *_, value in ordered]


def _find_object(text: str, mark: str, place: int) -> int:
    match = re.compile(r"(?<![\\\w])(?<!\\boxed)\{(?=\s?[\"'\w])" if mark == "{" else r"\[(?=\s?\{)").search(text, place)
    return match.start() if match else -1


def _read_pair(key: str, value: str) -> Iterator[tuple[int, str]]:
    """Yield the value of one pair of an object that is no valid JSON, for example because it was cut."""
    items: Any = QUOTED_ITEM.findall(value) if value[0] == "[" else value.strip("\"'")
    return _list_values({key: items}, [])


def _list_values(data: Any, path: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the weight and the text of each value whose keys say that it is the answer."""
    if isinstance(data, str) and data.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            return
    if isinstance(data, list) and all(isinstance(item, dict) for item in data):
        named = {_find_name(item): item for item in data}
        data = named if None not in named and len(named) > 1 else data
    if isinstance(data, dict):
        verdicts = {str(key): _read_verdict(value) for key, value in data.items()}
        is_by_option = all(_weigh([key]) == 0 or len(key) == 1 for key in verdicts)
        if len(verdicts) > 1 and is_by_option and None not in verdicts.values():
            chosen = [_name_option(key) for key, verdict in verdicts.items() if verdict]
            yield max(2, _weigh(path)), ", ".join(chosen)
        elif data and all(len(str(key)) == 1 and str(key).isalpha() for key in data):
            if _weigh(path) >= 2 or len(data) == 1:
                yield max(2, _weigh(path)), ", ".join(map(str, data))
        else:
            for key, value in data.items():
                yield from _list_values(value, [*path, str(key)])
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        for item in data:
            yield from _list_values(item, path)
    elif isinstance(data, bool):
        words = _split_words(path[-1:])
        if not _has(words, "explains"):
            yield max(1, _weigh(path)), str(data != _has(words, "negative"))
    elif isinstance(data, str | list) and (weight := _weigh(path)) > 0:
        yield weight, ", ".join(map(str, data)) if isinstance(data, list) else data


def _find_name(item: dict[str, Any]) -> str | None:
    named = (value for key, value in item.items() if re.fullmatch("(?i)option|letter|choice|key|id|label", key))
    is_judged = any(_read_verdict(value) is not None for value in item.values())
    return next((str(value) for value in named if isinstance(value, str) and is_judged), None)


def _name_option(key: str) -> str:
    return re.sub(r"^(?i:option|choice|answer)[ _-]?(?=\w$)", "", key).upper() if len(key) < 10 else key


def _read_verdict(value: Any) -> bool | None:
    """Return what a value says of its option: a truth value, a word, or an object that holds one."""
    if isinstance(value, dict):
        verdicts = ((key, _read_verdict(inner)) for key, inner in value.items() if _weigh([str(key)]) >= 1)
        return next((verdict for _, verdict in verdicts if verdict is not None), None)
    word = str(value).strip().casefold()
    return True if word in RIGHT else False if word in WRONG else None


def _weigh(path: list[str]) -> int:
    """Return how much a key, below other keys, claims to hold the answer; 0 if it does not."""
    words = _split_words(path)
    if _has(words, "denies") or _has(words, "explains"):
        return 0
    return 3 if _has(words, "final") else 2 if _has(words, "answers") else 1 if _has(words, "weak") else 0


def _split_words(path: list[str]) -> list[str]:
    return [word.casefold() for key in path for word in WORD.findall(key)]


def _has(words: list[str], kind: str) -> bool:
    return any(re.match(KEYS[kind], word) for word in words)
