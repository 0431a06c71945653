"""Chains of thought that are shown with the demonstrations of the setting chain_of_thought.

The model writes them: it is asked the held-out questions without demonstrations, and a chain is kept if its
answer is right (Nori et al. 2023, section 5.1). The answers lie in the response store, so a model is never
asked twice for a chain.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from pretexeval.engines.loading import load_engine
from pretexeval.engines.thoughts import split_reply
from pretexeval.storage.files import read_stage_files
from pretexeval.storage.responses import KEYS
from pretexeval.storage.store import Store
from schemas.exchange import Prompt, hash_prompt
from tasks.answers.reading import read_answer
from tasks.asking.model_session import Advance, LoadEngine, ModelSession
from tasks.asking.prompts import AskedQuestion
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.items import GROUP

Row = Mapping[str, Any]
ANSWER = re.compile(r"\banswers?\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass(frozen=True)
class ChainRequest:
    """A held-out question that the model is asked without demonstrations."""

    row: Row
    key: str
    prompt: Prompt


def read_chains(evaluation: Evaluation) -> dict[str, str]:
    """Return question_id -> the chain of thought that is shown; empty where none is."""
    if not evaluation.subject.asks_for_chains:
        return {}
    return _read_right_chains(evaluation, list_chain_requests(evaluation))


def _read_right_chains(evaluation: Evaluation, requests: Sequence[ChainRequest]) -> dict[str, str]:
    """Return question_id -> the stored chain of thought that reached the right answer."""
    rows = {request.key: request.row for request in requests}
    keys = pl.LazyFrame({"prompt_key": list(rows)}, {"prompt_key": pl.String})
    stored = evaluation.store.read([*KEYS, "response"], keys).drop_nulls("response")
    chains: dict[str, str] = {}
    for key, _, response in stored.sort("repeat").iter_rows():
        if (chain := extract_chain(evaluation, rows[key], response)) is not None:
            # Keep the right chain with the lowest repeat.
            chains.setdefault(str(rows[key]["item_id"]), chain)
    return chains


def list_chain_requests(evaluation: Evaluation) -> list[ChainRequest]:
    """Return the held-out questions that are shown as demonstrations, as prompts without demonstrations."""
    settings, kind = evaluation.request_settings, evaluation.subject.kind
    requests = []
    for refs in evaluation.relation_files().values():
        items = kind.read_items(read_stage_files(evaluation.root, refs, kind.stage))
        shown = kind.draw_demonstrations(items).group_by(*GROUP, maintain_order=True)
        for row in shown.head(settings.n_demonstrations).iter_rows(named=True):
            question = AskedQuestion.from_row(row)
            prompt, _ = settings.fit((), question.render(is_reasoned=True))
            key = hash_prompt(settings.model_id, prompt, settings.sampling)
            requests.append(ChainRequest(row, key, prompt))
    return requests


def ask_chains(
    evaluation: Evaluation,
    requests: Sequence[ChainRequest],
    store: Store,
    on_progress: Advance,
    load: LoadEngine = load_engine,
) -> None:
    """Ask for the chains of the demonstrations, each until one is right or every repeat was asked.

    Raises:
        InputError: the model cannot be loaded or reached. The answers that it gave are kept.
    """
    sampling = evaluation.request_settings.sampling
    repeats = range(evaluation.subject.n_repeats)
    right = _read_right_chains(evaluation, requests)
    if not any(_list_waiting(evaluation, requests, repeat, right) for repeat in repeats):
        # A session would wait until no shard of the model is asked.
        return
    with ModelSession(evaluation.model, store, load) as session:
        for repeat in repeats:
            right = _read_right_chains(evaluation, requests)
            waiting = _list_waiting(evaluation, requests, repeat, right)
            session.ask(waiting.items(), replace(sampling, repeat=repeat), on_progress)


def _list_waiting(
    evaluation: Evaluation, requests: Sequence[ChainRequest], repeat: int, right: Collection[str]
) -> dict[str, Prompt]:
    """Return key -> prompt of the questions without a right chain that this repeat was not asked.

    Args:
        right: the ids of the questions with a right chain.
    """
    settled = evaluation.store.read_settled_keys(repeat)
    return {
        request.key: request.prompt
        for request in requests
        if request.row["item_id"] not in right and request.key not in settled
    }


def extract_chain(evaluation: Evaluation, row: Row, response: str) -> str | None:
    """Return the reasoning of a response without its conclusion; None if its answer is not the right one."""
    text = split_reply(response, evaluation.model.reasoning_marks).answer
    if text is None:
        return None
    reading = read_answer(row["type"], text, row["options"], row["offered"], row["text"])
    chain = " ".join(_cut_conclusion(text).split())
    return chain if chain and reading.answer == row["answer"] else None


def _cut_conclusion(text: str) -> str:
    """Return the text without its last sentences that speak of the answer, which is written again."""
    sentences = SENTENCE_END.split(text.strip())
    while sentences and ANSWER.search(sentences[-1]):
        sentences.pop()
    return " ".join(sentences)
