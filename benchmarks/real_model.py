"""Put a pre-trained language model through the whole pipeline: ``make real-model``.

The model is asked about a bounded part of the starter base and, if PRETEXEVAL_REFERENCE_DATA names the folder
of the reference data, of MedLAMA. It rewords statements, which the gate judges. vLLM's own server then serves
it to the engine `openai`. All results stay beside the model's folder, so a second measurement asks nothing.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.medlama import VARIABLE
from benchmarks.processes import run_python
from config.file import load_config
from primitives.toml_files import write_toml
from report.console import align
from tasks.edition.planning import plan_edition
from tests.support.vllm_server import start_vllm_server
from warehouse.query import run_query

NAME = "smollm2"
SERVED = "smollm2-served"
# 21 relations of the starter base and 17 of MedLAMA make 608 prompts; the four relations are asked twice.
PAIRS_PER_RELATION = 1
SERVED_RELATIONS = ("may_treat", "symptoms", "affected_sites", "therapeutic_drugs")
REWORDED_RELATION = "may_treat"
# 128 statements, 32 of them of demonstrations.
REWORDED_HEADS = 8
# Enough heads of MedLAMA to draw from; building all of them takes longer than asking.
MEDLAMA_HEADS = 60
SHARES = ("accuracy [95 % CI]", "mastery", "says true", "no answer")
COLUMNS = ("base", "model", "pairs", "samples", *SHARES, "s", "prompts/s")
SCORES = """
select n_pairs, leaderboard.n_samples, average_accuracy, ci_low, ci_high, mastery, true_rate,
    no_answer_rate, n_asked, duration_s
from leaderboard join runs using (edition_id, model_id)
where edition_id = '{edition_id}' and model = '{model}'
"""
ACCEPTED = """
select count(*), count(*) filter (is_accepted) from attempts where edition_id = '{edition_id}'
"""
AGREEMENT = """
select count(*), count(*) filter (one.response = other.response)
from prediction_details as one join prediction_details as other using (edition_id, sample_id, scoring_policy)
where one.edition_id = '{edition_id}' and one.model = '{model}' and other.model = '{other}'
"""


@dataclass(frozen=True)
class RealModel:
    """A model folder, and the folder that gets the configurations and the results."""

    model: Path
    folder: Path

    @property
    def root(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def run(self, name: str, knowledge: Mapping[str, Any], *commands: str, **tables: Any) -> str:  # noqa: ANN401
        """Run commands of `pretexeval` with these tables, and return the edition's name.

        Args:
            name: of the configuration's file.
        """
        path = self.folder / f"{name}.toml"
        write_toml(path, {"knowledge": knowledge, **tables, "storage": {"root": str(self.root.absolute())}})
        edition_id = plan_edition(load_config(path)).edition_id
        for command in commands:
            run_python(["-m", "cli", command, str(path)], self.folder)
        return edition_id

    def query(self, query: str, **names: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query to the warehouse."""
        _, rows = run_query(self.root, query.format(**names))
        return rows

    @property
    def offline(self) -> dict[str, Any]:
        """The table of the model in vLLM in process, as a model and as a writer."""
        path = str(self.model.absolute())
        return {"name": NAME, "model": path, "dtype": "bfloat16", "max_model_len": 2048}

    def evaluate(self, name: str, knowledge: Mapping[str, Any], **tables: Any) -> list[str]:  # noqa: ANN401
        """Ask the model about a part of a base, and return the row of its scores."""
        models = [self.offline | {"pairs_per_relation": PAIRS_PER_RELATION}]
        edition_id = self.run(name, knowledge, "run", models=models, **tables)
        return self.read_scores(name, edition_id, NAME)

    def read_scores(self, name: str, edition_id: str, model: str) -> list[str]:
        """Return the row of a model's scores."""
        (scores,) = self.query(SCORES, edition_id=edition_id, model=model)
        n_pairs, n_samples, accuracy, low, high, *rates, n_asked, duration_s = scores
        shares = [f"{accuracy:.1%} [{low:.1%}, {high:.1%}]", *(f"{rate:.1%}" for rate in rates)]
        speed = f"{n_asked / duration_s:.2f}" if n_asked else "-"
        return [name, model, str(n_pairs), str(n_samples), *shares, f"{duration_s:.0f}", speed]

    def reword(self, max_new_words: int | None, n_heads: int = REWORDED_HEADS) -> str:
        """Let the model reword statements once each, and return which share the gate accepts.

        Another limit of new words needs no other rewordings, so the model is asked only once.
        """
        limit = {} if max_new_words is None else {"max_new_words": max_new_words}
        edition_id = self.run(
            "rewording" if max_new_words is None else f"rewording-{max_new_words}",
            {"format": "starter", "name": "starter", "relations": [REWORDED_RELATION]},
            *("build", "publish"),
            edition={"heads_per_relation": n_heads},
            rephraser={"kind": "model", "writer": NAME, "max_attempts": 1, **limit},
            writers=[self.offline],
        )
        ((n_attempts, n_accepted),) = self.query(ACCEPTED, edition_id=edition_id)
        allowed = "any number of" if max_new_words is None else f"at most {max_new_words}"
        share = f"{n_accepted} of {n_attempts} rewordings ({n_accepted / n_attempts:.1%})"
        return f"accepted by the gate with {allowed} new words: {share}"

    def serve(self, relations: Sequence[str] = SERVED_RELATIONS) -> tuple[list[str], str]:
        """Ask the served model what the model in process was asked; return its scores and the agreement."""
        knowledge = {"format": "starter", "name": "starter", "relations": list(relations)}
        bounded = {"pairs_per_relation": PAIRS_PER_RELATION}
        with start_vllm_server(self.model, self.folder / "server.log") as server:
            server.wait()
            served = {"name": SERVED, "engine": "openai", "model": "tiny", "base_url": server.base_url}
            models = [self.offline | bounded, served | bounded]
            edition_id = self.run("served", knowledge, "run", models=models)
        names = {"edition_id": edition_id, "model": NAME, "other": SERVED}
        ((n_samples, n_equal),) = self.query(AGREEMENT, **names)
        row = self.read_scores(f"{len(relations)} relations, served", edition_id, SERVED)
        return row, f"{n_equal} of {n_samples} answers of the served model are those of the model in process"


def measure(model: RealModel) -> str:
    """Return the table of scores and the sentences about rewordings and the served model."""
    rows = [model.evaluate("starter", {"format": "starter", "name": "starter"})]
    lines = []
    if data := os.environ.get(VARIABLE):
        knowledge = {"format": "medlama", "name": "medlama", "path": f"{data}/medlama.parquet"}
        rows.append(model.evaluate("medlama", knowledge, edition={"heads_per_relation": MEDLAMA_HEADS}))
    else:
        lines.append(f"MedLAMA: not measured, because {VARIABLE} does not name the reference data")
    lines += [model.reword(None), model.reword(0)]
    row, agreement = model.serve()
    return "\n".join([align(COLUMNS, [*rows, row]), *lines, agreement])


def main() -> None:
    """Measure the model in the folder that is given, and print the figures of docs/performance.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_model", description=__doc__)
    parser.add_argument("model", type=Path, help="the model's folder")
    model: Path = parser.parse_args().model
    os.environ.setdefault("PYTHONPATH", str(Path.cwd()))
    print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}", flush=True)
    print(measure(RealModel(model, model.parent)))


if __name__ == "__main__":
    main()
