"""What the pages for readers name exists, and their commands work and print what the tutorial shows."""

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from commands.main import build_parser
from commands.results import list_pooled_editions
from pretexeval.config.reference import render_reference
from tests.support.command import REPOSITORY, Outcome, read_record, run_command
from tests.support.data_folder import DataFolder
from tests.support.endpoint import Body, EndpointReply, reply_to_chat, serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.quickstart import CONFIG, LIMIT, Quickstart
from tests.support.simulated_host import write_program
from warehouse.catalogue import VIEW_GROUPS
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

PAGES = sorted(
    path for pattern in ("*.md", "docs/*.md", "examples/**/*.md") for path in REPOSITORY.glob(pattern)
)
TUTORIAL = REPOSITORY / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(?P<kind>[\w ]+)\n(?P<content>.*?)^```$", re.DOTALL | re.MULTILINE)
# A call in a container or in a step of CI.
CALL = re.compile(r"^(docker compose exec \S+|\s*- run:) pretexeval ", re.MULTILINE)
QUERY = re.compile(r'`(pretexeval sql "from [a-z][^`]*)`')
WRITTEN = re.compile(r"(?P<action>Replace|Append to) `(?P<path>[\w./]+)`")
ADDRESS = '"http://127.0.0.1:8000/v1"'
# Answers of a model may differ between processors, and with them figures, widths of columns and rules.
VARYING = re.compile(r"\b(?:true|false)\b|-?\d+(?:\.\d+)?|-{2,}|\s+", re.IGNORECASE)
SAMPLES_OF_A_PAIR = 16
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# A path within the repository, in a page about the code. Other pages also name files of users.
PATH = re.compile(r"`([\w.-]+/(?:[\w./-]+\.(?:py|sql|toml|md|js|in|txt))?)`")
OF_CODE = ("CONTRIBUTING.md", "README.md", "docs/architecture.md")


@dataclass(frozen=True)
class Block:
    """A block of a page, and the text between the block before and this one."""

    kind: str
    content: str
    before: str


def list_blocks(text: str) -> Iterator[Block]:
    end = 0
    for match in BLOCK.finditer(text):
        yield Block(match["kind"], match["content"], text[end : match.start()])
        end = match.end()


def split_commands(block: str) -> Iterator[str]:
    """Yield the commands of a block, of which one may have several lines."""
    command = ""
    for line in block.splitlines():
        command += line + "\n"
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            continue
        if not line.endswith("\\"):
            yield from [command.strip()] if words else []
            command = ""


def list_documented(*pages: Path) -> list[list[str]]:
    """Return the words of every documented call of `pretexeval`, those of queries in sentences included."""
    found = []
    for text in (path.read_text(encoding="utf-8") for path in pages or PAGES):
        blocks = [block.content for block in list_blocks(text) if block.kind in ("sh", "yaml")]
        commands = [command for block in blocks for command in split_commands(CALL.sub("pretexeval ", block))]
        for command in [*commands, *QUERY.findall(text)]:
            words = shlex.split(command.replace("\\\n", " "), comments=True)
            found += [words[1:]] if words[0] == "pretexeval" else []
    return found


def list_queries() -> list[str]:
    """Return every query of the pages that is a block of its own."""
    blocks = [block for page in PAGES for block in list_blocks(page.read_text(encoding="utf-8"))]
    queries = [sql for block in blocks if block.kind == "sql" for sql in re.split(r";\s*\n", block.content)]
    return [sql for sql in queries if sql.strip()]


def read(page: Path) -> str:
    """Return the text of a page without its blocks of code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_dead_links(page: Path) -> Iterator[str]:
    """Yield every link within the repository that leads nowhere, or to a file without its name."""
    for label, link in LINK.findall(read(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = page.parent / path if path else page
        name = label.strip("`").rpartition(".")[2] if label.startswith("`") and "/" not in label else ""
        if not target.exists() or (anchor and anchor not in list_anchors(target)):
            yield link
        elif target.suffix == ".py" and name not in target.read_text(encoding="utf-8"):
            yield f"{label} in {link}"


def test_every_link_leads_somewhere() -> None:
    dead = {page: list(find_dead_links(page)) for page in PAGES}
    assert {page: links for page, links in dead.items() if links} == {}


def test_every_path_exists() -> None:
    tops = {path.name for path in REPOSITORY.iterdir()} - {"data"}
    for page in OF_CODE:
        paths = [path for path in PATH.findall(read(REPOSITORY / page)) if path.partition("/")[0] in tops]
        assert paths
        assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_index_links_every_page_of_docs() -> None:
    pages = {path.name for path in (REPOSITORY / "docs").glob("*.md")} - {"index.md"}
    assert pages - {link for _, link in LINK.findall(read(REPOSITORY / "docs" / "index.md"))} == set()


def test_page_of_settings_is_rendered_from_the_configuration() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == render_reference(), "docs/configuration.md is old: make docs"


# What `make run` runs, but on few pairs. A chain of thought, as in the last one, takes longest.
LIMITS = {
    CONFIG: LIMIT,
    "configs/comparison.toml": (*LIMIT, "--model", "reference-large"),
    "configs/facets.toml": ("--limit", "1", "--model", "reference-facets-large"),
}


def test_the_job_of_slurm_starts_a_worker_with_the_address_of_the_server(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
    (script,) = (block.content for block in list_blocks(text) if "#SBATCH" in block.content)
    options = re.findall(r"^#SBATCH (.*)$", script, re.MULTILINE)
    assert re.search(r"--array=0-63\b", options[0])
    (tmp_path / "data" / "prefect").mkdir(parents=True)
    (tmp_path / "data" / "prefect" / "client.env").write_text(
        "export PREFECT_API_URL=http://first-host/api\n"
    )
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    said = 'echo "$*" $PREFECT_API_URL $PREFECT_WORKER_QUERY_SECONDS'
    write_program(tmp_path / ".venv" / "bin" / "python", said)
    done = subprocess.run(
        ["bash", "-eu"], input=script, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["-m", "commands.deploy.gpu_worker", "http://first-host/api", "10"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, quickstart: Quickstart) -> Path:
    """A folder that looks like the root of the repository, with the results of the quickstart."""
    return quickstart.copy(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def after_make_run(checkout: Path, quickstart: Quickstart, prefect_server: dict[str, str]) -> str:
    """The edition of the quickstart, after all that `make run` runs."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert LIMITS.keys() == set(re.findall(r"^CONFIG \?= (.*)$", makefile, re.MULTILINE)[0].split())
    for config, limit in LIMITS.items():
        if config != CONFIG:
            run_command("run", config, *limit, folder=checkout, environment=prefect_server).require()
    return quickstart.edition_id


def test_every_documented_command_is_one_and_every_query_names_columns_of_views(tmp_path: Path) -> None:
    calls = list_documented()
    assert len(calls) > 30
    parser = build_parser()
    for words in calls:
        parser.parse_args(words)
    queries = list_queries()
    queries += [words[1] for words in calls if words[0] == "sql" and " " in "".join(words[1:2])]
    assert len(queries) > 20
    data = DataFolder(tmp_path)
    data.add_pairs("symptoms", 6)
    for edition_id in ("tiny-seed1-00000001", "tiny-seed2-00000002"):
        data.write_edition(edition_id)
    build_warehouse(tmp_path)
    for sql in queries:
        columns = run_query(tmp_path, sql)[0]
        assert "edition_id" in columns or list_pooled_editions(tmp_path, sql) == [], sql


# A documented call with one of these words is run by other tests, is the reader's own, or needs MedLAMA or
# the designed models of `python -m benchmarks`.
RUN_ELSEWHERE = {"run", "deploy", "backfill", "withdraw", "import", "import-responses"}
RUN_ELSEWHERE |= {"publish", "configs/mine.toml", "configs/paper.toml", "designed", "baseline"}
# The commands of these pages are run by tests of their own.
README = REPOSITORY / "README.md"
RUN_BY_PAGE = (README, TUTORIAL, *REPOSITORY.glob("examples/*/README.md"))


def run_documented(pages: Iterable[Path], folder: Path, edition_id: str) -> set[str]:
    """Run the calls of the pages on the edition, and return the subcommands that were run."""
    calls = [words for words in list_documented(*pages) if not RUN_ELSEWHERE & set(words)]
    for k, words in enumerate(calls):
        places = {"EDITION": edition_id, "FOLDER": f"exported-{k}"}
        outcome = run_command(*(places.get(word, word) for word in words), folder=folder)
        # The README compares a large model with a small one, which is worse where enough pairs are asked.
        assert outcome.status <= (words[0] == "compare"), f"{words}\n{outcome.err}"
        assert outcome.out or "--output" in words, words
    return {words[0] for words in calls}


@pytest.mark.slow
def test_commands_of_the_readme_run_on_the_quickstart(checkout: Path, quickstart: Quickstart) -> None:
    run = run_documented([README], checkout, quickstart.edition_id)
    assert run == {"sql", "compare", "export", "plan", "doctor"}


@pytest.mark.long
def test_documented_commands_run_after_make_run(checkout: Path, after_make_run: str) -> None:
    run = run_documented((page for page in PAGES if page not in RUN_BY_PAGE), checkout, after_make_run)
    assert run == {"sql", "export", "review"}


NEEDS_PAIRS = re.compile(r"_ci_(low|high)$|p_value$")


@pytest.mark.long
def test_what_make_run_leaves_empty_is_listed_with_what_fills_it(checkout: Path, after_make_run: str) -> None:
    page = (REPOSITORY / "docs" / "analysis.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page.partition("## Which views are empty")[2], re.MULTILINE)
    empty = set()
    for view in (name for names in VIEW_GROUPS.values() for name in names):
        columns, rows = run_query(checkout / "data", f"from {view}")
        unset = {f"{view}.{name}" for k, name in enumerate(columns) if all(row[k] is None for row in rows)}
        empty |= unset if rows else {view}
    # The few pairs of LIMITS have no interval and no test of a difference.
    empty = {name for name in empty if not NEEDS_PAIRS.search(name)}
    assert empty == {name for cell in cells for name in re.findall(r"`(.+?)`", cell)}


@pytest.mark.long
def test_own_base_is_built_evaluated_published_and_analysed(
    checkout: Path, prefect_server: dict[str, str]
) -> None:
    run_page(REPOSITORY / "examples/own_base/README.md", checkout, prefect_server)
    root = checkout / "data" / "examples" / "own_base"
    record = read_record(root, "reference-small")
    n_pairs = 18
    assert record["n_samples"] == record["n_asked"] == n_pairs * SAMPLES_OF_A_PAIR
    _, rows = run_query(root, "select relation, n_pairs, mastery from accuracy_by_relation")
    assert rows == [("has_antidote", n_pairs, 0.0)]
    environment = os.environ | {"WAREHOUSE": str(root / "warehouse.duckdb")}
    command = [sys.executable, "examples/analysis.py"]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    _, [(n_missed,)] = run_query(
        root, "select count(*) from pair_details where is_complete and not is_mastered"
    )
    assert f"\n{n_missed} facts missed\n" in done.stdout


@pytest.mark.long
def test_example_of_an_endpoint_asks_every_sample(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    path = Path("examples/openai_endpoint/config.toml")
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    address = tomllib.loads(text)["models"][0]["base_url"]
    (tmp_path / path).parent.mkdir(parents=True)
    with serve_endpoint(answer_by_checksum) as endpoint:
        (tmp_path / path).write_text(text.replace(f'"{address}"', f'"{endpoint.base_url}"'))
        run_page(REPOSITORY / path.with_name("README.md"), tmp_path, prefect_server)
        record = read_record(tmp_path / "data" / "examples" / "openai_endpoint", "my-endpoint")
        assert record["n_samples"] == 2 * 5 * SAMPLES_OF_A_PAIR
        # The doctor asks one prompt.
        assert len(endpoint.requests) == record["n_asked"] + 1


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> None:
    """Run the commands of a page one after the other."""
    for words in list_documented(page):
        run_command(*words, folder=folder, environment=environment).require()


def write_file(folder: Path, block: Block) -> None:
    """Write the file that the last sentence before the block names; it is replaced or grows."""
    named = list(WRITTEN.finditer(block.before))[-1]
    path = folder / named["path"]
    earlier = path.read_text(encoding="utf-8") + "\n" if named["action"] == "Append to" else ""
    path.write_text(earlier + block.content, encoding="utf-8")


def assert_shown(shown: str, printed: str, *, is_masked: bool) -> None:
    """Compare the output with the page, where a line with … stands for any lines."""
    parts = [part.strip("\n") for part in re.split(r"^…$", shown.strip(), flags=re.MULTILINE)]
    if is_masked:
        parts = [VARYING.sub(" ", part).strip() for part in parts]
        printed = VARYING.sub(" ", printed)
    pattern = r"\s.*".join(map(re.escape, parts))
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"{shown}\n--\n{printed}"


def answer_chat(body: Body, _: int) -> EndpointReply:
    digest = hashlib.sha256(body["messages"][-1]["content"].encode()).digest()
    return reply_to_chat({"content": "True" if digest[0] % 2 else "False"})


class Shell:
    """A shell that knows `cd`; it calls `pretexeval` in this process."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment

    def run(self, command: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] == "cd":
            self.folder /= words[1]
            return ""
        if words[0] == "pretexeval":
            done: Outcome = run_command(*words[1:], folder=self.folder, environment=self.environment)
            return done.require().out
        bash = ["bash", "-euc", command]
        return subprocess.run(bash, cwd=self.folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_tutorial_prints_what_it_shows(
    tmp_path: Path, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A worker of pytest-xdist has the width of a terminal.
    monkeypatch.delenv("COLUMNS", raising=False)
    shell = Shell(tmp_path, prefect_server)
    for name in ("examples", "models"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    printed: str | None = None
    n_compared = 0
    with serve_endpoint(answer_chat) as endpoint:
        text = TUTORIAL.read_text(encoding="utf-8").replace(ADDRESS, f'"{endpoint.base_url}"')
        for block in list_blocks(text):
            if block.kind == "sh":
                printed = "".join(shell.run(command) for command in split_commands(block.content))
            elif block.kind in ("csv", "toml"):
                write_file(shell.folder, block)
                printed = None
            elif printed is not None:
                assert_shown(block.content, printed, is_masked=block.kind == "text figures")
                printed = None
                n_compared += 1
        assert len(endpoint.requests) > 3 * SAMPLES_OF_A_PAIR
    assert n_compared >= 6
    assert (shell.folder / "data" / "report" / "index.html").is_file()
