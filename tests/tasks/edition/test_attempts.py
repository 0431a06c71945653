"""The rounds of rewording with invented replies: what is asked, gated, judged and stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from pretexeval.config.engines import WriterConfig
from pretexeval.config.tables import JudgeConfig, RephraserConfig
from schemas.stages import ATTEMPTS, GATE_OFF
from tasks.asking.writers import Reply, Writer, WriterPrompt
from tasks.edition.attempts import PromptsByWriter, run_rounds
from tasks.edition.rephraser import Rephraser
from tasks.edition.samples import choose_rewordings
from tasks.judging.judge import Judge, Thresholds
from tasks.judging.writer_errors import read_panel
from tests.support.good_frames import make_frame

WRITER = Writer(WriterConfig(name="w", model="org/w"), "w-00000000")
OTHER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
TABLE = RephraserConfig(kind="model", writer="w")
REPHRASER = Rephraser(WRITER, TABLE.instruction, 0.7, 64, 3, seed=1)
JUDGE = Judge(OTHER, JudgeConfig(writer="j"))
Answer = Callable[[WriterPrompt], str | None]

ASTHMA = ("Salbutamol may treat asthma.", "salbutamol", "asthma", True)
ASTHMA_REWORDED = "Asthma may be treated by salbutamol."
ECZEMA = ("Salbutamol may treat eczema.", "salbutamol", "eczema", False)


def make_rows(*rows: tuple[str, str, str, bool], split: str = "test") -> pl.DataFrame:
    """Return statements with head and tail; their ids are v0, v1, …"""
    columns = ["statement", "head", "tail", "label"]
    return pl.DataFrame(rows, schema=columns, orient="row").select(
        pl.format("v{}", pl.int_range(pl.len())).alias("variant_id"),
        pl.lit("may_treat").alias("relation"),
        pl.lit(split).alias("split"),
        pl.all(),
    )


def run(rows: pl.DataFrame, rephraser: Rephraser, answers: Mapping[str, Answer]) -> pl.DataFrame:
    rounds = run_rounds(rows, rephraser)

    def reply(prompts: PromptsByWriter) -> dict[str, dict[str, Reply]]:
        texts = {
            name: {prompt.key: answers[name](prompt) for prompt in of_writer}
            for name, of_writer in prompts.items()
        }
        return {
            name: {key: Reply(text, None if text else "prompt too long") for key, text in of_name.items()}
            for name, of_name in texts.items()
        }

    try:
        prompts = next(rounds)
        while True:
            prompts = rounds.send(dict(reply(prompts)))
    except StopIteration as end:
        frame: pl.DataFrame = end.value
    assert frame.columns == ATTEMPTS.names
    return frame


def reword(rows: pl.DataFrame, answer: Answer, rephraser: Rephraser = REPHRASER) -> list[tuple[object, ...]]:
    frame = run(rows, rephraser, {"rephraser": answer, "judge": lambda _: "Yes"})
    return frame.select("variant_id", "attempt", "text", "is_accepted").rows()


def answer_by_seed(*texts: str) -> Answer:
    """Return an answer function that gives another text for every new seed."""
    seen: list[int | None] = []

    def answer(prompt: WriterPrompt) -> str:
        if prompt.sampling.seed not in seen:
            seen.append(prompt.sampling.seed)
        return texts[seen.index(prompt.sampling.seed)]

    return answer


def answer_by_key(texts: Mapping[str, str], prompt: WriterPrompt) -> str:
    return texts[prompt.key]


def test_rejected_rewording_is_asked_again_with_another_seed_and_all_attempts_are_kept() -> None:
    texts = (
        "Salbutamol may treat eczema.",
        "Salbutamol cannot treat asthma.",
        ' "Asthma may be treated by salbutamol.." ',
    )
    rows = reword(make_rows(ASTHMA), answer_by_seed(*texts))
    assert rows == [("v0", 1, texts[0], False), ("v0", 2, texts[1], False), ("v0", 3, ASTHMA_REWORDED, True)]


def test_rewording_with_too_many_new_words_is_rejected() -> None:
    """The rewording keeps one word of the statement in its order, and differs in eight around it."""
    answers = {"rephraser": lambda _: "Asthma may be treated by salbutamol."}
    free, close = (run(make_rows(ASTHMA), replace(REPHRASER, max_new_words=n), answers) for n in (8, 7))
    assert free["reasons"].to_list() == [[]]
    assert close["reasons"].to_list() == [["new words"]] * 3


def test_writer_that_fails_the_panel_may_change_no_words() -> None:
    limited = replace(REPHRASER, is_limited_by_panel=True)
    keys = [prompt.key for prompt in limited.build_panel_prompts()]
    reworded = [f"It is true that {text[0].lower()}{text[1:]}" for text in read_panel()["statement"]]
    for texts, reasons in ((reworded, []), (["No idea."] * len(keys), ["new words"])):
        by_key = dict(zip(keys, texts, strict=True))
        answers: dict[str, Answer] = {"panel": partial(answer_by_key, by_key)}
        answers["rephraser"] = lambda _: ASTHMA_REWORDED
        assert run(make_rows(ASTHMA), limited, answers)["reasons"][0].to_list() == reasons


def test_prompt_that_is_too_long_is_an_attempt_with_a_reason() -> None:
    frame = run(make_rows(ASTHMA), REPHRASER, {"rephraser": lambda _: None})
    assert frame["text"].to_list() == [None] * 3
    assert frame["reasons"].to_list() == [["prompt too long"]] * 3


def test_rewording_that_equals_a_statement_of_the_other_label_collides() -> None:
    """Each rewording keeps its meaning, but one text cannot be both true and false."""
    same = "Asthma may be treated by salbutamol."
    rows = make_rows(ASTHMA, (same, "salbutamol", "asthma", False))
    frame = run(rows, REPHRASER, {"rephraser": lambda _: same})
    reasons = dict(frame.filter(attempt=1).select("variant_id", "reasons").iter_rows())
    assert reasons["v0"] == ["collision"]


def test_rewording_that_equals_one_accepted_in_an_earlier_round_collides() -> None:
    denied = "Asthma may be treated with salbutamol."
    rows = make_rows(ASTHMA, (denied, "salbutamol", "asthma", False))
    seen: list[str] = []

    def answer(prompt: WriterPrompt) -> str:
        seen.append(prompt.prompt.text)
        return "No idea." if denied in prompt.prompt.text and len(seen) < 3 else ASTHMA_REWORDED

    frame = run(rows, replace(REPHRASER, max_attempts=2), {"rephraser": answer})
    assert frame.filter(attempt=2).select("variant_id", "text", "reasons").rows() == [
        ("v1", ASTHMA_REWORDED, ["collision"])
    ]


def test_seed_of_the_edition_changes_prompts_of_the_test_but_not_of_demonstrations() -> None:
    for split, is_same in (("test", False), ("demonstration", True)):
        one, two = (replace(REPHRASER, seed=seed).build_prompt("Text.", 1, split) for seed in (1, 2))
        assert (one.key == two.key) is is_same
        assert one.sampling.temperature == 0.7


def test_greedy_rephraser_samples_after_its_first_rejection() -> None:
    greedy = replace(REPHRASER, temperature=0.0)
    first, second = (greedy.build_prompt("Text.", attempt, "test").sampling for attempt in (1, 2))
    assert (first.temperature, first.seed) == (0.0, None)
    assert second.temperature > 0
    assert second.seed is not None


def test_judge_is_asked_in_both_directions_and_rejects() -> None:
    """The judge answers that the rewording follows from the statement, but not the reverse."""
    asked: list[str] = []

    def say(prompt: WriterPrompt) -> str:
        asked.append(prompt.prompt.text)
        return "Yes." if len(asked) % 2 else "No, it does not."

    rephraser = replace(REPHRASER, max_attempts=1, judge=JUDGE)
    frame = run(
        make_rows(ASTHMA),
        rephraser,
        {"rephraser": lambda _: "Asthma may be treated by salbutamol.", "judge": say},
    )
    verdicts = frame.select("is_judged_implied", "is_judged_implying", "is_accepted", "reasons").rows()
    assert verdicts == [(True, False, False, ["judge"])]
    assert frame["judge_score_implied"].null_count() == 1
    assert asked[0].index("may treat asthma") < asked[0].index("be treated by")
    assert asked[1].index("be treated by") < asked[1].index("may treat asthma")


def test_scores_of_an_entailment_model_decide_and_are_stored() -> None:
    """The smaller direction is below the threshold, so the rewording is rejected by the default."""

    def score(prompt: WriterPrompt) -> str:
        is_forth = prompt.prompt.text.index("may treat") < prompt.prompt.text.index("be treated")
        return json.dumps({"entailment": 0.9 if is_forth else 0.6, "other": 0.1})

    judge = Judge(OTHER, JudgeConfig(model="org/nli"), Thresholds(0.7))
    rephraser = replace(REPHRASER, max_attempts=1, judge=judge)
    reword_all = {"rephraser": lambda _: "Asthma may be treated by salbutamol.", "judge": score}
    frame = run(make_rows(ASTHMA), rephraser, reword_all)
    columns = ["judge_score_implied", "judge_score_implying", "is_judged_implied", "is_judged_implying"]
    assert frame.select(*columns, "reasons").rows() == [(0.9, 0.6, True, False, ["judge"])]


def test_a_judge_lifts_what_the_rules_reject_unless_it_collides() -> None:
    def score(_: WriterPrompt) -> str:
        return json.dumps({"entailment": 0.9, "other": 0.1})

    judge = Judge(OTHER, JudgeConfig(model="org/nli"), Thresholds(0.5, lift=0.8))
    rephraser = replace(REPHRASER, max_attempts=1, judge=judge)
    lost = "Wheezing may be treated by salbutamol."
    frame = run(make_rows(ASTHMA), rephraser, {"rephraser": lambda _: lost, "judge": score})
    columns = ("is_accepted", "reasons", "overruled", "judge_score_implied")
    assert frame.select(*columns).rows() == [(True, [], ["tail lost"], 0.9)]
    both = run(make_rows(ASTHMA, ECZEMA), rephraser, {"rephraser": lambda _: lost, "judge": score})
    assert both.select("reasons", "overruled").rows() == [(["collision"], ["tail lost"])] * 2
    strict = replace(rephraser, judge=replace(judge, thresholds=Thresholds(0.5, lift=0.95)))
    frame = run(make_rows(ASTHMA), strict, {"rephraser": lambda _: lost, "judge": score})
    assert frame.select(*columns).rows() == [(False, ["tail lost"], None, 0.9)]


def test_judge_is_not_asked_about_rejected_rewordings() -> None:
    def fail(_: WriterPrompt) -> str:
        raise AssertionError("the judge was asked")

    rephraser = replace(REPHRASER, judge=JUDGE)
    frame = run(make_rows(ASTHMA, ECZEMA), rephraser, {"rephraser": lambda _: "True.", "judge": fail})
    assert frame.height == 6
    assert not frame["is_accepted"].any()


def test_samples_are_accepted_rewordings_or_else_statements() -> None:
    statements = make_frame("statements")
    attempts = make_frame("attempts")
    first, second = statements["variant_id"][:2]
    samples = choose_rewordings(statements, attempts, "writer-0123abcd")
    columns = ["variant_id", "text", "status", "attempts", "reasons", "rephraser"]
    assert samples.select(columns).rows()[:2] == [
        (first, "Fever is a sign of influenza.", "accepted", 2, ["polarity"], "writer-0123abcd"),
        (second, "Fever is a sign of influenza.", "accepted", 1, [], "writer-0123abcd"),
    ]
    tried = pl.DataFrame(attempts).with_columns(pl.lit(False).alias("is_accepted"))
    (fallback,) = choose_rewordings(statements, tried, "w").filter(variant_id=first).select(columns).rows()
    assert fallback[1:4] == (statements["statement"][0], "fallback", 2)


def test_without_the_gate_the_first_reply_is_the_sample_as_it_is() -> None:
    """Any reply is used, unless it is empty or missing: the statement is then the sample."""
    facts = make_rows(ASTHMA, ECZEMA, ASTHMA, ASTHMA)
    facts = facts.with_columns(pl.format("{} ({})", "statement", "variant_id").alias("statement"))
    replies = {"v0": ' "Statement: wrong\nand false.. "\n', "v1": "Hm.", "v2": " \n ", "v3": None}

    def answer(prompt: WriterPrompt) -> str | None:
        return next(text for key, text in replies.items() if f"({key})" in prompt.prompt.text)

    rephraser = replace(REPHRASER, max_attempts=1, has_gate=False)
    frame = run(facts, rephraser, {"rephraser": answer})
    assert frame.select("text", "is_accepted", "reasons").rows() == [
        ('"Statement: wrong and false.. "', False, [GATE_OFF]),
        ("Hm.", False, [GATE_OFF]),
        ("", False, ["no text"]),
        (None, False, ["prompt too long"]),
    ]
    statements = make_frame("statements")[:4]
    of_statements = frame.with_columns(statements["variant_id"])
    samples = choose_rewordings(statements, of_statements, "w-00000000")
    assert samples.select("text", "status", "attempts", "reasons").rows() == [
        ('"Statement: wrong and false.. "', "as_is", 1, [GATE_OFF]),
        ("Hm.", "as_is", 1, [GATE_OFF]),
        (statements["statement"][2], "fallback", 1, ["no text"]),
        (statements["statement"][3], "fallback", 1, ["prompt too long"]),
    ]


def test_aliases_of_the_base_are_given_to_the_gate() -> None:
    text = "Bronchial hyperreactivity may be treated by albuterol."
    aliases = {"salbutamol": ("albuterol",), "asthma": ("bronchial hyperreactivity",)}
    assert reword(make_rows(ASTHMA), lambda _: text)[0] == ("v0", 1, text, False)
    named = replace(REPHRASER, aliases=aliases)
    assert reword(make_rows(ASTHMA), lambda _: text, named) == [("v0", 1, text, True)]
    assert named.describe() != REPHRASER.describe() == replace(REPHRASER, aliases={}).describe()


def test_an_alias_that_both_names_have_counts_for_neither() -> None:
    rows = make_rows(
        ("The gene TP53 encodes cellular tumor antigen p53.", "TP53", "cellular tumor antigen p53", True)
    )
    aliases = {"TP53": ("P53",), "cellular tumor antigen p53": ("p53",)}
    rephraser = replace(REPHRASER, aliases=aliases, max_attempts=1)
    frame = run(
        rows, rephraser, {"rephraser": lambda _: "Cellular tumor antigen p53 is encoded by the gene P53."}
    )
    assert frame["reasons"].to_list() == [["head lost"]]
