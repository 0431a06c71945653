"""Show the texts of a few facts per relation before any model is asked, as text or as a page."""

from dataclasses import dataclass

import polars as pl

from config.file import Config
from preflight.wording_checks import DoubtfulWording, find_doubtful_wordings, render_wording_warnings
from primitives.errors import InputError
from primitives.untrusted_text import escape_line
from report.page_templates import render_template
from tasks.edition.buildable import require_buildable
from tasks.edition.edition import Edition, plan_edition
from tasks.edition.preview import RelationPreview, preview_relations
from tasks.evaluation.requests import select_samples

UNWRITTEN = "a language model has yet to reword these texts; the statements are shown"


@dataclass(frozen=True)
class PreviewedText:
    """One text to verify."""

    transformation: str
    """The form; `text N` for the N-th text of llmeval."""
    label: bool
    text: str


@dataclass(frozen=True)
class PreviewedFact:
    """A fact and its false twin with all their texts."""

    head: str
    true_tail: str
    false_tail: str
    texts_of_true: tuple[PreviewedText, ...]
    texts_of_false: tuple[PreviewedText, ...]


@dataclass(frozen=True)
class EditionPreview:
    """A few facts of every relation of an edition."""

    edition_id: str
    method: str
    facts: dict[str, tuple[PreviewedFact, ...]]
    """Relation -> the first facts that a model is asked about."""
    n_pairs: dict[str, int]
    """Relation -> the number of its tested facts."""
    is_unwritten: bool
    """Whether a language model has yet to write the texts."""
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
    method = config.edition.methods[0]
    relations = list(preview_relations(edition))
    return edition, EditionPreview(
        edition.edition_id,
        method,
        {each.relation: _select_facts(each, method, n_pairs) for each in relations},
        {each.relation: each.triplets.filter(split="test")["pair_id"].n_unique() for each in relations},
        any(method in each.unwritten_methods for each in relations),
        tuple(find_doubtful_wordings(edition)),
    )


def _select_facts(relation: RelationPreview, method: str, n_pairs: int) -> tuple[PreviewedFact, ...]:
    samples = select_samples(relation.samples.filter(method=method), n_pairs)
    facts = []
    for (pair_id,), texts in samples.group_by("pair_id", maintain_order=True):
        pair = relation.triplets.filter(pair_id=pair_id).sort("is_positive", descending=True)
        true, false = pair.iter_rows(named=True)
        facts.append(
            PreviewedFact(
                true["head"],
                true["tail"],
                false["tail"],
                _list_texts(texts.filter(triplet_id=true["triplet_id"])),
                _list_texts(texts.filter(triplet_id=false["triplet_id"])),
            )
        )
    return tuple(facts)


def _list_texts(samples: pl.DataFrame) -> tuple[PreviewedText, ...]:
    rows = samples.sort("sample_index").select("transformation", "sample_index", "label", "text").iter_rows()
    return tuple(PreviewedText(form or f"text {k + 1}", label, text) for form, k, label, text in rows)


def render_preview(edition: Edition, preview: EditionPreview) -> str:
    """Return the facts with their texts, and the warnings, as text for the console."""
    lines = [f"edition {preview.edition_id}, method {preview.method}"]
    lines += [UNWRITTEN] if preview.is_unwritten else []
    for relation, facts in preview.facts.items():
        lines += ["", f"{relation}: {len(facts)} of {preview.n_pairs[relation]:,} facts"]
        for fact in facts:
            lines += ["", f"  {fact.head} | true: {fact.true_tail} | false twin: {fact.false_tail}"]
            lines += [_render_text(text) for text in (*fact.texts_of_true, *fact.texts_of_false)]
    warnings = render_wording_warnings(edition, preview.doubtful_wordings)
    return "\n".join([*map(escape_line, lines), *([f"\n{warnings}"] if warnings else [])])


def _render_text(text: PreviewedText) -> str:
    return f"    {text.transformation:<10}  {'true' if text.label else 'false':<5}  {text.text}"


def render_page(edition: Edition, preview: EditionPreview, title: str) -> str:
    """Return the same as a page that needs no script and no other file."""
    return render_template(
        "preview.html",
        title=title,
        preview=preview,
        warnings=render_wording_warnings(edition, preview.doubtful_wordings),
        unwritten=UNWRITTEN,
    )
