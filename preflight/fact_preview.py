"""Show the texts of a few facts per relation before any model is asked, as text or as a page."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import polars as pl

from config.file import Config
from preflight.wording_checks import DoubtfulWording, find_doubtful_wordings, render_wording_warnings
from primitives.errors import InputError
from primitives.untrusted_text import escape_line
from report.page_templates import render_template
from tasks.edition.buildable import require_buildable
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.preview import PiecePreview, preview_pieces
from tasks.evaluation.requests import select_samples

UNWRITTEN = {
    "pretexeval": "a language model has yet to reword the statements, which are shown",
    "llmeval": "a language model has yet to write the texts, so none are shown",
}
"""Method -> what a preview says of it before a model has written its texts."""
GATE_OFF = "nothing will check its rewordings, because the gate is off"


@dataclass(frozen=True)
class PreviewedText:
    """One text to verify."""

    transformation: str
    """The form; `text N` for the N-th text of llmeval."""
    label: bool
    text: str


@dataclass(frozen=True)
class PreviewedTexts:
    """The texts of one method about a fact and its false twin."""

    method: str
    of_true: tuple[PreviewedText, ...]
    of_false: tuple[PreviewedText, ...]


@dataclass(frozen=True)
class PreviewedFact:
    """A fact and its false twin with all their texts."""

    head: str
    true_tail: str
    false_tail: str
    texts: tuple[PreviewedTexts, ...]


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
    doubtful_wordings: tuple[DoubtfulWording, ...]
    """Texts of the user's own pool that the gate would reject."""


def preview_edition(config: Config, n_pairs: int) -> tuple[Edition, EditionPreview]:
    """Return the edition of a configuration and its first facts; nothing is written, no model is asked.

    Args:
        n_pairs: how many facts of each relation; they are those that `--limit` asks about.

    Raises:
        InputError: the edition cannot be built, or it has no triplets.
    """
    edition = plan_edition(config)
    require_buildable(edition)
    if not edition.has_triplets:
        raise InputError("the questions of a bank have no negatives or statements to preview")
    methods: tuple[str, ...] = config.edition.methods
    relations: dict[str, list[PiecePreview]] = {}
    counts: Counter[str] = Counter()
    for piece in preview_pieces(edition):
        counts[piece.relation] += piece.triplets.filter(split="test")["pair_id"].n_unique()
        relations.setdefault(piece.relation, []).append(_select_first(piece, n_pairs))
    unwritten_methods = frozenset().union(*(piece.unwritten_methods for (piece, *_) in relations.values()))
    unwritten = {m: UNWRITTEN[m] for m in methods if m in unwritten_methods}
    if "pretexeval" in unwritten and config.rephraser.gate == "off":
        unwritten["pretexeval"] += f", and {GATE_OFF}"
    shown = _select_shown(methods, unwritten)
    return edition, EditionPreview(
        edition.edition_id,
        methods,
        {relation: _select_facts(pieces, shown, n_pairs) for relation, pieces in relations.items()},
        dict(counts),
        unwritten,
        tuple(find_doubtful_wordings(edition)),
    )


def _select_first(piece: PiecePreview, n_pairs: int) -> PiecePreview:
    """Return the piece with only as many of its pairs as are shown of the relation."""
    samples = select_samples(piece.samples, n_pairs)
    return replace(piece, samples=samples, triplets=piece.triplets.join(samples, on="pair_id", how="semi"))


def _select_shown(methods: Sequence[str], unwritten: Collection[str]) -> list[str]:
    """Return the methods whose texts are shown: none that are missing, and no statement twice."""
    left_out = {"llmeval"} | ({"pretexeval"} if "prototype" in methods else set())
    return [method for method in methods if method not in left_out.intersection(unwritten)]


def _select_facts(
    pieces: Sequence[PiecePreview], methods: Sequence[str], n_pairs: int
) -> tuple[PreviewedFact, ...]:
    """Return the first facts of a relation."""
    triplets = pl.concat(piece.triplets for piece in pieces)
    samples = select_samples(pl.concat(piece.samples for piece in pieces), n_pairs)
    facts = []
    for (pair_id,), of_pair in samples.group_by("pair_id", maintain_order=True):
        pair = triplets.filter(pair_id=pair_id).sort("is_positive", descending=True)
        true, false = pair.iter_rows(named=True)
        texts = tuple(
            PreviewedTexts(
                method,
                _list_texts(of_pair.filter(method=method, triplet_id=true["triplet_id"])),
                _list_texts(of_pair.filter(method=method, triplet_id=false["triplet_id"])),
            )
            for method in methods
        )
        facts.append(PreviewedFact(true["head"], true["tail"], false["tail"], texts))
    return tuple(facts)


def _list_texts(samples: pl.DataFrame) -> tuple[PreviewedText, ...]:
    rows = samples.sort("sample_index").select("transformation", "sample_index", "label", "text").iter_rows()
    return tuple(PreviewedText(form or f"text {k + 1}", label, text) for form, k, label, text in rows)


def render_preview(edition: Edition, preview: EditionPreview) -> str:
    """Return the facts with their texts, and the warnings, as text for the console."""
    names = ", ".join(preview.methods)
    lines = [f"edition {preview.edition_id}, method{'s' if len(preview.methods) > 1 else ''} {names}"]
    lines += [f"{method}: {note}" for method, note in preview.unwritten.items()]
    for relation, facts in preview.facts.items():
        lines += ["", f"{relation}: {len(facts)} of {preview.n_pairs[relation]:,} facts"]
        for fact in facts:
            lines += ["", f"  {fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}"]
            lines += _render_texts(fact.texts)
    warnings = render_wording_warnings(edition, preview.doubtful_wordings)
    return "\n".join([*map(escape_line, lines), *([f"\n{warnings}"] if warnings else [])])


def _render_texts(texts: Sequence[PreviewedTexts]) -> list[str]:
    """Return a line per text; the method is a line of its own where there are several."""
    lines = []
    for of_method in texts:
        lines += [f"    method {of_method.method}"] if len(texts) > 1 else []
        lines += [_render_text(text) for text in (*of_method.of_true, *of_method.of_false)]
    return lines


def _render_text(text: PreviewedText) -> str:
    return f"    {text.transformation:<10}  {'true' if text.label else 'false':<5}  {text.text}"


def render_page(edition: Edition, preview: EditionPreview, title: str) -> str:
    """Return the same as a page that needs no script and no other file."""
    return render_template(
        "preview.html",
        title=title,
        preview=preview,
        warnings=render_wording_warnings(edition, preview.doubtful_wordings),
    )
