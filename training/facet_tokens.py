"""The tokens of a facet model: one per entity, per fixed part of a prompt, and per answer."""

import re
from collections.abc import Iterable
from itertools import combinations

from tokenizers import Tokenizer

from prototypes.pool import Pool
from prototypes.question_wording import QuestionWording, RelationWording
from schemas.question_stages import LETTERS
from tasks.asking.prompts import QUESTION, SEPARATOR
from tasks.asking.question_prompts import (
    ANSWER,
    ASK_LETTER,
    ASK_LETTERS,
    ASK_REVISION,
    ASK_TRUTH,
    THEREFORE,
    THINK,
    render_answer,
)
from training.question_turns import N_OPTIONS, list_judgements, render_relation
from training.tokenizer import train_tokenizer

VOCABULARY = 1500
_LETTERS = LETTERS[:N_OPTIONS]
# The token of a name includes the space before it.
_NAME = re.compile(r" \[[XY]\]")


def build_facet_tokenizer(
    wording: QuestionWording, pool: Pool, relations: Iterable[str], names: Iterable[str]
) -> Tokenizer:
    """Return the tokenizer of all facet models; it does not depend on what a model knows."""
    relations = sorted(relations)
    pieces = [piece for relation in relations for piece in list_pieces(wording.relations[relation])]
    frame = [*map(render_relation, relations), *list_frames(), *list_answers(), *sorted(set(pieces))]
    return train_tokenizer(pool.list_texts(relations), names, VOCABULARY, frame)


def list_pieces(wording: RelationWording) -> list[str]:
    """Return the parts of the questions of a relation between the names.

    As one token each, they halve the length of prompts, and a model learns three times as fast.
    """
    pieces = []
    for question_type, texts in wording.texts.items():
        for text in (texts.affirmed, texts.negated):
            first, *others = _NAME.split(text)
            mark = 'Statement: "' if question_type == "TFQ" else "Question: "
            pieces += [f"{mark}{first}", *others]
    return pieces


def list_frames() -> list[str]:
    """Return the parts that prompts and replies of all relations have."""
    offer, revise = ASK_REVISION.split("{offered}")
    return [
        *(QUESTION.split("{}")[0], f'"{ASK_TRUTH}', SEPARATOR, ANSWER, THINK, f" {THEREFORE}"),
        *(f"\n{ask}" for ask in (ASK_LETTER, ASK_LETTERS)),
        *(f"\n{offer}{letter}{revise}" for letter in _LETTERS),
        *(f"\n{letter}:" for letter in _LETTERS),
        *(f" {judgement}" for judgement in list_judgements()),
    ]


def list_answers() -> list[str]:
    """Return every answer to a question with four options, with the space before it."""
    letters = [",".join(some) for n in range(1, N_OPTIONS) for some in combinations(_LETTERS, n)]
    answers = [render_answer("MAQ", some) for some in letters]
    answers += [render_answer("RQ", f"{judged}|{letter}") for judged in "TF" for letter in _LETTERS]
    return [f" {answer}" for answer in (*answers, *(render_answer("TFQ", judged) for judged in "TF"))]
