"""Check the whole instrument with designed models: ``python -m benchmarks.instrument [CONFIG]``.

Builds the edition of the configuration, lets every designed model answer it, and compares each value of the
views with the one that the model's rule implies. One model answers from an HTTP endpoint, the others from
recordings. The results stay under --root; report/index.html there shows all of these models.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.designed_models import MODELS, DesignedModel, Oracle, read_oracle
from benchmarks.instrument_views import Check, check_views
from benchmarks.processes import run_python
from benchmarks.rule_endpoint import serve_rule
from engines.model_card import CARD
from primitives.toml_files import parse_toml, write_toml
from report.console import align
from storage.layout import MANIFEST, edition_folder
from warehouse.query import run_query

SERVED = next(model for model in MODELS if model.name == "consistent-coin")
# The edition's writer has answered prompts as well.
PROMPTS = f"""
    select distinct prompt from responses inner join models using (model_id)
    where models.name = '{SERVED.name}' order by prompt
"""
SHOWN = ("average accuracy", "joint accuracy", "mastery", "consistency", "share of true")
Table = dict[str, Any]


@dataclass(frozen=True)
class Proof:
    """What the views give for the designed models on one edition."""

    edition_id: str
    oracle: Oracle
    checks: list[Check]


def prove_instrument(tables: Mapping[str, Any], root: Path, label: str = "designed") -> Proof:
    """Build the edition of a configuration, let the designed models answer it, and check the views.

    Args:
        tables: the tables of a TOML file; `models` and `storage` are replaced.
        root: folder for the data, the configuration and the recordings.
        label: middle part of the edition's name.
    """
    root.mkdir(parents=True, exist_ok=True)
    edition = dict(tables.get("edition", {})) | {"label": label}
    kept = {name: table for name, table in tables.items() if name not in ("models", "storage", "edition")}
    config = root / "config.toml"
    base = kept | {"edition": edition, "storage": {"root": str(root)}}
    placeholder = {"name": SERVED.name, "engine": "openai", "model": SERVED.name}
    write_toml(config, base | {"models": [placeholder | {"base_url": "http://127.0.0.1:9/v1"}]})
    run_python(["-m", "cli", "build", str(config)], root)
    (folder,) = (root / edition_folder("")).glob(f"*-{label}-*")
    oracle = read_oracle(folder)
    with serve_rule(lambda prompt: oracle.reply(SERVED, prompt)) as base_url:
        served = placeholder | {"base_url": base_url}
        write_toml(config, base | {"models": [served]})
        run_python(["-m", "cli", "run", str(config)], root)
        prompts = [prompt for (prompt,) in run_query(root, PROMPTS)[1]]
        recorded = [_record(model, oracle, prompts, folder, root) for model in MODELS if model is not SERVED]
        write_toml(config, base | {"models": [served, *recorded]})
        run_python(["-m", "cli", "run", str(config)], root)
    return Proof(folder.name, oracle, check_views(root, folder.name, oracle))


def _record(model: DesignedModel, oracle: Oracle, prompts: Sequence[str], edition: Path, root: Path) -> Table:
    """Write what the model answers to the prompts, and its card if it has one; return its [[models]]."""
    folder = root / "recordings" / model.name
    folder.mkdir(parents=True, exist_ok=True)
    replies = [oracle.reply(model, prompt) for prompt in prompts]
    pl.DataFrame({"prompt": prompts, "response": replies}).write_parquet(folder / "answers.parquet")
    if model.taught_with:
        configuration = json.loads((edition / MANIFEST).read_bytes())["configuration"]
        heads = [{"relation": relation, "head": head} for relation, head in sorted(oracle.pairs.known)]
        base = {"name": configuration["kb"], "checksums": configuration["knowledge"]}
        (folder / CARD).write_text(json.dumps({"known_heads": heads, "taught_base": base}))
    return {"name": model.name, "engine": "recorded", "model": str(folder / "answers.parquet")}


def render_proof(proof: Proof) -> str:
    """Return the table of expected and measured values, and how many values of the views agree."""
    found = {(check.model, check.measure): check for check in proof.checks}
    rows = [
        [model.name, *(_render_check(found.get((model.name, measure))) for measure in SHOWN)]
        for model in MODELS
    ]
    wrong = [check for check in proof.checks if not check.agrees]
    lines = [
        f"{proof.edition_id}: {proof.oracle.pairs.n_pairs} pairs. Expected / measured:",
        align(["model", *SHOWN], rows),
        f"{len(proof.checks) - len(wrong)} of {len(proof.checks)} values of the views are as expected.",
        *(f"NOT: {check.model}, {check.measure}: {check.expected:.4f}, {check.measured}" for check in wrong),
    ]
    return "\n".join(lines)


def _render_check(check: Check | None) -> str:
    return "" if check is None else f"{check.expected:.1%} / {check.measured.value:.1%}"


def main() -> None:
    """Prove the instrument on the edition of a configuration, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instrument", description=__doc__)
    parser.add_argument("config", type=Path, nargs="?", help="a TOML file; by default the starter base")
    parser.add_argument("--root", type=Path, default=Path("data/designed"), help="folder for the results")
    options = parser.parse_args()
    tables = parse_toml(options.config) if options.config else {"edition": {"seed": 1}}
    proof = prove_instrument(tables, options.root.resolve())
    print(render_proof(proof))
    if any(not check.agrees for check in proof.checks):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
