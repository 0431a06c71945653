"""Debian's Chromium (ci/apt.txt), driven by Playwright, and a published root with hostile names and texts."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from commands.deploy.pages import Results
from report.page import write_pages
from tests.report.conftest import attempt, name_model
from tests.support import question_folder
from tests.support.data_folder import DataFolder, erratic, expert, polarity
from tests.support.question_folder import Point, QuestionFolder
from tests.support.stage_rows import Row, digest
from tests.support.web_server import serve_app
from warehouse.publishing import build_warehouse

EDITION = "hostile-seed1-00000005"
MODEL_NAME = "</script><img src=x onerror=alert(1)>"
HEAD = "=cmd|'/C calc'!A0 \u202eevil\u202c <svg onload=alert(2)>"
AGES = {HEAD: "new", "Scabies": "2021 <b>"} | {f"Disease {k}": ("new", "2021 <b>")[k % 2] for k in range(7)}
"""Head -> the oldest release with its true fact; that of Disease 7 is not known."""
ANSWERS = (
    "</script><script>alert(3)</script>",
    "<!-- <script>\u2028\u2029 \x00\x01\x1b[31m \ufffe ' \" \\ `${alert(4)}`",
    "javascript:alert(5) \u202e\u2066 RTL",
    "True " + "x" * 1_000_000,
)


def fail_once(sample: Row) -> str | None:
    return "HTTP 500 <b>" if sample["head"] == "Disease 7" and sample["transformation"] == "dn" else None


def know_some(sample: Row) -> bool | None:
    knows = sample["head"] in (HEAD, "Disease 1", "Disease 2")
    rule = expert if knows else polarity
    return rule(sample) if sample["head"] != "Disease 4" else erratic(sample)


def know_some_questions(question: Row, repeat: int) -> str | None:
    is_easy = question["head"] in ("Disease 1", "Disease 5") or not question["is_negated"]
    rule = question_folder.always_right if is_easy else question_folder.erratic
    return rule(question, repeat)


def weigh_by_chance(sample: Row) -> tuple[float | None, float | None]:
    """Return log-probabilities with p(true) anywhere from 0 to 1, and none for some samples."""
    draw = int(digest("weight", sample["text"]), 16) % 100
    return (None, None) if draw < 5 else (-1.0, -1.0 - (draw - 50) / 10)


class HostileFolder(DataFolder):
    """A data folder whose responses contain the ANSWERS, and whose prompts have demonstrations."""

    def write_responses(self, name: str, model_id: str, responses: list[Row]) -> Path:
        """Write these responses to samples instead; one model is asked in chat style, one reasons."""
        for k, row in enumerate(responses if name == EDITION else ()):
            if model_id == "hostile" and row["response"] is not None:
                row["response"] += ANSWERS[k % len(ANSWERS)] if k < 40 else ""
            if model_id == "thinker" and row["response"] is not None:
                row["reasoning"] = f"First <b>{row['prompt']}</b>"
            row["prompt"] = write_prompt(model_id, row["prompt"])
        return super().write_responses(name, model_id, responses)


def write_prompt(model_id: str, text: str) -> str:
    """Return the prompt of a text: with the text in it, escaped in it as in chat messages, or without it."""
    asked = f'Statement: "shown"\nAnswer: True\n\nStatement: "{text}", true or false?\nAnswer:'
    if model_id == "hostile":
        return json.dumps([{"content": asked, "role": "user"}], ensure_ascii=False, separators=(",", ":"))
    return "no text at all" if model_id == "thinker" and "ins" in text else asked


def find_serious(page: Page) -> list[str]:
    """Return what axe finds to be serious or critical on the page."""
    # Without preload, axe does not fetch style sheets, which the policy of the sample browser forbids.
    found = Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {rule['nodes'][0]['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def keep_screenshot(page: Page, name: str) -> None:
    """Write a picture of the whole page into the folder that PRETEXEVAL_SCREENSHOTS names, if it is set."""
    if folder := os.environ.get("PRETEXEVAL_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


class WatchedPage:
    """A page of the browser that notes every error of its console, and every foreign address."""

    def __init__(self, context: BrowserContext, start: str) -> None:
        """Watch a new page of the context; `start` is how the addresses that it may load begin."""
        self.page: Page = context.new_page()
        self.page.set_default_timeout(30_000)
        self.problems: list[str] = []
        self.page.on("console", lambda message: self._note(message.type, message.text))
        self.page.on("pageerror", lambda error: self._note("error", str(error)))
        self.page.on("dialog", lambda dialog: self._note("error", f"dialog: {dialog.message}"))
        self.page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((start, "data:", "blob:"))
                else self._note("error", f"request: {request.url}")
            ),
        )

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a module, which are skipped on a machine without it.

    While it runs, no other test of this process can start a loop of asyncio.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on this machine: install the packages of ci/apt.txt")
    with sync_playwright() as driver:
        # Root, as in a container, has no sandbox.
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of two models with hostile answers, failures and reasoning, and one that knows some facts."""
    data = HostileFolder(tmp_path_factory.mktemp("hostile") / "data", ages=AGES, releases=("2021 <b>",))
    data.add_pair("symptoms", HEAD, 'Fever "high"', "</td><td>")
    data.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    folder = QuestionFolder(data)
    for k in range(8):
        folder.add_point(Point("<i>drugs</i>", f"Disease {k}", "Vitamin C", "Quinine"))
    worded = [row for row in data.samples("pretexeval") if row["head"] == HEAD]
    attempts = [
        attempt(worded[0], 1, "polarity", "</p>") | {"text": "A first rewording"},
        attempt(worded[0], 2),
    ]
    folder.write_edition(EDITION, ("pretexeval", "direct"), attempts=attempts)
    for model_id in ("hostile", "thinker"):
        data.write_model(model_id, [{"relation": "symptoms", "head": "Scabies"}])
        data.write_answers(
            EDITION,
            model_id,
            erratic if model_id == "hostile" else polarity,
            methods=("pretexeval", "direct"),
            policies=("strict", "excluded"),
            fail=fail_once,
            max_error_rate=0.5,
        )
        folder.write_answers(EDITION, model_id, question_folder.erratic, policies=("strict",))
    data.write_model("knower")
    data.write_answers(EDITION, "knower", know_some, methods=("pretexeval", "direct"), weigh=weigh_by_chance)
    folder.write_answers(EDITION, "knower", know_some_questions)
    folder.write_answers(EDITION, "knower", question_folder.erratic, setting="chain_of_thought", n_repeats=1)
    name_model(data, "hostile", MODEL_NAME)
    build_warehouse(data.root)
    return data.root


@pytest.fixture(scope="session")
def pages(hostile: Path) -> Path:
    write_pages(hostile, [EDITION])
    return hostile / "report"


@pytest.fixture(scope="session")
def addresses(pages: Path) -> Iterator[dict[str, str]]:
    """The address of the folder of pages: as files, and from the web server."""
    with serve_app(Results(directory=pages.parent, html=True)) as address:
        yield {"file": pages.as_uri(), "server": address}


@pytest.fixture
def samples(chromium: Browser, addresses: dict[str, str]) -> Iterator[Page]:
    """The browser of samples, opened from files; in the end, it must have had no errors."""
    with chromium.new_context() as context:
        watched = WatchedPage(context, addresses["file"])
        watched.page.goto(f"{addresses['file']}/{EDITION}/samples/index.html")
        watched.page.locator(".samples").wait_for()
        yield watched.page
        assert watched.problems == []
