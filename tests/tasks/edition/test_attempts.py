"""The rounds of rewording with invented replies, and the statements of llmeval: what becomes of a reply."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.engines import WriterConfig
from pretexeval.config.tables import LlmevalConfig, RephraserConfig, StorageConfig
from pretexeval.engines.identity import identify_model
from pretexeval.storage.store import Store
from schemas.exchange import Completion
from schemas.stages import ATTEMPTS, GATE_OFF, SAMPLES
from tasks.asking.writers import Reply, Writer, WriterPrompt
from tasks.edition.attempts import ask_rounds, list_rule_reasons, run_rounds
from tasks.edition.rephraser import Llmeval, Rephraser, build_llmeval_samples, list_statements
from tasks.edition.samples import choose_rewordings
from tasks.evaluation.items import SAMPLE_ITEMS
from tasks.judging.judge import Judge
from tasks.judging.writer_errors import read_panel
from tests.support.evaluations import Scripted
from tests.support.good_frames import make_frame

WRITER = Writer(WriterConfig(name="w", model="org/w"), "w-00000000")
OTHER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
INSTRUCTION = RephraserConfig(kind="model", writer="w").instruction
REPHRASER = Rephraser(WRITER, INSTRUCTION, 0.7, 64, 3, seed=1)
JUDGE = Judge(OTHER, max_tokens=8)
Answer = Callable[[WriterPrompt], str | None]

ASTHMA = ("Salbutamol may treat asthma.", "salbutamol", "asthma", True)
ASTHMA_REWORDED = "Asthma may be treated by salbutamol."
ECZEMA = ("Salbutamol may treat eczema.", "salbutamol", "eczema", False)
GENE = ("The gene TP53 encodes cellular tumor antigen p53.", "TP53", "cellular tumor antigen p53", True)
ALIASED = "Bronchial hyperreactivity may be treated by Ventolin."
ALIASES = {"salbutamol": ("Ventolin",), "asthma": ("bronchial hyperreactivity",)}
SHARED = {"aliases": {"TP53": ("P53",), "cellular tumor antigen p53": ("p53",)}}


def make_rows(*rows: tuple[str, str, str, bool]) -> pl.DataFrame:
    """Return statements with head and tail; their ids are v0, v1, …"""
    columns = ["statement", "head", "tail", "label"]
    return pl.DataFrame(rows, schema=columns, orient="row").select(
        pl.format("v{}", pl.int_range(pl.len())).alias("variant_id"),
        pl.lit("may_treat").alias("relation"),
        pl.lit("test").alias("split"),
        pl.all(),
    )


def refuse(prompt: WriterPrompt) -> str:
    raise AssertionError(f"{prompt} was asked")


def reply(text: str | None) -> Reply:
    return Reply(text, None if text else "prompt too long")


def run(
    rows: Sequence[tuple[str, str, str, bool]],
    answer: str | Answer | None,
    say: Answer = refuse,
    **changes: Any,  # noqa: ANN401
) -> pl.DataFrame:
    """Return the attempts of statements by the rephraser with these changes."""

    def reword(prompt: WriterPrompt) -> str | None:
        return answer(prompt) if callable(answer) else answer

    answers: dict[str, Answer] = {"rephraser": reword, "judge": say}
    rounds = run_rounds(make_rows(*rows), replace(REPHRASER, **changes))
    try:
        asked = next(rounds)
        while True:
            asked = rounds.send(
                {n: {ask.key: reply(answers[n](ask)) for ask in prompts} for n, prompts in asked.items()}
            )
    except StopIteration as end:
        frame: pl.DataFrame = end.value
    assert frame.columns == ATTEMPTS.names
    return frame


def test_rejected_rewording_is_asked_again_with_another_seed_and_all_attempts_are_kept() -> None:
    texts = ("Salbutamol may treat eczema.", "Salbutamol cannot treat asthma.", f' "{ASTHMA_REWORDED}." ')
    seeds: list[int | None] = []

    def answer(prompt: WriterPrompt) -> str:
        seeds.append(prompt.sampling.seed)
        return texts[len(set(seeds)) - 1]

    frame = run([ASTHMA], answer)
    assert frame.select("variant_id", "attempt", "text", "is_accepted").rows() == [
        ("v0", 1, texts[0], False),
        ("v0", 2, texts[1], False),
        ("v0", 3, ASTHMA_REWORDED, True),
    ]


@pytest.mark.parametrize(
    ("row", "text", "changes", "reasons"),
    [
        # It keeps one word of the statement in its order, and differs in eight around it.
        (ASTHMA, ASTHMA_REWORDED, {"max_new_words": 8}, []),
        (ASTHMA, ASTHMA_REWORDED, {"max_new_words": 7}, ["new words"]),
        (ASTHMA, None, {}, ["prompt too long"]),
        (ASTHMA, ALIASED, {}, ["head lost", "tail lost"]),
        (ASTHMA, ALIASED, {"aliases": ALIASES}, []),
        # An alias that both names have counts for neither.
        (GENE, "Cellular tumor antigen p53 is encoded by the gene P53.", SHARED, ["head lost"]),
        (GENE, "P53 is encoded by the gene TP53.", SHARED, ["tail lost"]),
    ],
)
def test_attempts_have_the_reasons_of_the_gate(
    row: tuple[str, str, str, bool], text: str | None, changes: dict[str, Any], reasons: list[str]
) -> None:
    frame = run([row], text, **changes)
    assert frame["text"].to_list() == [text] * frame.height
    assert frame["reasons"].to_list() == [reasons] * (3 if reasons else 1)


def test_rewording_that_equals_a_text_of_the_other_label_collides() -> None:
    """Each rewording keeps its meaning, but one text cannot be both true and false."""
    frame = run([ASTHMA, (ASTHMA_REWORDED, "salbutamol", "asthma", False)], ASTHMA_REWORDED)
    assert frame.filter(variant_id="v0")["reasons"].to_list() == [["collision"]] * 3
    # The text may also have been accepted in an earlier round.
    denied = "Asthma may be treated with salbutamol."
    both = run([ASTHMA, (denied, "salbutamol", "asthma", False)], ASTHMA_REWORDED, max_attempts=1)
    assert both["reasons"].to_list() == [["collision"]] * 2
    n_asked = 0

    def answer(prompt: WriterPrompt) -> str:
        nonlocal n_asked
        n_asked += 1
        return "No idea." if denied in prompt.prompt.text and n_asked < 3 else ASTHMA_REWORDED

    frame = run([ASTHMA, (denied, "salbutamol", "asthma", False)], answer, max_attempts=2)
    assert frame.filter(attempt=2).select("variant_id", "text", "reasons").rows() == [
        ("v1", ASTHMA_REWORDED, ["collision"])
    ]


def test_prompts_depend_on_the_seed_the_split_the_temperature_and_the_aliases() -> None:
    for split, is_same in (("test", False), ("demonstration", True)):
        one, two = (replace(REPHRASER, seed=seed).build_prompt("Text.", 1, split) for seed in (1, 2))
        assert (one.key == two.key) is is_same
        assert one.sampling.temperature == 0.7
    # A greedy rephraser samples after its first rejection.
    greedy = replace(REPHRASER, temperature=0.0)
    first, second = (greedy.build_prompt("Text.", attempt, "test").sampling for attempt in (1, 2))
    assert (first.temperature, first.seed) == (0.0, None)
    assert second.temperature > 0
    assert second.seed is not None
    named = replace(REPHRASER, aliases=ALIASES)
    assert named.describe() != REPHRASER.describe() == replace(REPHRASER, aliases={}).describe()


@pytest.mark.parametrize(
    ("implied", "implying", "reasons"),
    [
        ("Yes.", "yes", []),
        ("Yes.", "No, it does not.", ["not implying"]),
        ("No.", "No.", ["not implied", "not implying"]),
        ("Perhaps.", "Yes.", ["no verdict"]),
    ],
)
def test_judge_is_asked_in_both_directions_and_rejects(
    implied: str, implying: str, reasons: list[str]
) -> None:
    asked = []

    def say(prompt: WriterPrompt) -> str:
        asked.append(prompt)
        text = prompt.prompt.text
        return implied if text.index("may treat asthma") < text.index("be treated by") else implying

    frame = run([ASTHMA], ASTHMA_REWORDED, say, max_attempts=1, judge=JUDGE)
    assert frame["reasons"].to_list() == [reasons]
    assert frame["is_accepted"].to_list() == [not reasons]
    assert asked == [*JUDGE.build_prompts(ASTHMA[0], ASTHMA_REWORDED)]
    # The reasons of the judge say nothing about the rules.
    assert list_rule_reasons(frame.with_columns(statement=pl.lit(ASTHMA[0]))) == [[]]


def test_judge_is_not_asked_about_what_the_rules_reject_and_its_keys_stay() -> None:
    frame = run([ASTHMA, ECZEMA], "True.", refuse, judge=JUDGE)
    assert frame.height == 6
    assert not frame["is_accepted"].any()
    # The key of answers that are stored.
    assert JUDGE.build_prompts(ASTHMA[0], ASTHMA_REWORDED)[0].key == "65231ebb0d8791052f4cf3ab49d5f526"


def test_samples_are_accepted_rewordings_or_else_statements() -> None:
    statements, attempts = make_frame("statements"), make_frame("attempts")
    first, second = statements["variant_id"][:2]
    samples = choose_rewordings(statements, attempts, "writer-0123abcd")
    columns = ["variant_id", "text", "status", "attempts", "reasons", "rephraser"]
    assert samples.select(columns).rows()[:2] == [
        (first, "Fever is a sign of influenza.", "accepted", 2, ["polarity"], "writer-0123abcd"),
        (second, "Fever is a sign of influenza.", "accepted", 1, [], "writer-0123abcd"),
    ]
    every = attempts.with_columns(is_accepted=pl.lit(True), text=pl.format("Attempt {}.", "attempt"))
    assert choose_rewordings(statements, every, "w")["text"][0] == "Attempt 1."
    tried = attempts.with_columns(is_accepted=pl.lit(False))
    (fallback,) = choose_rewordings(statements, tried, "w").filter(variant_id=first).select(columns).rows()
    assert fallback[1:4] == (statements["statement"][0], "fallback", 2)


def test_without_the_gate_the_first_reply_is_the_sample_as_it_is() -> None:
    """Any reply is used, unless it is empty or missing: the statement is then the sample."""
    replies = (' "Statement: wrong\nand false.. "\n', "Hm.", " \n ", None)
    rows = [(f"{ASTHMA[0]} (v{n})", *ASTHMA[1:]) for n in range(4)]

    def answer(prompt: WriterPrompt) -> str | None:
        return next(text for n, text in enumerate(replies) if f"(v{n})" in prompt.prompt.text)

    frame = run(rows, answer, max_attempts=1, has_gate=False)
    kept = '"Statement: wrong and false.. "'
    reasons = [[GATE_OFF], [GATE_OFF], ["no text"], ["prompt too long"]]
    texts = [kept, "Hm.", "", None]
    assert frame.select("text", "is_accepted", "reasons").rows() == [
        (text, False, why) for text, why in zip(texts, reasons, strict=True)
    ]
    statements = make_frame("statements")[:4]
    samples = choose_rewordings(statements, frame.with_columns(statements["variant_id"]), "w-00000000")
    assert samples["text"].to_list() == [kept, "Hm.", *statements["statement"][2:]]
    assert samples["status"].to_list() == ["as_is"] * 2 + ["fallback"] * 2
    assert samples["reasons"].to_list() == reasons
    assert set(samples["attempts"]) == {1}


def test_relations_are_asked_together_and_progress_of_every_round_ends_at_its_total(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The writer rewords the statement about asthma; its other replies never pass the gate."""
    config = WriterConfig(name="w", engine="openai", model="x", base_url="http://127.0.0.1:9/v1")
    asked = {REPHRASER.build_prompt(text, 1, "test").prompt.text: "Hm." for text in read_panel()["statement"]}
    asked[REPHRASER.build_prompt(ECZEMA[0], 1, "test").prompt.text] = "Hm."
    asked[REPHRASER.build_prompt(ASTHMA[0], 1, "test").prompt.text] = ASTHMA_REWORDED
    failed = Completion(None, "error", "this prompt fails")
    load = Scripted(lambda text, _: asked.get(text, failed)).load
    rephraser = replace(REPHRASER, writer=Writer(config, identify_model(config).model_id))
    shown: list[list[Any]] = []

    @contextlib.contextmanager
    def show(title: str, total: int) -> Iterator[Callable[[int], None]]:
        shown.append([title, total, 0])

        def advance(n: int) -> None:
            shown[-1][2] += n

        yield advance

    store = Store(StorageConfig(root=tmp_path / "data"))
    relations = [make_rows(ASTHMA, ECZEMA), make_rows(ASTHMA)]
    attempts = ask_rounds(store, relations, rephraser, show, load)
    # Two relations have the same prompt, which is asked once.
    rounds = [f"rephraser w, round {number}" for number in (1, 2, 3)]
    assert shown == [[rounds[0], 3, 3], [rounds[1], 1, 1], [rounds[2], 1, 1]]
    assert [frame["is_accepted"].to_list() for frame in attempts] == [[True, False, False, False], [True]]
    assert ask_rounds(store, relations, rephraser, show, load)[0].equals(attempts[0])
    # Both relations wait for one panel, in which the model fails, so that it may change no words.
    shown.clear()
    limited = ask_rounds(store, relations, replace(rephraser, is_limited_by_panel=True), show, load)
    n = read_panel().height
    assert shown[0] == ["panel w, round 1", n, n]
    assert [title for title, *_ in shown[1:]] == rounds
    assert not pl.concat(limited)["is_accepted"].any()
    # A judge that gives no verdict rejects every rewording, which is said.
    assert caplog.messages == []
    judge = Judge(rephraser.writer, max_tokens=8)
    verdicts = {prompt.prompt.text: "Perhaps." for prompt in judge.build_prompts(ASTHMA[0], ASTHMA_REWORDED)}
    asked |= verdicts
    judged = replace(rephraser, judge=judge, max_attempts=1)
    (attempts_of_asthma,) = ask_rounds(store, [make_rows(ASTHMA)], judged, show, load)
    assert attempts_of_asthma["reasons"].to_list() == [["no verdict"]]
    assert "the judge 'w': replies about 1 of 1 rewordings hold neither Yes nor No" in caplog.messages[-1]


