"""`pretexeval preview`: texts of a few facts per relation before any model is asked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from commands.preflight.findings import Finding, render_findings
from commands.preflight.validate import (
    check_names,
    check_negatives,
    check_wordings,
    read_edition,
    run_checks,
    show_risks,
)
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.untrusted_text import escape_line
from tasks.edition.preview import preview_relations
from tasks.evaluation.items import select_items

UNWRITTEN = {
    "pretexeval": "a language model has yet to reword the statements, which are shown",
    "llmeval": "a language model has yet to write the texts, so none are shown",
}
"""Method -> what a preview says of it before a model has written its texts."""
GATE_OFF = ", and nothing will check its rewordings, because the gate is off"


@dataclass(frozen=True)
class PreviewedFact:
    """A fact and its false twin with all their texts."""

    relation: str
    head: str
    true_tail: str
    false_tail: str
    texts: tuple[Mapping[str, Any], ...]
    """For each text its method, is_positive (false if it is about the false twin), form, label and text. The
    form is the transformation, or `text N` for the N-th text of llmeval."""


@dataclass(frozen=True)
class EditionPreview:
    """A few facts of every relation of an edition."""

    edition_id: str
    methods: tuple[str, ...]
    facts: dict[str, tuple[PreviewedFact, ...]]
    """Relation -> the first facts that a model is asked about."""
    n_pairs: dict[str, int]
    """Relation -> the number of its tested facts."""
    unwritten: dict[str, str]
    """Method whose texts a language model has yet to write -> what is shown instead."""
    risks: tuple[Finding, ...]
    """The figures of the negatives."""
    warnings: tuple[Finding, ...]
    """Warnings about names, negatives, and the texts of the user's own pool."""


def preview_edition(config: Config, n_pairs: int) -> EditionPreview:
    """Return the first facts of the edition of a configuration; nothing is written, no model is asked.

    Args:
        n_pairs: how many facts of each relation; they are those that `--limit` asks about.

    Raises:
        InputError: the edition cannot be built, or it has no triplets.
    """
    edition, balance = read_edition(config)
    if not edition.has_triplets:
        raise InputError("the questions of a bank have no negatives or statements to preview")
    facts, counts, unwritten = dict[str, tuple[PreviewedFact, ...]](), dict[str, int](), dict[str, str]()
    methods: tuple[str, ...] = config.edition.methods
    for piece in preview_relations(edition):
        unwritten = {method: UNWRITTEN[method] for method in methods if method in piece.unwritten_methods}
        # Do not show texts that are not written yet, and show no statement twice.
        hidden = unwritten.keys() & {"llmeval", *(["pretexeval"] if "prototype" in methods else [])}
        shown = [method for method in methods if method not in hidden]
        samples = select_items(piece.samples, n_pairs, "pair_id").filter(pl.col("method").is_in(shown))
        counts[piece.relation] = piece.triplets.filter(split="test")["pair_id"].n_unique()
        pairs = select_items(piece.triplets, n_pairs, "pair_id")
        facts[piece.relation] = tuple(_list_facts(pairs, samples, shown))
    if "pretexeval" in unwritten and config.rephraser.gate == "off":
        unwritten["pretexeval"] += GATE_OFF
    warnings = run_checks(edition, balance, check_names, check_negatives, check_wordings)
    risks = tuple(show_risks(edition, balance))
    return EditionPreview(edition.edition_id, methods, facts, counts, unwritten, risks, tuple(warnings))


def _list_facts(
    pairs: pl.DataFrame, samples: pl.DataFrame, methods: Sequence[str]
) -> Iterator[PreviewedFact]:
    texts = (
        samples.join(pairs.select("triplet_id", "is_positive"), on="triplet_id")
        .sort(pl.col("method").cast(pl.Enum(methods)), ~pl.col("is_positive"), "sample_index")
        .select(
            "pair_id",
            "method",
            "is_positive",
            pl.coalesce("transformation", pl.format("text {}", pl.col("sample_index") + 1)).alias("form"),
            "label",
            "text",
        )
    )
    of_pair = texts.rows_by_key("pair_id", named=True)
    twins = pairs.filter(~pl.col("is_positive")).select("pair_id", false_tail="tail")
    facts = pairs.filter("is_positive").join(twins, on="pair_id", maintain_order="left")
    names = facts.select("pair_id", "relation", "head", "tail", "false_tail")
    for pair_id, relation, head, true_tail, false_tail in names.iter_rows():
        yield PreviewedFact(relation, head, true_tail, false_tail, tuple(of_pair.get(pair_id, ())))


def render_preview(preview: EditionPreview) -> str:
    """Return the facts with their texts, and the warnings, as text for the console."""
    lines = [f"edition {preview.edition_id}, methods: {', '.join(preview.methods)}"]
    lines += [f"{method}: {note}" for method, note in preview.unwritten.items()]
    for relation, facts in preview.facts.items():
        lines += ["", f"{relation}: {len(facts)} of {preview.n_pairs[relation]:,} facts"]
        for fact in facts:
            lines += ["", f"  {fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}"]
            for each in fact.texts:
                about = "fact" if each["is_positive"] else "twin"
                answer = "true" if each["label"] else "false"
                lines.append(
                    f"    {each['method']:<10}  {about}  {each['form']:<10}  {answer:<5}  {each['text']}"
                )
    findings = [f"\n{render_findings([*preview.risks, *preview.warnings])}"] if preview.risks else []
    return "\n".join([*map(escape_line, lines), *findings])
