"""Make the pictures of the README: the page of an edition with its leaderboard, in both colour schemes.

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
from playwright.sync_api import FloatRect, sync_playwright

FOLDER = Path(__file__).parent / "pictures"
QUICKSTART = "configs/quickstart.toml"
WIDTH, HEIGHT = 1100, 760


def run_configuration(config: str) -> Path:
    """Run the command, and return the file of the edition's page.

    Raises:
        CalledProcessError: the run failed.
    """
    command = [sys.executable, "-m", "commands", "run", config]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    (page,) = re.findall(r"^page +(\S+)$", done.stdout, re.MULTILINE)
    return Path(page)


def draw_page(page: Path) -> None:
    """Write the part of the page that begins with its heading as a WebP picture for each colour scheme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for scheme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            tab.goto(page.absolute().as_uri())
            heading = tab.locator("h1").bounding_box()
            assert heading is not None
            clip = FloatRect(x=0, y=heading["y"], width=WIDTH, height=HEIGHT)
            picture = Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip)))
            picture.save(FOLDER / f"page-{scheme}.webp", quality=85, method=6)
        browser.close()


if __name__ == "__main__":
    draw_page(run_configuration(*sys.argv[1:] or [QUICKSTART]))
