"""The web server of the pages: ``uvicorn commands.deploy.pages:app``.

It serves, from the data folder PRETEXEVAL_SERVED_ROOT, the files of `report/` at the top, the Parquet files
of editions and evaluations with lists of them, and the warehouse. It serves no hidden file, nothing else of
the folder, and nothing that a link leads to outside.
"""

import html
import os
import re
from pathlib import Path
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pretexeval.storage.layout import ALL_EVALUATIONS, EDITIONS_FOLDER, PAGES_FOLDER, WAREHOUSE

# The pages are text, inline styles and inline drawings; no other site may frame them. No script within a page
# runs, only files of this server; the sample browser has no inline styles either.
_POLICY = "default-src 'none'; {}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
POLICY = _POLICY.format("script-src 'self'; style-src 'unsafe-inline'")
BROWSER_POLICY = _POLICY.format("script-src 'self'; style-src 'self'")
BROWSER = re.compile(r"/[^/]+/samples/")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Publishing replaces pages, so browsers must always check whether a page has changed.
    "Cache-Control": "no-cache",
}
HEALTH = "healthz"
LISTED_FOLDERS = (EDITIONS_FOLDER, *ALL_EVALUATIONS)
"""Folders of the data folder that are served beside `report/`, with lists of their files."""
MISSING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not here</title><h1>There is no such page, '
    "or not yet</h1><p>The page of an edition and the warehouse are written when the edition is published, "
    "and Parquet files while it is built and evaluated. Open this link again when the run has ended in the "
    'Prefect UI, or look at <a href="/">all pages</a>.</p></html>'
)


class Results(StaticFiles):
    """The pages and results of a data folder, always with HEADERS and the policy of the page."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the file of a path: in `report/`, unless it begins with another name that is served."""
        parts = Path(path).parts
        if any(part.startswith(".") for part in parts):
            return "", None
        is_beside = parts[:1] in [(name,) for name in LISTED_FOLDERS] or path == WAREHOUSE
        place = Path() if is_beside else Path(PAGES_FOLDER)
        full_path, found = super().lookup_path(str(place / path))
        # A link to a file outside the folder is not followed, a link to the folder itself is.
        top = Path(str(self.directory), (place / path).parts[0]).resolve()
        return (full_path, found) if Path(full_path).is_relative_to(top) else ("", None)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, the list of a folder, or the page of what is missing."""
        try:
            response = self._list_folder(path, scope) or await super().get_response(path, scope)
        except HTTPException as error:
            response = HTMLResponse(MISSING, error.status_code)
        policy = BROWSER_POLICY if BROWSER.match(scope["path"]) else POLICY
        response.headers.update({**HEADERS, "Content-Security-Policy": policy})
        return response

    def _list_folder(self, path: str, scope: Scope) -> Response | None:
        """Return the list of the files in a folder without hidden ones; None for what has no list."""
        if path == HEALTH:
            return PlainTextResponse("up\n")
        folder = Path(self.lookup_path(path)[0] if "\0" not in path else "")
        if path.partition("/")[0] not in LISTED_FOLDERS or not folder.is_dir() or folder == Path():
            return None
        if not scope["path"].endswith("/"):
            return RedirectResponse(f"/{quote(path)}/")
        there = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
        names = [each.name + ("/" if each.is_dir() else "") for each in there]
        rows = "".join(f'<li><a href="{quote(name)}">{html.escape(name)}</a></li>' for name in names)
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(path)}</title>'
        up = '<li><a href="../">..</a></li>'
        return HTMLResponse(f"{head}<h1>{html.escape(path)}</h1><ul>{up}{rows}</ul></html>")


app = Results(directory=os.environ.get("PRETEXEVAL_SERVED_ROOT", "data"), html=True, check_dir=False)
