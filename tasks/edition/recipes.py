"""The stages of an edition as recipes: the inputs, the function and the cache key of each file.

The key of a file depends on the checksums of its input files, on the parameters, and on the version number
that stands beside the function. When one of them changes, the file is built again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.medqa import QuestionBank
from pretexeval.knowledge.rows import REPEATED
from pretexeval.knowledge.untested import list_lost_heads
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef
from schemas.columns import Stage
from schemas.question_stages import QUESTIONS
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS
from tasks.asking.writers import read_replies
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import list_hierarchies
from tasks.edition.attempts import ATTEMPTS_VERSION, build_attempts
from tasks.edition.edition import Edition
from tasks.edition.samples import SAMPLES_VERSION, Wording, build_samples, find_wording_turns
from tasks.edition.statements import STATEMENTS_VERSION, fill_prototypes
from tasks.edition.triplets import TRIPLETS_VERSION, build_triplets
from tasks.edition.variants import VARIANTS_VERSION, derive_variants
from tasks.edition.wrong_texts import find_new_words_limit
from tasks.questions.medqa_points import MEDQA_VERSION, build_medqa_questions
from tasks.questions.questions import QUESTIONS_VERSION, build_questions

Inputs = dict[str, pl.DataFrame]
"""Stage -> its rows of one piece."""


@dataclass(frozen=True)
class Recipe:
    """Recipe of one stage of an edition, which is built piece by piece."""

    stage: Stage
    inputs: tuple[Stage, ...]
    """The stages that it is built from; attempts only if the edition has them."""
    function: Callable[..., pl.DataFrame]
    """Builds the rows."""
    version: int
    """The version of the function."""
    arguments: Callable[[Edition, Piece, Inputs], dict[str, Any]]
    """Selects the function's arguments for a piece, without computing anything."""
    describe: Callable[[Edition, str], dict[str, Any]]
    """Returns, as JSON, the parameters of a relation's files besides their inputs."""

    def build(self, edition: Edition, name: str, inputs: Inputs) -> pl.DataFrame:
        """Return the rows of the piece of that name.

        Raises:
            InputError: as the function does; the message adds which heads of the relation are not asked.
        """
        piece = edition.pieces[name]
        try:
            return self.function(**self.arguments(edition, piece, inputs))
        except InputError as error:
            lost = _describe_lost(edition.base, piece.relation)
            if not lost or self.stage is not TRIPLETS:
                raise
            raise InputError(f"{error} (left out: {'; '.join(lost)})") from error

    def key_file(self, edition: Edition, name: str, inputs: list[FileRef]) -> str:
        """Return the key of the file of the piece of that name (32 hex digits)."""
        parts = {
            "stage": self.stage.name,
            "schema": str(self.stage.schema),
            "relation": name,
            "inputs": [ref.sha256 for ref in inputs],
            "parameters": self.describe(edition, edition.pieces[name].relation),
            "version": self.version,
        }
        return hash_json(parts, digits=32)


def _describe_lost(base: KnowledgeBase, relation: str) -> list[str]:
    """Return how many heads of a relation are not asked, and how many rows are left out, by reason."""
    rows = dict[str, list[str]]()
    for item in base.left_out:
        if item.what.startswith(f"{relation}: ") and item.reason != REPEATED:
            rows.setdefault(item.reason, []).append(item.what.partition(": ")[2])
    kinds = (("head", list_lost_heads(base).get(relation, {})), ("row", rows))
    return [
        f"{count_noun(len(found), noun)} because {reason} ({found[0]})"
        for noun, reasons in kinds
        for reason, found in reasons.items()
    ]


