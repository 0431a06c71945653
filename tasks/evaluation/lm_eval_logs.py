"""Rows of lm-eval's samples_*.jsonl, as rows of recorded responses to samples or questions."""

from collections.abc import Mapping
from typing import Any

from tasks.evaluation.inspect_logs import ID_COLUMNS


def is_lm_eval_row(row: Mapping[str, Any]) -> bool:
    """Return whether lm-eval wrote the row for a sample or a question of an exported edition."""
    doc = row.get("doc")
    return isinstance(doc, dict) and any(name in doc for name in ID_COLUMNS) and "resps" in row


def convert_lm_eval_row(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per response: several if the task was given `repeats`.

    Raises:
        ValueError: the responses are not in lists.
    """
    resps = row["resps"]
    if not isinstance(resps, list) or not resps or not isinstance(resps[0], list) or not resps[0]:
        raise ValueError(f"resps is {str(resps)[:40]!r}, not a list of lists of responses")
    name = next(name for name in ID_COLUMNS if name in row["doc"])
    row_id = row["doc"][name]
    return [{name: row_id, "repeat": n, "response": text} for n, text in enumerate(resps[0])]


def read_prompt_style(row: Mapping[str, Any]) -> str:
    """Return chat or completion: only in completion style is the prompt sent as it is in the data."""
    try:
        sent = row["arguments"]["gen_args_0"]["arg_0"]
    except (KeyError, TypeError):
        return "chat"
    return "completion" if sent == row["doc"].get("prompt") else "chat"
