"""The tutorial works: its files and commands in their order, with the output that it shows."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.chromium import start_chromium
from tests.support.command import REPOSITORY, build_environment
from tests.support.endpoint import Body, EndpointReply, reply_to_chat, serve_endpoint

PAGE = REPOSITORY / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(?P<kind>[\w ]+)\n(?P<content>.*?)^```$", re.DOTALL | re.MULTILINE)
WRITTEN = re.compile(r"(?P<action>Replace|Append to) `(?P<path>[\w./]+)`")
ADDRESS = '"http://127.0.0.1:8000/v1"'
# Answers of a model may differ between processors, and with them figures, widths of columns and rules.
VARYING = re.compile(r"\b(?:true|false)\b|-?\d+(?:\.\d+)?|-{2,}|\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A block of the page, and the text between the block before and this one."""

    kind: str
    content: str
    before: str


def list_blocks(text: str) -> Iterator[Block]:
    end = 0
    for match in BLOCK.finditer(text):
        yield Block(match["kind"], match["content"], text[end : match.start()])
        end = match.end()


def write_file(folder: Path, block: Block) -> None:
    """Write the file that the last sentence before the block names; it is replaced or grows."""
    named = list(WRITTEN.finditer(block.before))[-1]
    path = folder / named["path"]
    assert path.is_file(), path
    earlier = path.read_text(encoding="utf-8") + "\n" if named["action"] == "Append to" else ""
    path.write_text(earlier + block.content, encoding="utf-8")


def run_commands(commands: str, folder: Path, environment: Mapping[str, str]) -> tuple[str, Path]:
    """Return what the commands print, and the folder in which they end; the first error ends them."""
    end = Path(environment["END"])
    done = subprocess.run(
        ["bash", "-euc", f'{commands}\npwd > "$END"'],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, f"{commands}{done.stdout}{done.stderr}"
    return done.stdout, Path(end.read_text(encoding="utf-8").strip())


def assert_shown(shown: str, printed: str, *, is_masked: bool) -> None:
    """Compare the output with the page, where a line with … stands for any lines."""
    if is_masked:
        shown, printed = (VARYING.sub(" ", text) for text in (shown, printed))
    parts = [re.escape(part.strip("\n")) for part in re.split(r"^…$", shown.strip(), flags=re.MULTILINE)]
    assert re.fullmatch("\n.*".join(parts), printed.strip(), re.DOTALL), f"{shown}\n--\n{printed}"


def answer_chat(body: Body, _: int) -> EndpointReply:
    digest = hashlib.sha256(body["messages"][-1]["content"].encode()).digest()
    return reply_to_chat({"content": "True" if digest[0] % 2 else "False"})


def read_wrong_answer(index: Path) -> None:
    """Click as the page says, from the list of editions to a wrong answer of the first model."""
    with start_chromium() as browser:
        page = browser.new_page()
        page.goto(index.as_uri())
        page.locator("tbody th a", has_text="drugs-seed2").first.click()
        row = page.locator("#leaderboard tbody tr", has_text="reference-small").first
        heads = page.locator("#leaderboard table").first.locator("thead th").all_inner_texts()
        place = [head.replace("\n", " ") for head in heads].index("Average accuracy")
        row.locator("th, td").nth(place).get_by_role("link").click()
        page.get_by_text("160 samples; 1 to 25 shown.").wait_for()
        page.get_by_role("link", name="Wrong").click()
        page.locator(".samples a.text").first.click()
        page.locator(".detail .finding .verdict.wrong").wait_for()
        for name in ("The reply", "The prompt", "What every model said to this text"):
            assert page.get_by_role("heading", name=name).is_visible()
        assert page.get_by_role("region", name="All forms of the fact").locator("tbody tr").count() == 17
        page.get_by_role("link", name="Back to the list").click()
        page.get_by_role("button", name="as CSV").wait_for()


@pytest.fixture
def environment(tmp_path: Path, prefect_server: dict[str, str]) -> dict[str, str]:
    """An environment in which `pretexeval` is the command of this repository."""
    program = tmp_path / "bin" / "pretexeval"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cli "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join((str(program.parent), os.environ["PATH"]))
    return build_environment(prefect_server | {"PATH": path, "END": str(tmp_path / "end")})


@pytest.mark.slow
def test_commands_print_what_the_page_shows(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "models").symlink_to(REPOSITORY / "models")
    printed: str | None = None
    n_compared = 0
    with serve_endpoint(answer_chat) as endpoint:
        text = PAGE.read_text(encoding="utf-8").replace(ADDRESS, f'"{endpoint.base_url}"')
        for block in list_blocks(text):
            if block.kind == "sh":
                printed, folder = run_commands(block.content, folder, environment)
            elif block.kind in ("csv", "toml"):
                write_file(folder, block)
                printed = None
            elif printed is not None:
                assert_shown(block.content, printed, is_masked=block.kind == "text figures")
                printed = None
                n_compared += 1
        assert len(endpoint.requests) > 3 * 16
    assert n_compared >= 8
    read_wrong_answer(folder / "data" / "report" / "index.html")


def test_other_output_is_noticed() -> None:
    assert_shown("a 1\n…\nc\n", "a 1\nb\nb\nc\n", is_masked=False)
    assert_shown("a  55.0 [1, 2]  True\n", "a  5.5 [10, 20] False\n", is_masked=True)
    for printed in ("a 2\nb\nc\n", "a 1\nb\n", "a 1\nb\nc\nd\n"):
        with pytest.raises(AssertionError):
            assert_shown("a 1\n…\nc\n", printed, is_masked=False)
    with pytest.raises(AssertionError):
        assert_shown("a 55.0\n", "b 55.0\n", is_masked=True)