def _select_piece(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    return {
        "piece": piece,
        "find_facts": partial(edition.find_facts, piece.relation),
        "sampling": edition.sample_relation(piece.relation),
    }


def _describe_sampling(edition: Edition, relation: str) -> dict[str, Any]:
    table = edition.config.edition
    return {
        "knowledge": edition.base.checksum_relation(relation),
        "seed": table.seed,
        "negatives": table.negatives,
        "evidence": list(table.evidence),
        "hierarchy": edition.base.checksum_hierarchy(),
        **({"shape": shape} if (shape := edition.base.shapes.get(relation)) else {}),
        **({"hierarchies": hierarchies} if (hierarchies := _describe_hierarchies(edition, relation)) else {}),
        "heads_per_relation": table.heads_per_relation,
        **edition.describe_series(),
        **({"n_anchors": edition.n_anchors[relation]} if edition.has_anchors else {}),
    }


def _describe_hierarchies(edition: Edition, relation: str) -> dict[str, list[str]]:
    base = edition.base
    others = list_hierarchies(base, relation)
    return {name: [base.shapes[name], base.checksum_relation(name)] for name in others}


def _describe_facts(edition: Edition, relation: str) -> dict[str, Any]:
    ages = {"ages": edition.base.checksum_ages(relation)} if edition.base.releases else {}
    return _describe_sampling(edition, relation) | ages


def _select_instance(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    return {"triplets": inputs[TRIPLETS.name], **_describe_instance(edition, piece.relation)}


def _describe_instance(edition: Edition, relation: str) -> dict[str, Any]:
    prototypes = edition.pool.relations[relation]
    return {"instance": prototypes.instance, "is_possibility": prototypes.is_possibility}


def _select_prototypes(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    return {
        "variants": inputs[VARIANTS.name],
        "triplets": inputs[TRIPLETS.name],
        "prototypes": edition.pool.relations[piece.relation],
    }


def _describe_prototypes(edition: Edition, relation: str) -> dict[str, Any]:
    cells = edition.pool.relations[relation].cells
    return {"prototypes": {name: cell.prototype for name, cell in cells.items()}}


def _select_rephraser(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    return {
        "statements": inputs[STATEMENTS.name],
        "triplets": inputs[TRIPLETS.name],
        "rephraser": edition.rephraser,
        "read_replies": partial(read_replies, edition.root),
    }


def _describe_rephraser(edition: Edition, relation: str) -> dict[str, Any]:
    is_limited = edition.rephraser is not None and edition.rephraser.is_limited_by_panel
    limit = {"max_new_words": find_new_words_limit(edition)} if is_limited else {}
    return {"rephraser": edition.describe_rephraser(), "seed": edition.config.edition.seed, **limit}


def _select_wording(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    table = edition.config.edition
    wording = Wording(
        methods=table.methods,
        rephraser_kind=edition.config.rephraser.kind,
        rephraser_name=edition.rephraser_name,
        pool_name=edition.pool.name,
        is_reviewed=piece.relation not in edition.as_written,
        seed=table.seed,
        llmeval=edition.llmeval,
    )
    return {
        "statements": inputs[STATEMENTS.name],
        "triplets": inputs[TRIPLETS.name],
        "attempts": inputs.get(ATTEMPTS.name),
        "prototypes": edition.pool.relations[piece.relation],
        "wording": wording,
        "read_replies": partial(read_replies, edition.root),
        "find_turns": partial(find_wording_turns, **_select_piece(edition, piece, inputs)),
    }


def _describe_wording(edition: Edition, relation: str) -> dict[str, Any]:
    origin = edition.pool.relations[relation].origin
    return {
        "prototypes": edition.pool.checksum_relation(relation),
        "methods": list(edition.config.edition.methods),
        "rephraser": edition.describe_rephraser(),
        "llmeval": None if edition.llmeval is None else edition.llmeval.describe(),
        "seed": edition.config.edition.seed,
        "is_reviewed": relation not in edition.as_written,
        **({"origin": origin} if "origin" in edition.config.edition.methods else {}),
        # The turns of the wordings depend on the facts of the relation.
        **({"series": _describe_sampling(edition, relation)} if edition.describe_series() else {}),
    }


def _select_questions(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    assert edition.wording is not None
    return _select_piece(edition, piece, inputs) | {
        "triplets": inputs[TRIPLETS.name],
        "wording": edition.wording.select_relation(piece.relation),
        "source": edition.base.name,
    }


def _describe_questions(edition: Edition, relation: str) -> dict[str, Any]:
    return _describe_sampling(edition, relation) | {
        "kb": edition.base.name,
        "wording": edition.wording and edition.wording.select_relation(relation).checksum,
    }


def _select_bank(edition: Edition, piece: Piece, inputs: Inputs) -> dict[str, Any]:
    assert isinstance(edition.base, QuestionBank)
    items, synonyms = edition.base.items, edition.base.synonyms
    return {"items": items, "synonyms": synonyms, "seed": edition.config.edition.seed}


def _describe_bank(edition: Edition, relation: str) -> dict[str, Any]:
    return {"bank": edition.base.checksum_relation(relation), "seed": edition.config.edition.seed}


def find_recipe(edition: Edition, name: str) -> Recipe:
    """Return the recipe of a stage of the edition."""
    return RECIPES[name] if edition.has_triplets else BANK_RECIPE


BANK_RECIPE = Recipe(QUESTIONS, (), build_medqa_questions, MEDQA_VERSION, _select_bank, _describe_bank)
"""Questions that are made of those of a question bank."""
RECIPES: dict[str, Recipe] = {
    recipe.stage.name: recipe
    for recipe in (
        Recipe(TRIPLETS, (), build_triplets, TRIPLETS_VERSION, _select_piece, _describe_facts),
        Recipe(
            VARIANTS, (TRIPLETS,), derive_variants, VARIANTS_VERSION, _select_instance, _describe_instance
        ),
        Recipe(
            STATEMENTS,
            (TRIPLETS, VARIANTS),
            fill_prototypes,
            STATEMENTS_VERSION,
            _select_prototypes,
            _describe_prototypes,
        ),
        Recipe(
            ATTEMPTS,
            (TRIPLETS, STATEMENTS),
            build_attempts,
            ATTEMPTS_VERSION,
            _select_rephraser,
            _describe_rephraser,
        ),
        Recipe(
            SAMPLES,
            (TRIPLETS, STATEMENTS, ATTEMPTS),
            build_samples,
            SAMPLES_VERSION,
            _select_wording,
            _describe_wording,
        ),
        Recipe(
            QUESTIONS, (TRIPLETS,), build_questions, QUESTIONS_VERSION, _select_questions, _describe_questions
        ),
    )
}
