"""The web server of the pages, without containers: ``python -m deploy.local.web_server FOLDER PORT``.

It serves on loopback what `deploy/nginx.conf` serves, with the same headers: files of the folder, but no
hidden file, no list of a folder, and nothing that a link leads to outside the folder.
"""

import http.server
import io
import re
import sys
from functools import partial
from pathlib import Path

# The pages are text, inline styles and inline drawings; no script runs, and no other site may frame them.
# Only the sample browser of an edition runs scripts, those of its own folder.
_POLICY = "default-src 'none'; {}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
POLICY = _POLICY.format("style-src 'unsafe-inline'")
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


class PageHandler(http.server.SimpleHTTPRequestHandler):
    """Answers GET and HEAD, always with HEADERS."""

    server_version, sys_version = "pages", ""

    def end_headers(self) -> None:
        """Add HEADERS and the policy of the page to every answer, errors included."""
        # A request that cannot be read has no path.
        is_browser = BROWSER.match(getattr(self, "path", ""))
        self.send_header("Content-Security-Policy", BROWSER_POLICY if is_browser else POLICY)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def send_head(self) -> io.BytesIO | None:
        """Return the file to send, or None after an error or a redirect was sent."""
        if self.path == HEALTH:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            return io.BytesIO(b"up\n")
        folder, path = Path(self.directory).resolve(), Path(self.translate_path(self.path))
        if path.is_dir():
            path /= "index.html"
        is_public = path.is_file() and path.resolve().is_relative_to(folder)
        if not is_public or any(part.startswith(".") for part in path.relative_to(self.directory).parts):
            self.send_error(404)
            return None
        return super().send_head()  # type: ignore[return-value]


def main() -> None:
    """Serve the folder until the process ends."""
    folder, port = sys.argv[1:]
    handler = partial(PageHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
