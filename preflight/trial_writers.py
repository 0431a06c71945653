"""Ask each endpoint that writes or judges texts of an edition one prompt, and show how its reply is read.

A writer is asked about the first triplet that is tested. A judge is asked whether a statement follows from
itself, because a rewording exists only after the writer has replied.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import polars as pl

from config.engines import EngineConfig
from preflight.findings import Finding
from preflight.trial_prompts import UNFINISHED, ask_once, describe_asking, hide_key, shorten
from primitives.errors import InputError
from schemas.stages import GATE_OFF
from tasks.asking.reasoning import find_marks
from tasks.asking.writer_replies import read_replies, read_reply
from tasks.asking.writers import Reply, Writer, WriterPrompt
from tasks.edition.attempts import run_rounds
from tasks.edition.edition import Edition
from tasks.edition.llmeval import N_STATEMENTS, Llmeval, list_statements
from tasks.edition.preview import PiecePreview
from tasks.edition.rephraser import Rephraser
from tasks.edition.statements import join_entities
from tasks.judging.judge import Judge

REJECTED = (
    "one rejection is no fault, because a run asks up to max_attempts times; if most are rejected, change "
    "the writer or the instruction in [rephraser] (docs/gate.md)"
)
FEW_LINES = "see the instruction and max_tokens in [llmeval]: a reply has one statement per line"
UNREAD = "see the instruction and max_tokens in [judge]: the judge answers Yes or No"
DENIED = "a judge that denies this rejects every rewording; see [judge], or choose another judge"

Read = Callable[[Reply], tuple[str, str]]
"""Returns how a reply is read, and what the user can do if it is not as it should be."""


@dataclass(frozen=True)
class WriterTrial:
    """One prompt for a model that writes or judges texts of the edition."""

    role: str
    writer: Writer
    prompt: WriterPrompt
    read: Read


def list_trials(edition: Edition, first: PiecePreview, asked: Collection[EngineConfig]) -> list[WriterTrial]:
    """Return a trial for each role of the edition whose model is one of those that may be asked."""
    trials = _build_trials(edition, first)
    return [trial for trial in trials if trial.writer.config in asked]


def _build_trials(edition: Edition, first: PiecePreview) -> Iterator[WriterTrial]:
    statements = join_entities(first.statements, first.triplets).filter(split="test")
    statement = statements.filter(transformation="none").head(1)
    if (rephraser := edition.rephraser) is not None:
        yield _try_rephraser(rephraser, statement)
        if rephraser.judge is not None:
            yield _try_judge(rephraser.judge, statement)
    if edition.llmeval is not None:
        yield _try_llmeval(edition.llmeval, first.triplets.filter(split="test").head(1))


def _try_rephraser(rephraser: Rephraser, statement: pl.DataFrame) -> WriterTrial:
    """Return the first attempt at the statement; its reply goes through the gate, without the judge."""
    alone = replace(rephraser, max_attempts=1, judge=None)
    (prompt,) = next(run_rounds(statement, alone))["rephraser"]

    def read(reply: Reply) -> tuple[str, str]:
        rounds = run_rounds(statement, alone)
        next(rounds)
        try:
            rounds.send({"rephraser": {prompt.key: reply}})
        except StopIteration as end:
            (attempt,) = end.value.to_dicts()
        if GATE_OFF in attempt["reasons"]:
            return "used as it is, because the gate is off", ""
        if not alone.has_gate:
            return "empty, so the statement is used", ""
        if attempt["is_accepted"]:
            return "accepted by the gate", ""
        return f"rejected by the gate ({', '.join(attempt['reasons'])})", REJECTED

    return WriterTrial("rewording", rephraser.writer, prompt, read)


def _try_judge(judge: Judge, statement: pl.DataFrame) -> WriterTrial:
    text, head, tail = statement.select("statement", "head", "tail").row(0)
    prompt, _ = judge.build_prompts(text, text, (head,), (tail,))

    def read(reply: Reply) -> tuple[str, str]:
        score = judge.read_score(reply)
        if score is None:
            return "read as no answer (right: yes)", UNREAD
        said = "yes" if judge.decide(score) else "no"
        remedy = "" if judge.decide(score) else DENIED
        return f"read as {said} with the score {score:.2g} (right: yes)", remedy

    return WriterTrial("verdict", judge.writer, prompt, read)


def _try_llmeval(llmeval: Llmeval, triplet: pl.DataFrame) -> WriterTrial:
    (prompt,) = llmeval.build_prompts(triplet)

    def read(reply: Reply) -> tuple[str, str]:
        n_lines = len(list_statements(reply.text or ""))
        remedy = FEW_LINES if n_lines < N_STATEMENTS else ""
        return f"read as {n_lines} of {N_STATEMENTS} statements", remedy

    return WriterTrial("statements", llmeval.writer, prompt, read)


def check_reply(edition: Edition, trial: WriterTrial) -> Finding:
    """Return what the model replies to the prompt, and how the reply is read."""
    model = trial.writer.config
    name = f"{trial.role} of {model.name}"
    try:
        asked, said, reply = _find_reply(edition, trial)
    except InputError as error:
        return Finding(name, "failing", hide_key(str(error), model))
    if reply.text is None:
        found, remedy = f"{asked}: {said}, no text ({reply.error})", UNFINISHED
    else:
        meaning, remedy = trial.read(reply)
        found = f"{asked}: {said}, {meaning}"
    return Finding(name, "warning" if remedy else "ok", hide_key(found, model), remedy)


def _find_reply(edition: Edition, trial: WriterTrial) -> tuple[str, str, Reply]:
    """Return whether it was asked now, what it said, and the reply: the stored one, or that of one request.

    Raises:
        InputError: the endpoint refuses the prompt, cannot be reached or gives no answer.
    """
    stored = read_replies(edition.root, trial.writer).get(trial.prompt.key)
    if stored is not None:
        return "stored reply", shorten(stored.text), stored
    model = trial.writer.config
    completion = ask_once(model, trial.prompt.prompt, trial.prompt.sampling)
    asked = describe_asking(trial.prompt.prompt)
    if completion.response is None:
        raise InputError(f"{asked}: no answer ({completion.error}); see the server's log")
    logprobs = (completion.logprob_true, completion.logprob_false)
    reply = read_reply(completion.response, find_marks(model), logprobs)
    return asked, shorten(completion.response), reply
