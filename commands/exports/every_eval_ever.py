"""The results of an edition in the format of every-eval-ever 0.3.0: scores and records of every model.

A file has one row of the view leaderboard. A required field whose value nobody recorded says "unknown".
"""

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from report.columns import TABLES
from warehouse.query import read_rows

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"
METADATA = ("relation", "transformation", "pair_id", "triplet_id", "head", "tail", "is_positive", "weight")
METRICS = [column for column in TABLES["leaderboard"] if column.of]
SCORES = """
select leaderboard.*, engine, identity, finished_at, served, prompt_style, sampling, n_demonstrations,
    n_not_needed
from leaderboard
inner join models using (model_id)
left join runs
    on runs.edition_id = leaderboard.edition_id and runs.model_id = leaderboard.model_id
    and setting is null and period is null
where leaderboard.edition_id = '{edition_id}'
order by leaderboard.model_id, method, scoring_policy, repeat
"""
# A sample that failed or that the policy excludes has no score, and the format has no record without one.
RECORDS = """
select details.*, responses.prompt, wrong_probability
from prediction_details as details
left join label_audit using (edition_id, triplet_id)
left join responses
    on details.model_id = responses.model_id and details.prompt_key = responses.prompt_key
    and details.repeat = responses.repeat
where details.edition_id = '{edition_id}' and details.model_id = '{model_id}' and method = '{method}'
    and scoring_policy = '{scoring_policy}' and details.repeat = {repeat} and is_correct is not null
order by relation, pair_id, sample_id
"""


def write_results(folder: Path, root: Path, manifest: Mapping[str, Any]) -> None:
    """Write two files per row of leaderboard: its scores as JSON, and its records as JSON lines.

    Raises:
        InputError: there is no warehouse, or it has no scores of samples of this edition.
    """
    edition_id = manifest["edition_id"]
    rows = read_rows(root, SCORES.format(edition_id=edition_id))
    if not rows:
        raise InputError(f"{edition_id} has no scores of samples in the warehouse; evaluate a model first")
    for row in rows:
        model_id = row["model_id"]
        run = "/".join(str(row[name]) for name in ("edition_id", "method", "scoring_policy", "repeat"))
        finished_at = row["finished_at"]
        seconds = UNKNOWN if finished_at is None else str(int(finished_at.replace(tzinfo=UTC).timestamp()))
        evaluation_id = f"{run}/{model_id}/{seconds}"
        # Version 4 is what the format asks for; derived bytes give the same names to the same results.
        name = str(uuid.UUID(bytes=hashlib.sha256(evaluation_id.encode()).digest()[:16], version=4))
        path = folder / "data" / edition_id / UNKNOWN / model_id / f"{name}_samples.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        n_records = 0
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for record in _build_records(root, row, evaluation_id):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                n_records += 1
        log = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            **({} if seconds == UNKNOWN else {"evaluation_timestamp": seconds}),
            "retrieved_timestamp": seconds,
            "source_metadata": {
                "source_name": "pretexeval",
                "source_type": "evaluation_run",
                "source_organization_name": UNKNOWN,
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "pretexeval", "version": UNKNOWN},
            "model_info": _describe_model(row),
            "evaluation_results": list(_build_results(row, manifest)),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": path.relative_to(folder).as_posix(),
                "hash_algorithm": "sha256",
                "checksum": checksum_file(path),
                "total_rows": n_records,
            },
        }
        text = json.dumps(log, indent=2, ensure_ascii=False)
        path.with_name(f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _describe_model(row: Mapping[str, Any]) -> dict[str, Any]:
    deployment = "self_deployed" if row["engine"] == "vllm" else UNKNOWN
    details = {"deployment_type": deployment, "model_availability": UNKNOWN, "identity": row["identity"]}
    if row["served"]:
        details["served"] = "; ".join(row["served"])
    engine = {} if row["engine"] is None else {"inference_engine": {"name": row["engine"]}}
    return {
        "name": row["model"],
        "id": row["model_id"],
        "developer": UNKNOWN,
        **engine,
        "additional_details": {key: value for key, value in details.items() if value is not None},
    }


def _build_results(row: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = ("kb", "label", "seed", "negatives", "rephraser")
    known = {name: str(manifest[name]) for name in names if manifest.get(name) is not None}
    source = {"dataset_name": row["edition_id"], "source_type": "other", "additional_details": known}
    sampling = json.loads(row["sampling"] or "{}")
    sent = {name: sampling[name] for name in ("temperature", "top_p", "max_tokens") if name in sampling}
    rest = {name: value for name, value in sampling.items() if name not in sent}
    rest |= {name: row[name] for name in ("prompt_style", "n_demonstrations")}
    rest |= {"n_not_needed": row["n_not_needed"]} if row["n_not_needed"] else {}
    settings = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in rest.items()
        if value is not None
    }
    for column in METRICS:
        name = column.name
        if row[name] is None:
            continue
        limits = {"lower": row[f"{name}_ci_low"], "upper": row[f"{name}_ci_high"]}
        yield {
            "evaluation_result_id": name,
            "evaluation_name": f"{row['edition_id']} {row['method']} {name}",
            "source_data": source,
            "metric_config": {
                "evaluation_description": f"Share of the {column.of}, policy {row['scoring_policy']}",
                "metric_id": f"pretexeval.{name}",
                "metric_name": name.replace("_", " "),
                "metric_unit": "proportion",
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": 1,
            },
            "score_details": {
                "score": row[name],
                "uncertainty": {
                    "num_samples": row[column.n],
                    "confidence_interval": {**limits, "confidence_level": 0.95},
                },
            },
            "generation_config": {"generation_args": sent, "additional_details": settings},
        }


def _build_records(root: Path, row: Mapping[str, Any], evaluation_id: str) -> Iterator[dict[str, Any]]:
    for record in read_rows(root, RECORDS.format_map(row)):
        answer = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": str(record["prediction"]),
            "extraction_method": "rules",
            "is_terminal": True,
        }
        thought = {} if record["reasoning"] is None else {"reasoning_trace": [record["reasoning"]]}
        asked = {} if record["prompt"] is None else {"formatted": record["prompt"]}
        names = [*METADATA, *(["wrong_probability"] if record["wrong_probability"] is not None else [])]
        yield {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            "model_id": row["model_id"],
            "evaluation_name": f"{row['edition_id']} {row['method']} average_accuracy",
            "evaluation_result_id": "average_accuracy",
            "sample_id": record["sample_id"],
            "interaction_type": "single_turn",
            "input": {"raw": record["text"], **asked, "reference": [str(record["label"])]},
            "output": {"raw": [] if record["response"] is None else [record["response"]], **thought},
            "answer_attribution": [] if record["prediction"] is None else [answer],
            "evaluation": {"score": float(record["is_correct"]), "is_correct": record["is_correct"]},
            "metadata": {name: record[name] for name in names},
        }
