"""A watched loop draws its chart in a file while it runs; a race does in the file of `--html`."""

from __future__ import annotations

from pathlib import Path

import pytest

import breakeven
from breakeven.cli.racing import also_to
from breakeven.errors import InputError
from breakeven.measure.backends.fake import Fake
from breakeven.report.html.watch import watch_page
from breakeven.results.race import Racer, RaceReport
from breakeven.results.records import Finding, Site
from breakeven.results.watching import Watched
from breakeven.workflows.watch_chart import WatchChart
from tests.measure.test_watching_a_loop import Job

REFRESH = '<meta http-equiv="refresh"'


def test_the_chart_is_rewritten_while_the_loop_runs_and_stays_at_its_end(tmp_path: Path) -> None:
    file = tmp_path / "training.html"
    seen: list[str] = []
    with Fake() as fake:
        job = Job(fake)
        with breakeven.watch(stream=None, device=fake, every=0.1, chart=file):
            for at in range(6000):
                job.step()
                if at > 1500 and at % 500 == 499:  # the fake's queue hides the time of the first ones
                    seen.append(file.read_text(encoding="utf-8"))
    last = file.read_text(encoding="utf-8")
    assert all(REFRESH in page for page in seen)
    assert len(set(seen)) > 1
    assert REFRESH not in last
    assert "6000 steps on fake:0" in last
    assert '"race":{' in last


def test_a_folder_that_is_not_there_is_said_before_the_loop(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no directory"):
        breakeven.watch(chart=tmp_path / "nowhere" / "training.html")


def test_a_chart_that_cannot_be_written_any_more_leaves_the_training_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with Fake() as fake:
        job = Job(fake)
        with breakeven.watch(stream=None, device=fake, every=0.1, chart=tmp_path / "training.html") as seen:
            monkeypatch.setattr("breakeven.atomic.write", full)
            for _ in range(3000):
                job.step()
    assert seen.report.steps == 3000
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "no chart from here on" in said[0]


def test_an_hours_curve_has_as_many_points_at_its_begin_as_at_its_end(tmp_path: Path) -> None:
    chart = WatchChart(tmp_path / "training.html")
    for second in range(3600):
        chart.look(Watched("cpu", second, None, None, (), 0, float(second), 1.0))
    seconds = [at for at, _ in chart._points]
    quarters = [sum(900 * q <= at < 900 * (q + 1) for at in seconds) for q in range(4)]
    assert 200 <= len(seconds) <= 400
    assert max(quarters) - min(quarters) <= 1


def test_a_page_that_cannot_be_written_half_way_does_not_end_the_race(tmp_path: Path) -> None:
    drawn: list[RaceReport] = []
    both = also_to(str(tmp_path / "gone" / "race.html"), "", drawn.append)
    both(RaceReport("train.py", 9.0, (Racer("cpu", 1, 1.0, (1.0,), (2.0,)),), None, "so far"))
    assert len(drawn) == 1


def test_a_loop_without_a_loss_gets_a_page_without_a_curve() -> None:
    page = watch_page(Watched(None, 0, None, None, (), 0, 0.0), ()).decode()
    assert "0 steps: too few to say what one takes" in page
    assert "data-race" not in page.partition("<script")[0]


def test_names_of_the_users_stay_text_on_the_page() -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    finding = Finding("timing_bug", "cpu", "launch", None, evil, (Site(evil, 3, evil),))
    page = watch_page(Watched(evil, 9, None, None, (), 0, 1.0, 2.0, (finding,)), ((1.0, 2.0),)).decode()
    assert "<img" not in page
    assert "&lt;img" in page


def test_a_race_is_written_every_other_second_at_most_and_says_that_it_goes_on(tmp_path: Path) -> None:
    file, now, drawn = tmp_path / "race.html", [0.0], []
    both = also_to(str(file), "breakeven race train.py", drawn.append, lambda: now[0])
    pages = []
    for at in range(5):
        now[0] = float(at)
        both(RaceReport("train.py", 9.0, (Racer("cpu", 100 + at, 1.0, (1.0,), (2.0,)),), None, f"after {at} s"))
        pages.append(file.read_text(encoding="utf-8"))
    assert len(drawn) == 5
    assert [f"after {at} s" in page for at, page in zip((0, 0, 2, 2, 4), pages, strict=True)] == [True] * 5
    assert all(REFRESH in page and "They are still racing" in page for page in pages)


def test_without_a_page_nothing_is_written() -> None:
    drawn: list[RaceReport] = []
    assert also_to(None, "", drawn.append) == drawn.append
