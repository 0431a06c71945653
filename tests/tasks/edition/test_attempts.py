"""The rounds of rewording, with replies that are made up: what is asked, gated, judged and kept."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl
import pytest

from config.engines import WriterConfig
from config.tables import JudgeConfig, RephraserConfig
from schemas.stages import ATTEMPTS
from tasks.asking.writers import Reply, Writer, WriterPrompt
from tasks.edition.attempts import Asks, Judge, Rephraser, play_rounds
from tasks.edition.samples import choose_rewordings
from tests.support.good_frames import make_frame

WRITER = Writer(WriterConfig(name="w", model="org/w"), "w-00000000")
OTHER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
TABLE = RephraserConfig(kind="model", writer="w")
REPHRASER = Rephraser(WRITER, TABLE.instruction, 0.7, 64, 3, seed=1)
JUDGE = Judge(OTHER, JudgeConfig().instruction, is_binding=False)
Answer = Callable[[WriterPrompt], str | None]

ASTHMA = ("Salbutamol may treat asthma.", "salbutamol", "asthma", True)
ECZEMA = ("Salbutamol may treat eczema.", "salbutamol", "eczema", False)


def make_rows(*rows: tuple[str, str, str, bool], split: str = "test") -> pl.DataFrame:
    """Statements with head and tail beside them; ids v0, v1, …"""
    columns = ["statement", "head", "tail", "label"]
    return pl.DataFrame(rows, schema=columns, orient="row").select(
        pl.format("v{}", pl.int_range(pl.len())).alias("variant_id"),
        pl.lit("may_treat").alias("relation"),
        pl.lit(split).alias("split"),
        pl.all(),
    )


def play(rows: pl.DataFrame, rephraser: Rephraser, answers: Mapping[str, Answer]) -> pl.DataFrame:
    rounds = play_rounds(rows, rephraser)

    def reply(asks: Asks) -> dict[str, dict[str, Reply]]:
        texts = {name: {ask.key: answers[name](ask) for ask in wanted} for name, wanted in asks.items()}
        return {
            name: {key: Reply(text, None if text else "prompt too long") for key, text in of_name.items()}
            for name, of_name in texts.items()
        }

    try:
        asks = next(rounds)
        while True:
            asks = rounds.send(dict(reply(asks)))
    except StopIteration as end:
        frame: pl.DataFrame = end.value
    assert frame.columns == ATTEMPTS.names
    return frame


def reword(rows: pl.DataFrame, answer: Answer, rephraser: Rephraser = REPHRASER) -> list[tuple[object, ...]]:
    frame = play(rows, rephraser, {"rephraser": answer, "judge": lambda _: "Yes"})
    return frame.select("variant_id", "attempt", "text", "is_accepted").rows()


def seeds_of(*texts: str) -> Answer:
    """Says one text after the other, by the seed: the same prompt with another seed is another reply."""
    seen: list[int | None] = []

    def answer(ask: WriterPrompt) -> str:
        if ask.sampling.seed not in seen:
            seen.append(ask.sampling.seed)
        return texts[seen.index(ask.sampling.seed)]

    return answer


def test_what_the_gate_lets_pass_is_taken_at_once_and_cleaned() -> None:
    rows = reword(make_rows(ASTHMA), lambda _: '  "Asthma may be treated with salbutamol.." ')
    assert rows == [("v0", 1, "Asthma may be treated with salbutamol.", True)]


def test_what_it_turns_away_is_asked_again_with_another_seed_and_every_attempt_is_kept() -> None:
    texts = (
        "Salbutamol may treat eczema.",
        "Salbutamol cannot treat asthma.",
        "Asthma may be treated by salbutamol.",
    )
    rows = reword(make_rows(ASTHMA), seeds_of(*texts))
    assert rows == [("v0", 1, texts[0], False), ("v0", 2, texts[1], False), ("v0", 3, texts[2], True)]


def test_after_the_last_attempt_there_is_no_other() -> None:
    rows = reword(make_rows(ASTHMA), lambda _: "No idea.")
    assert [(attempt, is_accepted) for _, attempt, _, is_accepted in rows] == [
        (1, False),
        (2, False),
        (3, False),
    ]


def test_a_prompt_that_does_not_fit_is_an_attempt_with_its_reason() -> None:
    frame = play(make_rows(ASTHMA), REPHRASER, {"rephraser": lambda _: None})
    assert frame["text"].to_list() == [None] * 3
    assert frame["reasons"].to_list() == [["prompt too long"]] * 3


def test_a_rewording_that_is_a_statement_of_the_other_label_collides() -> None:
    """Both mean what they should: but one text cannot be true and false."""
    same = "Asthma may be treated by salbutamol."
    rows = make_rows(ASTHMA, (same, "salbutamol", "asthma", False))
    frame = play(rows, REPHRASER, {"rephraser": lambda _: same})
    reasons = dict(frame.filter(attempt=1).select("variant_id", "reasons").iter_rows())
    assert reasons["v0"] == ["collision"]


def test_the_edition_s_seed_asks_anew_and_demonstrations_stay() -> None:
    for split, is_same in (("test", False), ("demonstration", True)):
        one, two = (replace(REPHRASER, seed=seed).build_prompt("Text.", 1, split) for seed in (1, 2))
        assert (one.key == two.key) is is_same
        assert one.sampling.temperature == 0.7


def test_a_greedy_rephraser_samples_once_it_was_turned_away() -> None:
    greedy = replace(REPHRASER, temperature=0.0)
    first, second = (greedy.build_prompt("Text.", attempt, "test").sampling for attempt in (1, 2))
    assert (first.temperature, first.seed) == (0.0, None)
    assert second.temperature > 0
    assert second.seed is not None


def test_the_prompt_is_the_instruction_with_the_statement_in_it() -> None:
    ask = REPHRASER.build_prompt("Salbutamol may treat {asthma}.", 1, "test")
    assert "Salbutamol may treat {asthma}." in ask.prompt.text
    assert "{statement}" not in ask.prompt.text


@pytest.mark.parametrize(("is_binding", "is_accepted"), [(False, True), (True, False)])
def test_the_judge_is_asked_both_ways_and_turns_away_only_if_it_is_binding(
    is_binding: bool, is_accepted: bool
) -> None:
    """It says that the rewording follows from the statement, and not the other way round."""
    asked: list[str] = []

    def say(ask: WriterPrompt) -> str:
        asked.append(ask.prompt.text)
        return "Yes." if len(asked) % 2 else "No, it does not."

    rephraser = replace(REPHRASER, max_attempts=1, judge=replace(JUDGE, is_binding=is_binding))
    frame = play(
        make_rows(ASTHMA),
        rephraser,
        {"rephraser": lambda _: "Asthma may be treated by salbutamol.", "judge": say},
    )
    verdicts = frame.select("is_judged_implied", "is_judged_implying", "is_accepted", "reasons").rows()
    assert verdicts == [(True, False, is_accepted, [] if is_accepted else ["judge"])]
    assert asked[0].index("may treat asthma") < asked[0].index("be treated by")
    assert asked[1].index("be treated by") < asked[1].index("may treat asthma")


def test_the_judge_is_not_asked_of_what_the_gate_turned_away() -> None:
    def fail(_: WriterPrompt) -> str:
        raise AssertionError("the judge was asked")

    rephraser = replace(REPHRASER, judge=JUDGE)
    frame = play(make_rows(ASTHMA, ECZEMA), rephraser, {"rephraser": lambda _: "True.", "judge": fail})
    assert frame.height == 6
    assert not frame["is_accepted"].any()


def test_samples_are_the_accepted_rewordings_else_the_statements() -> None:
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
