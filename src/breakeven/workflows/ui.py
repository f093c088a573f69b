"""`breakeven ui`: the runs of a folder as pages on this machine's own address. It reads and never writes.

Runs are asked for by a key, never by a path; a request under another name than this machine's own (a page elsewhere that
points its name here) is turned away; a kept report is shown in a sandbox, since a run may come from anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from breakeven import store
from breakeven.errors import BreakevenError, InputError
from breakeven.report.html.compare import compare_page
from breakeven.report.html.why import why_page
from breakeven.report.html.writing import Link
from breakeven.report.web import grid_of, key_of, list_page, said_page, tables_page
from breakeven.results.runs import RunRow
from breakeven.store.run import Run
from breakeven.workflows.answers import answer_in
from breakeven.workflows.compared_runs import compare_runs
from breakeven.workflows.keeping import ANSWER, PAGE
from breakeven.workflows.runs import runs

_LOOPBACK: Final = "127.0.0.1"
_NAMES: Final = (_LOOPBACK, "localhost")
_HTML: Final = "text/html; charset=utf-8"
_OWN: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_KEPT: Final = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data: blob:; font-src data:; worker-src blob:"
)
#: Of a page made here from an answer: it names its one script by its hash itself, and both policies hold.
_MADE: Final = f"{_OWN}; script-src 'unsafe-inline'"
_HOME: Final = Link("/", "All runs")
#: Files of a run that may be opened as they are.
_FILES: Final = {PAGE: (_HTML, _KEPT), ANSWER: ("application/json", _OWN)}


@dataclass(frozen=True)
class Response:
    """What a request is answered with."""

    status: HTTPStatus
    content: bytes
    kind: str = _HTML
    policy: str = _OWN


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    url: str
    thread: threading.Thread

    def wait(self) -> None:
        """Waits until it ends, which it does by itself never."""
        while self.thread.is_alive():
            self.thread.join(timeout=1.0)


@contextmanager
def serving(folder: str, port: int = 0) -> Iterator[Server]:
    """Serves the runs of a folder to this machine alone, while it lasts.

    Args:
        folder: that holds the runs.
        port: of the page; 0: one that is free.

    Raises:
        InputError: there is no such folder, or the port is taken.
    """
    runs(folder)
    try:
        server = ThreadingHTTPServer((_LOOPBACK, port), _handler(folder))
    except OSError as error:
        raise InputError(f"--port {port}: {(error.strerror or str(error)).lower()}; choose another") from error
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield Server(f"http://{_LOOPBACK}:{server.server_address[1]}/", thread)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def respond(folder: str, target: str) -> Response:
    """The answer to a request for a path; an error is a page of its own.

    Args:
        folder: that holds the runs.
        target: path and query, as the browser sends them.
    """
    asked = urlsplit(target)
    parts = [part for part in asked.path.split("/") if part]
    try:
        if not parts:
            return Response(HTTPStatus.OK, list_page(runs(folder)))
        if parts == ["compare"]:
            query = parse_qs(asked.query)
            return _compared(folder, query.get("a", [""])[0], query.get("b", [""])[0])
        if parts[0] == "run" and len(parts) in (2, 3):
            return _run(folder, parts[1], parts[2] if len(parts) == 3 else None)
    except BreakevenError as error:
        return Response(HTTPStatus.NOT_FOUND, said_page("This cannot be shown", (str(error),)))
    return _missing()


def _missing() -> Response:
    return Response(HTTPStatus.NOT_FOUND, said_page("There is no such page"))


def _row(folder: str, asked: str) -> RunRow:
    found = next((row for row in runs(folder).runs if key_of(row.path) == asked), None)
    if found is None:
        raise InputError("there is no such run in this folder any more")
    return found


def _path(folder: str, row: RunRow) -> str:
    return f"{folder.rstrip('/')}/{row.path}" if not Path(row.path).is_absolute() and "://" not in row.path else row.path


def _run(folder: str, asked: str, file: str | None) -> Response:
    """A run's page, or one of its files."""
    row = _row(folder, asked)
    run = store.open(_path(folder, row) if row.path != folder else folder)
    if file is not None:
        content = run.file(file) if file in _FILES else None
        return _missing() if content is None else Response(HTTPStatus.OK, content, *_FILES[file])
    links = [Link(f"/run/{key_of(row.path)}/{name}", _named(name)) for name in _FILES if run.file(name) is not None]
    report = answer_in(run)
    if report is not None:
        shown = replace(report, warnings=(*report.warnings, *run.warnings))
        return Response(HTTPStatus.OK, why_page(shown, links=(_HOME, *links)), policy=_MADE)
    grids = [grid_of(name, frame) for name in run.table_names() if (frame := run.table(name)) is not None]
    return Response(HTTPStatus.OK, tables_page(row.path, grids, links, _described(run)))


def _named(file: str) -> str:
    return "The full report: source, timeline, other batches" if file == PAGE else "The answer as JSON"


def _described(run: Run) -> tuple[str, ...]:
    """What can be said of a run that is no answer of `why`."""
    head = run.head
    state = "finished" if head.finished else "not finished"
    return (f"{head.kind} {head.title}: {state}, {len(run.keys())} parts", *run.warnings)


def _compared(folder: str, first: str, second: str) -> Response:
    rows = _row(folder, first), _row(folder, second)
    report = compare_runs(*(_path(folder, row) for row in rows))
    links = [Link(f"/run/{key_of(row.path)}", row.path) for row in rows]
    return Response(HTTPStatus.OK, compare_page(report, links=(_HOME, *links)), policy=_MADE)


def _handler(folder: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD; http.server refuses every other method."""

        server_version, sys_version = "breakeven", ""

        def do_GET(self) -> None:
            """A page."""
            self._send(body=True)

        def do_HEAD(self) -> None:
            """What a page would be headed with."""
            self._send(body=False)

        def _send(self, *, body: bool) -> None:
            named = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            if named in _NAMES:
                response = respond(folder, self.path)
            else:
                response = Response(HTTPStatus.FORBIDDEN, said_page("This page is for this machine alone"))
            self.send_response(response.status)
            for name, value in (
                ("Content-Type", response.kind), ("Content-Length", str(len(response.content))),
                ("Content-Security-Policy", response.policy), ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
            ):  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(response.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's own name
            """Nothing: the terminal is the user's."""

    return Handler
