"""The web server of pages, without containers: ``python -m commands.deploy.local.web_server ROOT PORT``.

It serves on loopback what `commands/deploy/nginx.conf` serves, with the same headers: the files of
`report/`, the Parquet files of editions and evaluations with lists of them, and the warehouse. It serves no
hidden file, nothing else of the data folder, and nothing that a link leads to outside.
"""

import html
import http.server
import io
import re
import sys
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

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
HEALTH = "/healthz"
LISTED_FOLDERS = (EDITIONS_FOLDER, *ALL_EVALUATIONS)
"""Folders of the data folder that are served beside `report/`, with lists of their files."""
MISSING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not here</title><h1>There is no such page, '
    "or not yet</h1><p>The page of an edition and the warehouse are written when the edition is published, "
    "and Parquet files while it is built and evaluated. Open this link again when the run has ended in the "
    'Prefect UI, or look at <a href="/">all pages</a>.</p></html>'
)


class PageHandler(http.server.SimpleHTTPRequestHandler):
    """Answers GET and HEAD, always with HEADERS; `directory` is the data folder."""

    server_version, sys_version = "pages", ""

    def end_headers(self) -> None:
        """Add HEADERS and the policy of the page to every answer, errors included."""
        # A request that cannot be read has no path.
        is_browser = BROWSER.match(getattr(self, "path", ""))
        self.send_header("Content-Security-Policy", BROWSER_POLICY if is_browser else POLICY)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def translate_path(self, path: str) -> str:
        """Return the file of a path: in `report/`, unless it begins with another name that is served."""
        asked = super().translate_path(path)
        within = Path(asked).relative_to(self.directory)
        if within.parts[:1] in [(name,) for name in LISTED_FOLDERS] or within == Path(WAREHOUSE):
            return asked
        # A slash at the end tells a folder from a file.
        return str(Path(self.directory) / PAGES_FOLDER / within) + ("/" if asked.endswith("/") else "")

    def send_head(self) -> io.BytesIO | None:
        """Return the file to send, or None after an error or a redirect was sent."""
        if self.path == HEALTH:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            return io.BytesIO(b"up\n")
        if not self._is_public(Path(self.translate_path(self.path))):
            return self._send_page(HTTPStatus.NOT_FOUND, MISSING)
        return super().send_head()  # type: ignore[return-value]

    def _is_public(self, path: Path) -> bool:
        within = path.relative_to(self.directory)
        if any(part.startswith(".") for part in within.parts):
            return False
        is_listed = within.parts[0] in LISTED_FOLDERS
        if path.is_dir() and not is_listed:
            path /= "index.html"
        # A link to a file outside the folder is not followed, a link to the folder itself is.
        top = Path(self.directory) / within.parts[0]
        exists = path.is_file() or (is_listed and path.is_dir())
        return exists and path.resolve().is_relative_to(top.resolve())

    def list_directory(self, path: str) -> io.BytesIO | None:  # type: ignore[override]
        """Return a list of the files and folders in a folder, without hidden ones."""
        there = sorted(each for each in Path(path).iterdir() if not each.name.startswith("."))
        names = [each.name + ("/" if each.is_dir() else "") for each in there]
        rows = "".join(f'<li><a href="{quote(name)}">{html.escape(name)}</a></li>' for name in names)
        title = html.escape(str(Path(path).relative_to(self.directory)))
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        up = '<li><a href="../">..</a></li>'
        return self._send_page(HTTPStatus.OK, f"{head}<h1>{title}</h1><ul>{up}{rows}</ul></html>")

    def _send_page(self, status: HTTPStatus, text: str) -> io.BytesIO:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return io.BytesIO(content)


def main() -> None:
    """Serve the data folder until the process ends."""
    root, port = sys.argv[1:]
    handler = partial(PageHandler, directory=root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
