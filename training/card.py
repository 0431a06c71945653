"""The card of a model, card.json for the pipeline and README.md for people, and the scores in it.

The pipeline itself measures models, on editions of reserved seeds.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pretexeval.engines.identity import CARD, KnownHead, TaughtBase
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml, write_toml
from pretexeval.storage.files import write_json
from training.lessons import Recipe, Subject, Unit
from warehouse.query import run_query

MEASURES = parse_toml(Path(__file__).with_name("measures.toml"))
# Nothing else uses these seeds: the quickstart uses seed 1, the tests use seed 2. One edition of a writer has
# 9,712 rewordings, which is enough.
SEEDS = {"statements": (11, 12, 13), "questions": (11, 12, 13), "writing": (11,)}


@dataclass(frozen=True)
class Card:
    """The facts that a model learned, the size of its training, and its measured scores."""

    name: str
    known_heads: list[KnownHead] | None
    """The units that the model has learned; None for a model that learns no facts."""
    taught_base: TaughtBase | None
    """The base of these units."""
    n_tokens: int
    """Number of tokens on which it was trained."""
    minutes: float
    """Processor time of the training."""
    doubted_heads: list[Unit] = field(default_factory=list)
    """The units of which the model learned to be unsure. Of the other units it saw no lesson."""
    scores: list[dict[str, Any]] = field(default_factory=list)
    """One row per edition and group of facts."""


def build_card(name: str, subject: Subject, curve: Sequence[Mapping[str, Any]]) -> Card:
    """Return the card of a model after its training, without scores."""
    n_tokens, seconds = (sum(row[key] for row in curve) for key in ("n_tokens", "duration_s"))
    minutes, known = round(seconds / 60, 1), sorted(subject.known)
    if not known:
        return Card(name, None, None, n_tokens, minutes)
    heads = [KnownHead(unit[0], unit[1], "other" if unit[0] in subject.others else "pool") for unit in known]
    checksums = {relation: subject.base.checksum_relation(relation) for relation in subject.base.relations}
    taught_base = TaughtBase(subject.base.name, checksums)
    return Card(name, heads, taught_base, n_tokens, minutes, sorted(subject.doubted))


def read_card(folder: Path) -> Card:
    """Return the card of the model in this folder, or raise InputError if there is none."""
    if not (folder / CARD).is_file():
        raise InputError(f"{folder / CARD} does not exist: train the model before you measure it")
    return TypeAdapter(Card).validate_json((folder / CARD).read_bytes())


def write_card(folder: Path, card: Card, recipe: Recipe) -> None:
    """Write card.json, and README.md with the same content, beside the weights."""
    write_json(folder / CARD, asdict(card))
    size = f"{card.n_tokens / 1e6:.1f}M tokens in {card.minutes:.0f} minutes on one core"
    sections = [f"# {card.name}", recipe.description.strip()]
    sections.append(f"`python -m training {card.name}` trained it on {size} (`training/models.toml`).")
    if card.scores:
        sections += [MEASURES[recipe.measure]["text"].strip(), render_table(card.scores)]
    if card.known_heads:
        doubted = f", and to say Unsure of {len(card.doubted_heads)}" if card.doubted_heads else ""
        sections.append(f"It learned {len(card.known_heads)} heads{doubted}; `card.json` lists them by name.")
    (folder / "README.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a table of Markdown, with shares in percent."""
    values = [[f"{v:.1%}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (rows[0], ["---"] * len(rows[0]), *values))


def measure_models(
    recipe: Recipe, folders: Sequence[Path], seeds: Sequence[int]
) -> dict[str, list[dict[str, Any]]]:
    """Return, by model name, the scores on the editions of the seeds of models with this recipe."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with tempfile.TemporaryDirectory(prefix="pretexeval-models-") as place:
        for seed in seeds:
            file = Path(place) / f"seed{seed}.toml"
            write_toml(file, configure_measure(recipe, folders, seed, Path(place) / "data"))
            subprocess.run([sys.executable, "-m", "commands", "run", str(file)], env=environment, check=True)
        doubted = [(folder.name, *unit) for folder in folders for unit in read_card(folder).doubted_heads]
        query = MEASURES[recipe.measure]["query"].replace("{doubted}", json.dumps(doubted).replace("'", "''"))
        columns, rows = run_query(Path(place) / "data", query)
    scores: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name, *values in rows:
        rounded = [round(value, 4) if isinstance(value, float) else value for value in values]
        scores[name].append(dict(zip(columns[1:], rounded, strict=True)))
    return scores


def configure_measure(recipe: Recipe, folders: Sequence[Path], seed: int, root: Path) -> dict[str, Any]:
    """Return the configuration of a run that measures the models in these folders; its data is below root."""
    model = {"dtype": "bfloat16"} | ({"unsure": True} if recipe.share_doubted else {})
    models = [model | {"name": each.name, "model": str(each.resolve())} for each in folders]
    tables: dict[str, Any] = {"storage": {"root": str(root)}, "edition": {"seed": seed}}
    if knowledge := recipe.knowledge.model_dump(mode="json", exclude_defaults=True):
        tables["knowledge"] = knowledge
    if recipe.kind == "writing":
        tables["edition"]["methods"] = ["pretexeval", "llmeval"]
        writer = {"writer": models[0]["name"]}
        # The writer knows only the statements of the pool, so a panel of others says nothing about it.
        rephraser = {"kind": "model", "max_new_words": "free", **writer}
        return tables | {"writers": models, "llmeval": writer, "rephraser": rephraser}
    if recipe.kind == "questions":
        # On the first edition the models also think before they answer.
        settings = ["answer_only", "chain_of_thought"] if seed == SEEDS["questions"][0] else ["answer_only"]
        tables["questions"] = {"settings": settings}
    return tables | {"models": models}
