"""Ask each endpoint of a run one prompt of the edition, and show how the reply is read. Nothing is stored.

An evaluated model judges a statement, or answers a question. A writer is asked about the first triplet that
is tested. A judge is asked whether a statement follows from itself, because a rewording exists only after the
writer has replied.
"""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from commands.preflight.findings import Finding
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.prompts import render_answer
from tasks.asking.reasoning import read_answers
from tasks.asking.server_habits import CUT, count_habits, find_low_counts, list_remarks, tabulate_replies
from tasks.asking.writers import Reply, Writer, WriterPrompt, read_reply
from tasks.edition.attempts import run_rounds
from tasks.edition.edition import Edition
from tasks.edition.preview import preview_pieces, preview_questions
from tasks.edition.rephraser import N_STATEMENTS, Rephraser, list_statements
from tasks.edition.statements import join_entities
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.items import select_items
from tasks.evaluation.predictions import read_responses
from tasks.judging.judge import read_verdict

MAX_SHOWN = 80
"""Characters of an answer or a thought that are shown."""
UNFINISHED = "the thought did not end: raise max_tokens, or correct reasoning_marks of the model"
UNREAD = (
    "see how the model is asked (prompt_style, system_prompt, max_tokens) and how answers are read "
    "(reasoning_marks)"
)
REFUSED = "the model or a filter of its provider refused the prompt; see the provider's content filters"
TEXTS = ("response", "error", "finish_reason")
REJECTED = (
    "one rejection is no fault, because a run asks up to max_attempts times; if most are rejected, change "
    "the writer or the instruction in [rephraser] (docs/rephrasing.md)"
)
FEW_LINES = "see the instruction and max_tokens in [llmeval]: a reply has one statement per line"
NO_VERDICT = "see the instruction and max_tokens in [judge]: the judge answers Yes or No"
DENIED = "a judge that denies this rejects every rewording; see [judge], or choose another judge"


@dataclass(frozen=True)
class Trial:
    """One prompt of the edition for one model."""

    name: str
    model: EngineConfig
    prompt: Prompt
    sampling: Sampling
    read: Callable[[Completion], tuple[str, str]]
    """Returns how an answer is read, and what the user can do if it is not as it should be."""

    def run(self) -> Finding:
        """Send the prompt once, with the sampling parameters of the run, and return what came back."""
        name, asked = f"{self.name} of {self.model.name}", f"one prompt in {self.prompt.style} style"
        try:
            engine = load_engine(self.model.model_copy(update={"max_attempts": 1, "concurrency": 1}))
            try:
                (completion,) = engine.generate([self.prompt], self.sampling)
            finally:
                engine.close()
        except InputError as error:
            return Finding(name, "failing", str(error))
        if completion.response is None:
            return Finding(
                name, "failing", f"{asked}: no answer ({completion.error})", "see the server's log"
            )
        habits = [*list_remarks(count_habits(tabulate_replies([self.prompt], [completion]))).values()]
        if cut := find_low_counts([self.prompt], [completion]):
            habits.append(f"{cut}. {CUT}.")
        thought = f", after the thought {_shorten(completion.reasoning)}" if completion.reasoning else ""
        meaning, remedy = self.read(completion)
        remedy = " ".join(habits) or remedy
        found = f"{asked}: {_shorten(completion.response)}{thought}, {meaning}"
        return Finding(name, "warning" if remedy else "ok", found, remedy)


def ask_once(config: Config, edition: Edition, asked: Collection[EngineConfig]) -> list[Finding]:
    """Return a finding per prompt: one for each of these models as an evaluated model, and as a writer."""
    trials: list[Trial] = []
    if edition.has_triplets:
        first = next(iter(preview_pieces(edition)))
        plain = first.samples.filter(transformation="none")
        rows, setting = plain if plain.height else first.samples, None
        statements = join_entities(first.statements, first.triplets)
        trials += _list_writer_trials(edition, statements.filter(split="test", transformation="none").head(1))
    else:
        rows, setting = next(iter(preview_questions(edition))), config.questions.settings[0]
    for model in config.models:
        evaluation = plan_evaluation(config, edition.edition_id, model.name, setting)
        settings, kind = evaluation.request_settings, evaluation.subject.kind
        items = kind.read_items(rows)
        shots = evaluation.subject.show_demonstrations(items, {})
        requests = evaluation.subject.build_requests(select_items(items, 1), shots, settings)
        request = requests.frame.head(1)
        item = items.join(request, on="item_id", how="semi")
        read = partial(_read_answer, evaluation, request, item)
        trials.append(Trial("answer", model, requests.prompts[0], settings.sampling, read))
    wanted = [trial for trial in trials if trial.model in asked]
    with ThreadPoolExecutor(len(wanted) or 1) as pool:
        return list(pool.map(Trial.run, wanted))


