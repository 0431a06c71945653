import polars as pl
import pytest

from config.engines import WriterConfig
from config.tables import LlmevalConfig
from schemas.stages import SAMPLES
from tasks.asking.writers import Reply, Writer
from tasks.edition.llmeval import Llmeval, build_llmeval_samples, list_statements
from tasks.evaluation.demonstrations import draw_demonstrations
from tests.support.good_frames import make_frame

WRITER = Writer(WriterConfig(name="w", model="org/w"), "w-00000000")
LLMEVAL = Llmeval(WRITER, LlmevalConfig().instruction, 512)
EIGHT = "\n".join(f"Statement {n} of it." for n in range(8))


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ("", []),
        ("One is this.\n\n  Two is that.  \n", ["One is this.", "Two is that."]),
        (
            "1. One is this.\n2) Two is that.\n- Three is so.",
            ["One is this.", "Two is that.", "Three is so."],
        ),
        ("Here are 8 statements:\nOne is this.", ["One is this."]),
        ("One is this.\nOne is this.", ["One is this."]),
        ("True\nOne is this.", ["One is this."]),
        ("One\x0cis\u2028this here.\tYes.", ["this here. Yes."]),
        (EIGHT + "\nA ninth of it.", EIGHT.splitlines()),
        ("2 in 3 patients with gout are men.", ["2 in 3 patients with gout are men."]),
    ],
)
def test_usable_lines(reply: str, lines: list[str]) -> None:
    assert list_statements(reply) == lines


def test_the_prompt_names_the_triplet() -> None:
    text = LLMEVAL.ask("may_treat", "salbutamol", "asthma").prompt.text
    assert "(salbutamol, may treat, asthma)" in text
    assert "{triplet}" not in text


def test_samples_have_the_label_of_their_triplet_and_their_place_in_the_reply() -> None:
    triplets = make_frame("triplets")
    asks = LLMEVAL.ask_all(triplets)
    replies = {ask.key: Reply(EIGHT if n else "Only one is usable.\nNo.") for n, ask in enumerate(asks)}
    samples = build_llmeval_samples(triplets, LLMEVAL, replies)
    assert samples.columns == SAMPLES.names
    counts = samples.group_by("triplet_id", maintain_order=True).len()["len"].to_list()
    assert counts == [1, 8, 8, 8]
    truths = dict(triplets.select("triplet_id", "is_positive").iter_rows())
    assert [truths[i] for i in samples["triplet_id"]] == samples["label"].to_list()
    assert samples["sample_index"].to_list() == [0, *list(range(8)) * 3]
    assert samples["sample_id"].is_unique().all()
    assert samples.select("rephraser", "status", "attempts").unique().rows() == [("w-00000000", "as_is", 0)]


def test_a_reply_that_never_came_gives_no_samples() -> None:
    triplets = make_frame("triplets")[:1]
    (ask,) = LLMEVAL.ask_all(triplets)
    samples = build_llmeval_samples(triplets, LLMEVAL, {ask.key: Reply(None, "prompt too long")})
    assert samples.is_empty()
    assert samples.columns == SAMPLES.names


def test_demonstrations_are_drawn_where_one_half_of_a_pair_has_nothing_usable() -> None:
    triplets = make_frame("triplets").with_columns(pl.lit("demonstration").alias("split"))
    asks = LLMEVAL.ask_all(triplets)
    replies = {ask.key: Reply(EIGHT if n % 2 else "-") for n, ask in enumerate(asks)}
    samples = build_llmeval_samples(triplets, LLMEVAL, replies)
    (shots,) = draw_demonstrations(samples).values()
    assert {shot.label for shot in shots} == {False}
    assert draw_demonstrations(samples.clear()) == {}
