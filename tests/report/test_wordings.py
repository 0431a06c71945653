"""What the page calls the rephraser: "reviewed" only if the wordings were."""

import json

import pytest

from report.wordings import is_gate_off, name_rephraser


@pytest.mark.parametrize(
    ("pool", "configuration", "expected"),
    [
        ("revised", {"prototypes": {"may_treat": "0"}}, "reviewed"),
        ("own", {"prototypes": {"a": "1", "b": "2"}, "as_written": ["a", "b"]}, "as written"),
        ("own", {"prototypes": {"a": "1", "b": "2"}, "as_written": ["b"]}, "as written in 1 relations of 2"),
    ],
)
def test_only_reviewed_wordings_are_called_reviewed(
    pool: str, configuration: dict[str, object], expected: str
) -> None:
    row = {"pool": pool, "rephraser": "reviewed", "configuration": json.dumps(configuration)}
    assert name_rephraser(row) == expected


@pytest.mark.parametrize("rephraser", ["none", "writer-0123abcd", None])
def test_other_rephrasers_keep_their_name(rephraser: str | None) -> None:
    assert name_rephraser({"pool": "own", "rephraser": rephraser, "configuration": None}) == rephraser


@pytest.mark.parametrize(("gate", "expected"), [("off", True), (2, False)])
def test_only_editions_without_the_gate_are_said_to_lack_it(gate: object, expected: bool) -> None:
    configuration = json.dumps({"rephraser": {"kind": "model", "gate": gate}})
    assert is_gate_off({"configuration": configuration}) is expected
    assert not is_gate_off({"configuration": None})
