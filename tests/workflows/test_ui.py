"""The pages of `breakeven ui`: they list, compare and open runs, on this machine alone, and change nothing."""

from __future__ import annotations

import html
import http.client
import json
import re
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from breakeven import cli, store
from breakeven.errors import InputError
from breakeven.report.json import why_json
from breakeven.results import WhyReport
from breakeven.store.run import Whole
from breakeven.workflows.ui import respond, serving
from tests.report.why_samples import CPU_WINS

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = "<script>alert(1)</script>{{ 7919*7919 }}\"'><img src=x onerror=alert(2)>"


def written(folder: Path, name: str, report: WhyReport = CPU_WINS, **files: bytes) -> None:
    """A kept answer."""
    extra = {key.replace("_", "."): content for key, content in files.items()}
    store.write_run(
        str(folder / name), "why", Whole({"answer": {}}, {}, {"answer.json": why_json(report), **extra}), title="train.py"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "before")
    written(tmp_path, "after")
    with store.create(str(tmp_path / "sweep"), "sweep", title="sweep.py") as run:
        run.put("a", 1)
        run.put_table("cells", pl.DataFrame({"batch": [16, 32], "ms": [1.5, 2.5]}))
    return tmp_path


def page(folder: Path, target: str, status: HTTPStatus = HTTPStatus.OK) -> str:
    """A page's text."""
    response = respond(str(folder), target)
    assert response.status == status
    return response.content.decode()


def links(text: str) -> list[str]:
    return re.findall(r'href="(/run/[0-9a-f]+)"', text)


def test_the_list_leads_to_each_run(folder: Path) -> None:
    text = page(folder, "/")
    assert [name in text for name in ("before", "after", "sweep", "not finished")] == [True] * 4
    pages = [page(folder, link) for link in links(text)]
    assert len(pages) == 3
    assert sum("Stay on the CPU" in p for p in pages) == 2
    assert sum("sweep sweep.py: not finished, 1 parts" in p for p in pages) == 1


def test_a_run_that_is_no_answer_shows_its_tables(tmp_path: Path) -> None:
    with store.create(str(tmp_path / "sweep"), "sweep", title=HOSTILE) as run:
        run.put_table("cells", pl.DataFrame({"batch": range(300), HOSTILE: [1 / 3] * 300, "device": [HOSTILE] * 300}))
        run.finish()
    (link,) = links(page(tmp_path, "/"))
    text = page(tmp_path, link)
    assert text.count("<tr>") == 201
    assert "and 100 more rows" in text
    assert "0.3333" in text
    assert not re.search(r"<script|<img|62710561", text)


def test_two_runs_are_compared(folder: Path) -> None:
    first, second = re.findall(r'name="[ab]" value="([0-9a-f]+)"[^>]* checked', page(folder, "/"))
    assert "no part of it differs by more than its spread" in page(folder, f"/compare?a={first}&b={second}")


def test_a_copy_of_a_run_is_a_run_of_its_own(folder: Path) -> None:
    import shutil

    shutil.copytree(folder / "before", folder / "copy")
    assert len(set(links(page(folder, "/")))) == 4


