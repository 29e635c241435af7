"""A small Hugging Face hub on loopback: what hf_hub_download asks for, and the ways in which it can go wrong."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "1234567890abcdef1234567890abcdef12345678"
REPO, FILE = "lab/Tiny-GGUF", "tiny.gguf"


class Hub(ThreadingHTTPServer):
    """Serves one file of one repository; `fault` names what goes wrong, `served` lists the requests."""

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body, self.announced, self.fault = body, body, ""
        self.served: list[tuple[str, str, str | None]] = []

    @property
    def url(self) -> str:
        """What HF_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        """Stay silent."""

    def _answer(self, with_body: bool) -> None:
        hub = self.server
        hub.served.append((self.command, self.path, self.headers.get("Authorization")))
        refusals = {
            "gated": (403, {"X-Error-Code": "GatedRepo"}),
            "no-repo": (401, {"X-Error-Code": "RepoNotFound"}),
            "no-revision": (404, {"X-Error-Code": "RevisionNotFound"}),
            "no-file": (404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}),
            "down": (503, {}),
        }
        if hub.fault in refusals:
            status, headers = refusals[hub.fault]
            return self._send(status, b"", headers, with_body)
        if hub.fault == "not-a-hub":
            return self._send(200, b"<html>Sign in</html>", {"Content-Type": "text/html"}, with_body)
        etag = hashlib.sha256(hub.announced).hexdigest()
        if self.path.startswith(f"/{REPO}/resolve/"):
            headers = {"X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(hub.announced))}
            # Elsewhere, as the real hub sends to its storage: a redirect within the host would be followed at once.
            storage = f"http://localhost:{hub.server_address[1]}/blob/{etag}"
            return self._send(302, b"", {**headers, "Location": storage}, with_body)
        return self._send(200, hub.body, {"ETag": f'"{etag}"', "Accept-Ranges": "bytes"}, with_body)

    def _send(self, status: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        cut = self.server.fault == "cut-off" and self.path.startswith("/blob/")
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if cut:
            self.send_header("Connection", "close")
        self.end_headers()
        if with_body:
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True


@contextlib.contextmanager
def running(body: bytes) -> Iterator[Hub]:
    """A hub serving `body` as the only file, stopped at the end."""
    with Hub(body) as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
