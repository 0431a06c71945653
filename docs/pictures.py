"""Make the pictures of the README: the output of `pretexeval run`, its leaderboard, and a wrong answer.

    python docs/pictures.py [CONFIG]     or: make pictures

The configuration is run first; a run that was complete before reuses its results. Nothing is written by hand.
"""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME
from rich.text import Text

FOLDER = Path(__file__).parent / "pictures"
QUICKSTART = "configs/quickstart.toml"
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
WIDTH = 124
PAGE_WIDTH = 1100
HEIGHT = 760
HEIGHT_OF_SAMPLE = 900
# The link of the leaderboard that leads to all samples of a model.
AVERAGE_ACCURACY = 2
# Rich names fonts on a server, which a picture should not load.
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def run_configuration(config: str) -> str:
    """Run the command, and return what it prints, the messages included.

    Raises:
        CalledProcessError: the run failed.
    """
    command = [sys.executable, "-m", "commands", "run", config]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout


def draw_terminal(command: str, output: str) -> None:
    """Write the output as an SVG picture of a terminal for each theme."""
    for name, theme in THEMES.items():
        console = Console(record=True, width=WIDTH, file=io.StringIO())
        console.print(Text.assemble((f"$ {command}\n", "bold"), output.rstrip()))
        svg = console.export_svg(title="pretexeval", theme=theme, unique_id="terminal")
        (FOLDER / f"terminal-{name}.svg").write_text(FONTS.sub("", svg), encoding="utf-8")


def draw_pages(page: Path) -> None:
    """Write the leaderboard, and a wrong answer behind it, as WebP pictures for each colour scheme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name in THEMES:
            tab = browser.new_page(
                viewport={"width": PAGE_WIDTH, "height": HEIGHT},
                color_scheme="dark" if name == "dark" else "light",
            )
            tab.goto(page.absolute().as_uri())
            save_picture(tab, "h1", HEIGHT, f"page-{name}")
            tab.locator("#leaderboard td a").nth(AVERAGE_ACCURACY).click()
            tab.get_by_role("link", name="Wrong").click()
            tab.locator(".samples a.text").first.click()
            tab.locator(".detail").wait_for()
            save_picture(tab, ".detail nav", HEIGHT_OF_SAMPLE, f"sample-{name}")
        browser.close()


def save_picture(tab: Page, top: str, height: int, name: str) -> None:
    """Write the part of the page that begins with the element."""
    box = tab.locator(top).bounding_box() or {"y": 0}
    clip = FloatRect(x=0, y=box["y"], width=PAGE_WIDTH, height=height)
    picture = Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip)))
    picture.save(FOLDER / f"{name}.webp", quality=85, method=6)


def main(config: str = QUICKSTART) -> None:
    """Run the configuration and write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    output = run_configuration(config)
    (path,) = re.findall(r"^page +(\S+)$", output, re.MULTILINE)
    draw_terminal(f"pretexeval run {config}", output)
    draw_pages(Path(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
