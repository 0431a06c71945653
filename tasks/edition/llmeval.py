"""Method llmeval: a language model writes the statements directly from the triplet (method, 2.7).

Source: PretexEval, appendix E: one greedy completion per triplet, one statement per line.
"""

import re
from dataclasses import dataclass

import polars as pl

from primitives.hashing import hash_text
from schemas.stages import SAMPLES
from schemas.transformations import NAMES
from tasks.asking.writers import Replies, Writer, WriterPrompt
from tasks.edition.sentences import write_on_one_line

N_STATEMENTS = len(NAMES)
# The number or bullet of a line in a list.
ENUMERATION = re.compile(r"^(?:\(?\d{1,2}[.):]|[-*•–])\s+")
MIN_WORDS = 3


@dataclass(frozen=True)
class Llmeval:
    """The writer of the statements, and how it is asked."""

    writer: Writer
    instruction: str
    max_tokens: int

    def build_prompt(self, relation: str, head: str, tail: str) -> WriterPrompt:
        """Return the prompt of one triplet."""
        triplet = f"({head}, {relation.replace('_', ' ')}, {tail})"
        return self.writer.build_prompt(self.instruction.replace("{triplet}", triplet), self.max_tokens)

    def build_prompts(self, triplets: pl.DataFrame) -> list[WriterPrompt]:
        """Return the prompts of triplets, in their order."""
        rows = triplets.select("relation", "head", "tail").iter_rows()
        return [self.build_prompt(*row) for row in rows]

    def describe(self) -> dict[str, object]:
        """Return, as JSON, what the statements depend on."""
        return {
            **self.writer.describe(),
            "instruction": self.instruction,
            "max_tokens": self.max_tokens,
        }


def build_llmeval_samples(triplets: pl.DataFrame, llmeval: Llmeval, replies: Replies) -> pl.DataFrame:
    """Return up to eight samples per triplet, all with the label of the triplet.

    Args:
        triplets: the triplets of one relation.
        replies: the writer's replies; every triplet must have one.
    """
    rows = []
    columns = ("triplet_id", "pair_id", "relation", "split", "is_positive")
    prompts = llmeval.build_prompts(triplets)
    for prompt, values in zip(prompts, triplets.select(columns).iter_rows(), strict=True):
        triplet_id = values[0]
        for index, text in enumerate(list_statements(replies[prompt.key].text or "")):
            sample_id = hash_text("sample", "llmeval", triplet_id, str(index), text)
            rows.append((sample_id, *values, index, text))
    schema = dict.fromkeys(("sample_id", *columns), pl.String) | {
        "is_positive": pl.Boolean,
        "sample_index": pl.Int8,
        "text": pl.String,
    }
    return (
        pl.DataFrame(rows, schema=schema, orient="row")
        .rename({"is_positive": "label"})
        .with_columns(
            pl.lit("llmeval").alias("method"),
            pl.lit(None, pl.String).alias("variant_id"),
            pl.lit(None, pl.String).alias("transformation"),
            pl.lit(llmeval.writer.model_id).alias("rephraser"),
            pl.lit("as_is").alias("status"),
            pl.lit(0, pl.Int16).alias("attempts"),
            pl.lit([], pl.List(pl.String)).alias("reasons"),
        )
        .select(SAMPLES.names)
    )


def list_statements(reply: str) -> list[str]:
    """Return the usable lines of a reply, at most eight: no short lines, headings or repeated lines.

    Numbers and bullets are removed from the lines.
    """
    lines = (write_on_one_line(ENUMERATION.sub("", line.strip())) for line in reply.splitlines())
    usable = [line for line in lines if len(line.split()) >= MIN_WORDS and not line.endswith(":")]
    return list(dict.fromkeys(usable))[:N_STATEMENTS]