LLMEVAL = Llmeval(WRITER, LlmevalConfig().instruction)
EIGHT = "\n".join(f"Statement {n} of it." for n in range(8))


REPLIES = {
    "": [],
    "One is this.\n\n  Two is that.  \n": ["One is this.", "Two is that."],
    "1. One is this.\n2) Two is that.\n- Three is so.": ["One is this.", "Two is that.", "Three is so."],
    "Here are 8 statements:\nOne is this.": ["One is this."],
    "One is this.\nOne is this.": ["One is this."],
    "True\nOne is this.": ["One is this."],
    "One\x0cis\u2028this here.\tYes.": ["this here. Yes."],
    EIGHT + "\nA ninth of it.": EIGHT.splitlines(),
    "2 in 3 patients with gout are men.": ["2 in 3 patients with gout are men."],
}


def test_usable_lines_of_a_reply_are_its_statements() -> None:
    assert {reply: list_statements(reply) for reply in REPLIES} == REPLIES


def test_samples_have_the_label_of_their_triplet_and_their_position_in_the_reply() -> None:
    triplets = make_frame("triplets")
    prompts = LLMEVAL.build_prompts(triplets)
    assert "(Influenza, symptoms, Fever)" in prompts[0].prompt.text
    assert "{triplet}" not in prompts[0].prompt.text
    replies = {
        prompt.key: Reply(EIGHT if n else "Only one is usable.\nNo.") for n, prompt in enumerate(prompts)
    }
    samples = build_llmeval_samples(triplets, LLMEVAL, replies)
    assert samples.columns == SAMPLES.names
    counts = samples.group_by("triplet_id", maintain_order=True).len()["len"].to_list()
    assert counts == [1, 8, 8, 8]
    truths = dict(triplets.select("triplet_id", "is_positive").iter_rows())
    assert [truths[i] for i in samples["triplet_id"]] == samples["label"].to_list()
    assert samples["sample_index"].to_list() == [0, *list(range(8)) * 3]
    assert samples["sample_id"].is_unique().all()
    assert samples.select("rephraser", "status", "attempts").unique().rows() == [("w-00000000", "as_is", 0)]


def test_demonstrations_are_drawn_from_pairs_with_samples_of_one_label() -> None:
    triplets = make_frame("triplets").with_columns(pl.lit("demonstration").alias("split"))
    prompts = LLMEVAL.build_prompts(triplets)
    replies = {prompt.key: Reply(EIGHT if n % 2 else "-") for n, prompt in enumerate(prompts)}
    samples = build_llmeval_samples(triplets, LLMEVAL, replies)
    shown = SAMPLE_ITEMS.draw_demonstrations(SAMPLE_ITEMS.read_items(samples))
    assert shown.select("form", "answer").rows() == [(None, "F")] * 2
    shuffled = samples.sample(fraction=1, shuffle=True, seed=1)
    assert shown.equals(SAMPLE_ITEMS.draw_demonstrations(SAMPLE_ITEMS.read_items(shuffled)))
    assert SAMPLE_ITEMS.draw_demonstrations(SAMPLE_ITEMS.read_items(samples.clear())).is_empty()
