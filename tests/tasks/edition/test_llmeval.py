import polars as pl

from pretexeval.config.engines import WriterConfig
from pretexeval.config.tables import LlmevalConfig
from schemas.stages import SAMPLES
from tasks.asking.writers import Reply, Writer
from tasks.edition.rephraser import Llmeval, build_llmeval_samples, list_statements
from tasks.evaluation.items import SAMPLE_ITEMS
from tests.support.good_frames import make_frame

WRITER = Writer(WriterConfig(name="w", model="org/w"), "w-00000000")
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


def test_prompt_contains_the_triplet() -> None:
    text = LLMEVAL.build_prompt("may_treat", "salbutamol", "asthma").prompt.text
    assert "(salbutamol, may treat, asthma)" in text
    assert "{triplet}" not in text


def test_samples_have_the_label_of_their_triplet_and_their_position_in_the_reply() -> None:
    triplets = make_frame("triplets")
    prompts = LLMEVAL.build_prompts(triplets)
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
