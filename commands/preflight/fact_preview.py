"""`pretexeval preview`: texts of a few facts per relation before any model is asked."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from commands.preflight.reading import (
    RISKS,
    find_doubtful_wordings,
    read_edition,
    render_doubtful_wordings,
    tabulate_risks,
)
from pretexeval.config.file import Config
from pretexeval.knowledge.doubtful_names import summarize_name_troubles
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.untrusted_text import escape_line
from report.console import align
from report.page import render_template
from tasks.edition.preview import PiecePreview, preview_pieces
from tasks.edition.risks import list_risks
from tasks.evaluation.items import select_items

UNWRITTEN = {
    "pretexeval": "a language model has yet to reword the statements, which are shown",
    "llmeval": "a language model has yet to write the texts, so none are shown",
}
"""Method -> what a preview says of it before a model has written its texts."""
GATE_OFF = "nothing will check its rewordings, because the gate is off"


@dataclass(frozen=True)
class PreviewedText:
    """One text to verify."""

    method: str
    is_positive: bool
    """Whether it is about the fact, and not about its false twin."""
    form: str
    """The transformation; `text N` for the N-th text of llmeval."""
    label: bool
    text: str


@dataclass(frozen=True)
class PreviewedFact:
    """A fact and its false twin with all their texts."""

    head: str
    true_tail: str
    false_tail: str
    texts: tuple[PreviewedText, ...]


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
    risks: tuple[tuple[str, ...], ...]
    """The cells of RISKS for each relation."""
    warnings: str
    """The risks of the negatives, and the texts of the user's own pool that the gate would reject; empty
    without any."""


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
    relations: dict[str, list[PiecePreview]] = {}
    counts: Counter[str] = Counter()
    for piece in preview_pieces(edition):
        counts[piece.relation] += piece.triplets.filter(split="test")["pair_id"].n_unique()
        # Of each piece, only as many pairs are kept as are shown of the relation.
        samples = select_items(piece.samples, n_pairs, "pair_id")
        triplets = piece.triplets.join(samples, on="pair_id", how="semi")
        shown_part = replace(piece, samples=samples, triplets=triplets, statements=piece.statements.clear())
        relations.setdefault(piece.relation, []).append(shown_part)
    methods: tuple[str, ...] = config.edition.methods
    open_methods = {method for pieces in relations.values() for method in pieces[0].unwritten_methods}
    unwritten = {method: UNWRITTEN[method] for method in methods if method in open_methods}
    # No text is shown that is missing, and no statement twice.
    hidden = open_methods & {"llmeval", *(["pretexeval"] if "prototype" in methods else [])}
    if "pretexeval" in unwritten and config.rephraser.gate == "off":
        unwritten["pretexeval"] += f", and {GATE_OFF}"
    shown = [method for method in methods if method not in hidden]
    warnings = [*summarize_name_troubles(edition.base.triplets), *list_risks(balance)]
    if doubtful := find_doubtful_wordings(edition):
        warnings.append(render_doubtful_wordings(str(edition.pool.path or edition.pool.name), doubtful))
    return EditionPreview(
        edition.edition_id,
        methods,
        {relation: tuple(_list_facts(pieces, shown, n_pairs)) for relation, pieces in relations.items()},
        dict(counts),
        unwritten,
        tuple(map(tuple, tabulate_risks(balance))),
        "\n".join(warnings),
    )


def _list_facts(
    pieces: Sequence[PiecePreview], methods: Sequence[str], n_pairs: int
) -> Iterator[PreviewedFact]:
    triplets = pl.concat(piece.triplets for piece in pieces)
    samples = select_items(pl.concat(piece.samples for piece in pieces), n_pairs, "pair_id")
    for (pair_id,), of_pair in samples.group_by("pair_id", maintain_order=True):
        pair = triplets.filter(pair_id=pair_id).sort("is_positive", descending=True)
        texts = [
            PreviewedText(method, is_positive, form or f"text {k + 1}", label, text)
            for method in methods
            for triplet_id, is_positive in pair.select("triplet_id", "is_positive").iter_rows()
            for form, k, label, text in of_pair.filter(method=method, triplet_id=triplet_id)
            .sort("sample_index")
            .select("transformation", "sample_index", "label", "text")
            .iter_rows()
        ]
        true, false = pair.iter_rows(named=True)
        yield PreviewedFact(true["head"], true["tail"], false["tail"], tuple(texts))


def render_preview(preview: EditionPreview) -> str:
    """Return the facts with their texts, and the warnings, as text for the console."""
    lines = [f"edition {preview.edition_id}, methods: {', '.join(preview.methods)}"]
    lines += [f"{method}: {note}" for method, note in preview.unwritten.items()]
    for relation, facts in preview.facts.items():
        lines += ["", f"{relation}: {len(facts)} of {preview.n_pairs[relation]:,} facts"]
        for fact in facts:
            lines += ["", f"  {fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}"]
            for each in fact.texts:
                about, answer = "fact" if each.is_positive else "twin", "true" if each.label else "false"
                lines.append(f"    {each.method:<10}  {about}  {each.form:<10}  {answer:<5}  {each.text}")
    lines += ["", *align(RISKS, preview.risks).splitlines()] if preview.risks else []
    return "\n".join([*map(escape_line, lines), *([f"\n{preview.warnings}"] if preview.warnings else [])])


def render_page(preview: EditionPreview) -> str:
    """Return the same as a page that needs no script and no other file."""
    return render_template("preview.html", inputs="", preview=preview, risks=RISKS)
