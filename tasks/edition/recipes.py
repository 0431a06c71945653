"""The cheap stages as steps: what a relation's file is made from, and by what code.

A file's key is the checksum of its input files, its parameters and the source of the modules that make
it, so a file is made again when one of them changes and never otherwise.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import polars as pl

import gate
from knowledge import base as knowledge_base
from primitives import hashing
from primitives.errors import InputError
from primitives.hashing import hash_json, hash_text
from schemas import transformations
from schemas.stages import ATTEMPTS, SAMPLES, STATEMENTS, TRIPLETS, VARIANTS, Stage
from storage.files import FileRef
from tasks.asking import answer_extraction, writers
from tasks.asking.writer_replies import recall_replies, recall_rounds, require_replies
from tasks.edition import attempts, candidates, circulation, llmeval, samples, statements, triplets, variants
from tasks.edition.edition import Edition

Inputs = dict[str, pl.DataFrame]
GATE = tuple(import_module(f"gate.{module.name}") for module in iter_modules(gate.__path__))


@dataclass(frozen=True)
class Recipe:
    """One stage of an edition, relation by relation."""

    stage: Stage
    inputs: tuple[Stage, ...]
    """What it is made from; attempts only where the edition has them."""
    build: Callable[[Edition, str, Inputs], pl.DataFrame]
    describe: Callable[[Edition, str], dict[str, Any]]
    """Parameters of a relation's file beside its inputs, as JSON."""
    modules: tuple[ModuleType, ...]

    def key_file(self, edition: Edition, relation: str, inputs: list[FileRef]) -> str:
        """The key of a relation's file (32 hex digits)."""
        parts = {
            "stage": self.stage.name,
            "schema": str(self.stage.schema),
            "relation": relation,
            "inputs": [ref.sha256 for ref in inputs],
            "parameters": self.describe(edition, relation),
            "source": hash_source((sys.modules[__name__], *self.modules)),
        }
        return hash_json(parts, digits=32)


@cache
def hash_source(modules: tuple[ModuleType, ...]) -> str:
    """Hash of the modules' source: whole modules, so that no helper function is missed."""
    return hash_text(*(inspect.getsource(module) for module in modules))


def _build_triplets(edition: Edition, relation: str, inputs: Inputs) -> pl.DataFrame:
    rows = edition.base.select_relation(relation)
    return triplets.sample_triplets(relation, rows, edition.sampling).frame


def _build_variants(edition: Edition, relation: str, inputs: Inputs) -> pl.DataFrame:
    instance = edition.pool.relations[relation].instance
    return variants.derive_variants(inputs[TRIPLETS.name], instance)


def _build_statements(edition: Edition, relation: str, inputs: Inputs) -> pl.DataFrame:
    prototypes = edition.pool.relations[relation]
    return statements.fill_prototypes(inputs[VARIANTS.name], inputs[TRIPLETS.name], prototypes)


def _build_attempts(edition: Edition, relation: str, inputs: Inputs) -> pl.DataFrame:
    assert edition.rephraser is not None
    rows = statements.join_entities(inputs[STATEMENTS.name], inputs[TRIPLETS.name])
    return recall_rounds(edition.root, rows, edition.rephraser)


def _build_samples(edition: Edition, relation: str, inputs: Inputs) -> pl.DataFrame:
    return pl.concat(
        _make_method(edition, method, relation, inputs) for method in edition.config.edition.methods
    )


def _make_method(edition: Edition, method: str, relation: str, inputs: Inputs) -> pl.DataFrame:
    filled, drawn = inputs[STATEMENTS.name], inputs[TRIPLETS.name]
    if method == "llmeval":
        assert edition.llmeval is not None
        replies = recall_replies(edition.root, edition.llmeval.writer)
        require_replies(edition.llmeval.ask_all(drawn), replies, edition.llmeval.writer)
        return llmeval.build_llmeval_samples(drawn, edition.llmeval, replies)
    if method != "pretexeval" or edition.config.rephraser.kind == "none":
        return samples.keep_statements(filled, method)
    if ATTEMPTS.name in inputs:
        return samples.choose_rewordings(filled, inputs[ATTEMPTS.name], edition.rephraser_name)
    prototypes = edition.pool.relations[relation]
    if bare := [name for name, cell in prototypes.cells.items() if not cell.wordings]:
        raise InputError(
            f"relation {relation!r} has no reviewed wordings for {', '.join(bare)} in pool "
            f'{edition.pool.name!r}: add some to its table, or set kind = "none" in [rephraser]'
        )
    return samples.reword_statements(filled, drawn, prototypes, edition.config.edition.seed)


def _describe_sampling(edition: Edition, relation: str) -> dict[str, Any]:
    table = edition.config.edition
    return {
        "knowledge": edition.base.checksum_relation(relation),
        "seed": table.seed,
        "negatives": table.negatives,
        "heads_per_relation": table.heads_per_relation,
    }


def _describe_instance(edition: Edition, relation: str) -> dict[str, Any]:
    return {"instance": list(edition.pool.relations[relation].instance)}


def _describe_prototypes(edition: Edition, relation: str) -> dict[str, Any]:
    cells = edition.pool.relations[relation].cells
    return {"prototypes": {name: cell.prototype for name, cell in cells.items()}}


def _describe_rephraser(edition: Edition, relation: str) -> dict[str, Any]:
    return {"rephraser": edition.describe_rephraser(), "seed": edition.config.edition.seed}


def _describe_wording(edition: Edition, relation: str) -> dict[str, Any]:
    return {
        "prototypes": edition.pool.checksum_relation(relation),
        "methods": list(edition.config.edition.methods),
        "rephraser": edition.describe_rephraser(),
        "llmeval": None if edition.llmeval is None else edition.llmeval.describe(),
        "seed": edition.config.edition.seed,
    }


RECIPES: dict[str, Recipe] = {
    step.stage.name: step
    for step in (
        Recipe(
            TRIPLETS,
            (),
            _build_triplets,
            _describe_sampling,
            (hashing, knowledge_base, candidates, circulation, triplets),
        ),
        Recipe(
            VARIANTS,
            (TRIPLETS,),
            _build_variants,
            _describe_instance,
            (hashing, transformations, variants),
        ),
        Recipe(
            STATEMENTS,
            (TRIPLETS, VARIANTS),
            _build_statements,
            _describe_prototypes,
            (hashing, statements),
        ),
        Recipe(
            ATTEMPTS,
            (TRIPLETS, STATEMENTS),
            _build_attempts,
            _describe_rephraser,
            (hashing, writers, attempts, answer_extraction, *GATE),
        ),
        Recipe(
            SAMPLES,
            (TRIPLETS, STATEMENTS, ATTEMPTS),
            _build_samples,
            _describe_wording,
            (hashing, statements, samples, llmeval),
        ),
    )
}
