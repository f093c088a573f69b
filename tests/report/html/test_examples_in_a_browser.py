"""The report of every example in real Chromium: of answers that real runs gave; each night of runs made there and then."""

from __future__ import annotations

import gzip
import pathlib
from typing import TYPE_CHECKING

import msgspec
import pytest

from breakeven import cli
from breakeven.report.html.why import why_page
from breakeven.results import WhyReport
from breakeven.results.pictured import Pictured
from tests.conftest import ROOT
from tests.report.html.walking import IDS, LOOKS, walk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SAMPLES = pathlib.Path(__file__).parent / "samples"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
#: A look for each example in the short form, so that all four are seen.
SHORT = [(name, *LOOKS[at % len(LOOKS)]) for at, name in enumerate(EXAMPLES)]
FULL = [(name, *look) for name in EXAMPLES for look in LOOKS if (name, *look) not in SHORT]
MOST_BYTES = 3_000_000


class Sample(msgspec.Struct):
    """What `tools/make_report_samples.py` writes."""

    report: WhyReport
    pictured: Pictured


def page_of(name: str, folder: pathlib.Path) -> pathlib.Path:
    """The page of an example's sample."""
    content = gzip.decompress((SAMPLES / f"{name}.json.gz").read_bytes())
    sample = msgspec.json.decode(content, type=Sample)
    file = folder / f"{name}.html"
    file.write_bytes(why_page(sample.report, sample.pictured))
    return file


def test_every_example_has_a_sample() -> None:
    assert sorted(path.name.removesuffix(".json.gz") for path in SAMPLES.iterdir()) == EXAMPLES


@pytest.mark.parametrize(("name", "size", "scheme"), SHORT, ids=[case[0] for case in SHORT])
def test_the_report_of_every_example_is_used_in_a_browser(
    browser: Browser, tmp_path: pathlib.Path, name: str, size: tuple[int, int], scheme: str
) -> None:
    """Opened from disk, its slider moved, its timeline zoomed, tabbed through; no message, no request, nothing for axe."""
    walk(browser, page_of(name, tmp_path), size, scheme)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "size", "scheme"), FULL, ids=[f"{c[0]}-{IDS[LOOKS.index((c[1], c[2]))]}" for c in FULL])
def test_the_report_of_every_example_is_used_at_every_size_and_in_both_schemes(
    browser: Browser, tmp_path: pathlib.Path, name: str, size: tuple[int, int], scheme: str
) -> None:
    walk(browser, page_of(name, tmp_path), size, scheme)


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_report_made_by_a_run_of_the_example_is_used_in_a_browser(
    browser: Browser, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`breakeven why examples/NAME.py --html F`, as a reader would type it."""
    monkeypatch.chdir(ROOT)
    file = tmp_path / f"{name} made here.html"
    arguments = ["--", "256"] if name == "matmul" else []
    call = ["why", f"examples/{name}.py", "--gpu", "t4", "--seconds", "20", "-q", "--html", str(file), *arguments]
    assert cli.main(call) == 0
    assert file.stat().st_size <= MOST_BYTES
    walk(browser, file, *LOOKS[0])
