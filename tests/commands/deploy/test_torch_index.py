"""Which index the CPU build of torch comes from: a real pip asks an index in a folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parents[3] / "requirements"
PINNED = re.findall(r"(?m)^torch==(\S+)", (REQUIREMENTS / "torch.txt").read_text(encoding="utf-8"))[0]
PYTORCH = "--index-url https://download.pytorch.org/whl/cpu"


def choose_index(**variables: str) -> "subprocess.CompletedProcess[str]":
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "TORCH_"))}
    isolated = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_INPUT": "1"}
    command = [sys.executable, str(REQUIREMENTS / "torch_index.py")]
    return subprocess.run(
        command, env=inherited | isolated | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("versions", "options"),
    [((PINNED, "2.0.0"), ""), ((PINNED.removesuffix("+cpu"),), PYTORCH), (("2.0.0+cpu",), PYTORCH)],
)
def test_the_configured_index_is_taken_if_it_offers_the_build(
    tmp_path: Path, versions: tuple[str, ...], options: str
) -> None:
    (tmp_path / "torch").mkdir()
    links = [f'<a href="torch-{version}-py3-none-any.whl">torch</a>' for version in versions]
    (tmp_path / "torch" / "index.html").write_text("\n".join(links))
    chosen = choose_index(PIP_INDEX_URL=tmp_path.as_uri())
    assert (chosen.returncode, chosen.stdout.strip()) == (0, options), chosen.stderr


def test_an_index_that_does_not_answer_ends_the_installation() -> None:
    chosen = choose_index(PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert (chosen.returncode, chosen.stdout) == (1, "")
    assert "set TORCH_INDEX" in chosen.stderr


def test_the_variable_decides_without_a_question() -> None:
    chosen = choose_index(TORCH_INDEX="http://127.0.0.1:9/cpu", PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert (chosen.returncode, chosen.stdout.strip()) == (0, "--index-url http://127.0.0.1:9/cpu")
