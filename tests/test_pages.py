"""What the pages for readers name exists: links with their anchors, paths, names in files, and settings."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from pretexeval.config.reference import render_reference
from tests.support.command import REPOSITORY

PAGES = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for folder in (".", "docs", "examples", "examples/*")
    for path in REPOSITORY.glob(f"{folder}/*.md")
)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# A path within the repository, in a page about the code. Other pages also name files of users.
PATH = re.compile(r"`([\w.-]+/(?:[\w./-]+\.(?:py|sql|toml|md|js|in|txt))?)`")
OF_CODE = ("CONTRIBUTING.md", "README.md", "docs/architecture.md")


def read(page: str) -> str:
    """Return the text of a page without its blocks of code."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_dead_links(page: str) -> Iterator[str]:
    """Yield every link within the repository that leads nowhere, or to a file without its name."""
    for label, link in LINK.findall(read(page)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (REPOSITORY / page).parent / path if path else REPOSITORY / page
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
        paths = [path for path in PATH.findall(read(page)) if path.partition("/")[0] in tops]
        assert paths
        assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_index_links_every_page_of_docs() -> None:
    pages = {path.name for path in (REPOSITORY / "docs").glob("*.md")} - {"index.md"}
    assert pages - {link for _, link in LINK.findall(read("docs/index.md"))} == set()


def test_page_of_settings_is_rendered_from_the_configuration() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == render_reference(), "docs/configuration.md is old: make docs"
