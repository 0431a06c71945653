"""Names and texts that no file, path or encoding can hold: one message that says which, no traceback."""

import json
from pathlib import Path

import pytest

from commands.main import main

LONG = "n" * 250
STARTER = '[knowledge]\nname = "t"\nrelations = ["may_treat"]\n'
TABLE = '[knowledge]\nname = "t"\nformat = "table"\npath = "{path}"\n'
MODEL = STARTER + '[[models]]\nname = "{name}"\nmodel = "{model}"\n'


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (MODEL.format(name=LONG, model="m"), "models[0].name"),
        (MODEL.format(name="a", model="$ODD"), "the value of the variable is not text in UTF-8"),
        (TABLE.format(path="long.tsv"), "the name of relation 'rrrr"),
        (TABLE.format(path="greek.tsv"), "cannot name a file"),
        (TABLE.format(path="half.jsonl"), "a text holds half of a surrogate pair"),
        (TABLE.format(path="latin1.tsv"), "line 2: byte 0xe9 is not UTF-8"),
    ],
)
def test_one_message_names_the_place(
    config: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODD", "a\udcffb")
    rows = [(f"head {i}", f"tail {i % 6}") for i in range(14)]
    for name, relation in (("long", "r" * 250), ("greek", "ρ" * 90)):
        lines = ["head\trelation\ttail", *(f"{head}\t{relation}\t{tail}" for head, tail in rows)]
        Path(f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
    Path("latin1.tsv").write_bytes(b"head\trelation\ttail\ncaf\xe9\tr\tt\n")
    records = [json.dumps({"head": head + "\ud800", "relation": "r", "tail": tail}) for head, tail in rows]
    Path("half.jsonl").write_text("\n".join(records))
    Path("base.toml").write_text(config, encoding="utf-8")
    assert main(["validate", "base.toml"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pretexeval: ")
    assert words in said
    assert not Path("data").exists()
