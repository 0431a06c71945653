"""What the pages for readers name exists: links with their anchors, paths, and names in files."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from ruamel.yaml import YAML

from tests.test_architecture import PATH, REPOSITORY, SPAN, list_names

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for folder in (".", "docs", "examples", "examples/*")
    for path in REPOSITORY.glob(f"{folder}/*.md")
)
# Pages about the code. The others also name files of users and of other projects.
OF_CODE = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"`([A-Za-z_][\w.]*)`\s+(?:\(|in\s|of\s)`([\w/]+\.py)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
HOOKS = {"ruff-check": "ruff", "ruff-format": "ruff", "mypy": "mypy"}


def read(page: str) -> str:
    """Return the text of a page without its blocks of code."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_dead_links(page: str) -> Iterator[str]:
    """Yield every link of a page within the repository that leads nowhere."""
    for link in LINK.findall(read(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (REPOSITORY / page).parent / path if path else REPOSITORY / page
        if not target.exists() or (anchor and anchor not in list_anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    assert list(find_dead_links(page)) == []


@pytest.mark.parametrize("page", OF_CODE)
def test_every_path_exists(page: str) -> None:
    spans = {span for span in SPAN.findall(read(page)) if PATH.fullmatch(span)}
    paths = {span for span in spans if not span.startswith("data/")}
    assert sorted(path for path in paths if not (REPOSITORY / path).exists()) == []


def test_every_name_in_contributing_exists_in_its_file() -> None:
    named = NAMED.findall(read("CONTRIBUTING.md"))
    assert len(named) >= 10
    assert [(name, file) for name, file in named if name not in list_names(REPOSITORY / file)] == []


@pytest.mark.parametrize(
    "page", ["docs/architecture.md", "examples/README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_readme_links_every_page_about_the_code(page: str) -> None:
    assert page in LINK.findall(read("README.md"))


def test_readme_names_the_two_commands() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^make run\b", text, re.MULTILINE)
    assert re.search(r"^make test\b", text, re.MULTILINE)


def test_pictures_of_the_readme_are_small_and_load_nothing() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    pictures = [REPOSITORY / path for path in re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    assert {path.suffix for path in pictures} == {".svg", ".webp"}
    for path in pictures:
        assert path.stat().st_size < 150_000
        if path.suffix == ".svg":
            assert "url(http" not in path.read_text(encoding="utf-8")


def test_index_links_every_page_of_docs() -> None:
    pages = {path.name for path in (REPOSITORY / "docs").glob("*.md")} - {"index.md"}
    assert pages - set(LINK.findall(read("docs/index.md"))) == set()


def test_readme_counts_the_flows() -> None:
    flows = [path.stem for path in (REPOSITORY / "flows").glob("*.py") if path.stem != "__init__"]
    assert len(flows) == 6
    assert "six flows" in read("README.md")


def test_hooks_of_pre_commit_are_local() -> None:
    """They need no network, and run the tools that `make lint` and `make types` run."""
    (repository,) = YAML(typ="safe").load(REPOSITORY / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert list(hooks) == list(HOOKS)
    for name, tool in HOOKS.items():
        assert hooks[name]["language"] == "system"
        assert hooks[name]["entry"].split()[0] == f".venv/bin/{tool}"


def test_dead_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_pages.REPOSITORY", tmp_path)
    (tmp_path / "a.md").write_text(
        "# One & two\n[a](b.md) [b](a.md#one--two) [c](#three) [d](https://x.org)\n"
    )
    assert list(find_dead_links("a.md")) == ["b.md", "#three"]