@pytest.mark.parametrize(
    "target",
    [
        "/run/../../etc/passwd",
        "/run/0123456789abcdef",
        "/run/%2e%2e",
        "/compare",
        "/compare?a=1&b=2",
        "/static/x",
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(folder: Path, target: str) -> None:
    assert page(folder, target, HTTPStatus.NOT_FOUND)


def test_only_the_known_files_of_a_run_are_handed_out(folder: Path) -> None:
    link = next(link for link in links(page(folder, "/")) if "Stay on" in page(folder, link))
    assert json.loads(page(folder, f"{link}/answer.json"))["schema"] == "breakeven/why/1"
    for file in ("run.json", "parts", "..", "report.html"):
        assert page(folder, f"{link}/{file}", HTTPStatus.NOT_FOUND)


def test_a_kept_report_is_opened_in_a_sandbox(tmp_path: Path) -> None:
    written(tmp_path, "run", report_html=b"<h1>kept</h1>")
    link = links(page(tmp_path, "/"))[0]
    response = respond(str(tmp_path), f"{link}/report.html")
    assert response.content == b"<h1>kept</h1>"
    assert response.policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in response.policy


def test_nothing_in_a_run_becomes_markup(tmp_path: Path) -> None:
    assert CPU_WINS.verdict is not None
    verdict = replace(CPU_WINS.verdict, sentence=HOSTILE)
    report = replace(
        CPU_WINS, script=HOSTILE, verdict=verdict, verdicts=(verdict,), warnings=(HOSTILE,), versions={"torch": HOSTILE}
    )
    name = HOSTILE.replace("/", "")
    store.write_run(str(tmp_path / name), "why", Whole({}, {}, {"answer.json": why_json(report)}), title=HOSTILE)
    written(tmp_path, "other", report)
    text = page(tmp_path, "/")
    first, second = re.findall(r'name="[ab]" value="([0-9a-f]+)"[^>]* checked', text)
    for shown in (text, *(page(tmp_path, link) for link in links(text)), page(tmp_path, f"/compare?a={first}&b={second}")):
        assert "alert(1)" in shown
        assert not re.search(r"<script>alert|<img|62710561", shown)


def test_the_server_is_for_this_machine_and_reads_only(folder: Path) -> None:
    before = sorted((str(f), f.stat().st_mtime_ns) for f in folder.rglob("*"))
    with serving(str(folder)) as server:
        assert server.url.startswith("http://127.0.0.1:")
        port = int(server.url.rstrip("/").rsplit(":", 1)[1])

        def ask(method: str, host: str) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(method, "/", headers={"Host": host})
            response = connection.getresponse()
            response.read()
            connection.close()
            return response

        good = ask("GET", f"localhost:{port}")
        assert good.status == HTTPStatus.OK
        assert "default-src 'none'" in (good.getheader("Content-Security-Policy") or "")
        assert ask("HEAD", f"127.0.0.1:{port}").status == HTTPStatus.OK
        assert ask("GET", "evil.example").status == HTTPStatus.FORBIDDEN
        assert {ask(method, "localhost").status for method in ("POST", "PUT", "DELETE")} == {HTTPStatus.NOT_IMPLEMENTED}
        with pytest.raises(InputError, match="choose another"), serving(str(folder), port):
            pass
    assert sorted((str(f), f.stat().st_mtime_ns) for f in folder.rglob("*")) == before


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ui", str(tmp_path / "nowhere")]) == 2
    assert cli.main(["ui", str(tmp_path), "--port", "70000"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 2


def test_a_page_made_from_a_run_runs_its_own_script_alone(folder: Path) -> None:
    """The policy that is sent lets inline scripts run; the one in the page names its one script by its hash."""
    link = next(link for link in links(page(folder, "/")) if "Stay on" in page(folder, link))
    response = respond(str(folder), link)
    assert response.policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in response.policy
    own = html.unescape(re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', response.content.decode())[0])
    assert "script-src 'sha256-" in own
    assert "unsafe" not in own
    assert '<a href="/">All runs</a>' in response.content.decode()
    assert f'<a href="{link}/answer.json">' in response.content.decode()


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium")
@pytest.mark.parametrize("axed", [False, True], ids=["used", "axe"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_browser_shows_the_pages_without_complaint(folder: Path, width: int, scheme: str, axed: bool) -> None:
    """No error in the console, no request to anywhere else, no serious violation for who cannot see or use a mouse.

    axe puts a script of its own into the page, which the page's policy forbids: so it is used once with it and once without.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    wrong: list[str] = []

    def looked(tab: Any) -> list[dict[str, Any]]:  # Any: playwright may be missing
        return list(axe.run(tab).response["violations"]) if axed else []

    with serving(str(folder)) as server, playwright.sync_playwright() as player:
        browser = player.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=axed)
        tab = context.new_page()
        tab.set_default_timeout(120_000)
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(server.url) else None)
        tab.goto(server.url)
        seen = [tab.title()]
        found = looked(tab)
        tab.get_by_role("button", name="Compare first and second").press("Enter")
        tab.wait_for_url("**/compare?*")
        tab.wait_for_selector("html[data-ready]", state="attached")
        seen.append(tab.locator("main").inner_text())
        found += looked(tab)
        tab.get_by_role("link", name="before").first.click()
        tab.wait_for_selector("html[data-ready]", state="attached")
        seen.append(tab.locator("main").inner_text())
        found += looked(tab)
        tab.get_by_role("link", name="All runs").click()
        tab.get_by_role("link", name="sweep").click()
        seen.append(tab.get_by_role("table").inner_text())
        found += looked(tab)
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
            "the page itself does not scroll sideways"
        )
        browser.close()
    assert seen[0] == "Runs"
    assert "within the spread" in seen[1] or "none" in seen[1]
    assert "Stay on the CPU" in seen[2]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []
    assert axed or wrong == []