def _read_answer(
    evaluation: Evaluation, request: pl.DataFrame, item: pl.DataFrame, completion: Completion
) -> tuple[str, str]:
    """Read the answer as a run does."""
    texts = [pl.lit(getattr(completion, name), pl.String).alias(name) for name in TEXTS]
    n_tokens = pl.lit(completion.n_completion_tokens, pl.Int32).alias("n_completion_tokens")
    stored = request.select("prompt_key", "repeat", *texts, n_tokens)
    answers = read_answers(
        stored,
        evaluation.model.reasoning_marks,
        is_chat=evaluation.model.prompt_style == "chat",
        max_tokens=evaluation.request_settings.sampling.max_tokens,
    )
    subject = evaluation.subject
    reading = read_responses(subject.kind, request, item, answers, is_reasoned=subject.is_reasoned)
    answer, type_ = reading["answer"][0], item["type"][0]
    right = f"(right: {render_answer(type_, item['answer'][0])})"
    if answers["is_unfinished_reasoning"][0]:
        return f"read as an unfinished thought {right}", UNFINISHED
    if answers["is_refused"][0]:
        return f"refused (finish_reason {completion.finish_reason}) {right}", REFUSED
    if answer is None:
        return f"read as no answer {right}", UNREAD
    return f"read as {render_answer(type_, answer)} {right}", ""


def _list_writer_trials(edition: Edition, statement: pl.DataFrame) -> Iterator[Trial]:
    if (rephraser := edition.rephraser) is not None:
        alone = replace(rephraser, max_attempts=1, judge=None, is_limited_by_panel=False)
        (prompt,) = next(run_rounds(statement, alone))["rephraser"]
        yield _try_writer(
            "rewording", alone.writer, prompt, partial(_read_rewording, alone, statement, prompt)
        )
        if (judge := rephraser.judge) is not None:
            text = statement["statement"][0]
            prompt, _ = judge.build_prompts(text, text)
            yield _try_writer("verdict", judge.writer, prompt, _read_verdict)
    if (llmeval := edition.llmeval) is not None:
        (prompt,) = llmeval.build_prompts(statement)
        yield _try_writer("statements", llmeval.writer, prompt, _read_statements)


def _try_writer(
    name: str, writer: Writer, prompt: WriterPrompt, read: Callable[[Reply], tuple[str, str]]
) -> Trial:
    def read_completion(completion: Completion) -> tuple[str, str]:
        reply = read_reply(completion.response or "", writer.config.reasoning_marks)
        return (f"no text ({reply.error})", UNFINISHED) if reply.text is None else read(reply)

    return Trial(name, writer.config, prompt.prompt, prompt.sampling, read_completion)


def _read_rewording(
    rephraser: Rephraser, statement: pl.DataFrame, prompt: WriterPrompt, reply: Reply
) -> tuple[str, str]:
    """Send the first attempt through the gate, without the judge."""
    rounds = run_rounds(statement, rephraser)
    next(rounds)
    try:
        rounds.send({"rephraser": {prompt.key: reply}})
    except StopIteration as end:
        (attempt,) = end.value.to_dicts()
    if not rephraser.has_gate:
        return "used without a check, because the gate is off", ""
    if attempt["is_accepted"]:
        return "accepted by the gate", ""
    return f"rejected by the gate ({', '.join(attempt['reasons'])})", REJECTED


def _read_verdict(reply: Reply) -> tuple[str, str]:
    answers = {None: ("no answer", NO_VERDICT), True: ("yes", ""), False: ("no", DENIED)}
    said, remedy = answers[read_verdict(reply)]
    return f"read as {said} (right: yes)", remedy


def _read_statements(reply: Reply) -> tuple[str, str]:
    n_lines = len(list_statements(reply.text or ""))
    return f"read as {n_lines} of {N_STATEMENTS} statements", FEW_LINES if n_lines < N_STATEMENTS else ""


def _shorten(text: str) -> str:
    """Return the text in quotation marks on one line, cut to MAX_SHOWN characters."""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")
