"""Pages as documents: whole, small, and inert whatever a name in them holds."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from breakeven.report.html.compare import compare_page
from breakeven.report.html.fix import fix_page
from breakeven.report.html.race import race_page
from breakeven.report.html.sweep import sweep_page
from breakeven.report.html.trace import trace_page
from breakeven.report.html.why import why_fragment, why_page
from breakeven.results import DeviceResult, Finding, Interval, Remedy, Share, Site, WhyReport
from breakeven.results.pictured import Pictured
from breakeven.results.traced import RankResult, TraceReport, TraceStep
from tests.report.html import answers
from tests.report.html.pages import EVIL, PICTURED, hostile, step
from tests.report.why_samples import CPU_WINS, SAMPLES

MOST_BYTES = 3_000_000
#: Every element that the templates write; anything else came from outside.
LOADS = {"img", "iframe", "object", "embed", "link", "base", "form", "audio", "video", "source", "b-evil"}


class Seen(HTMLParser):
    """Elements, attributes, and how often each kind of element was opened and closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data


def check(page: bytes) -> Seen:
    """What holds of every page: it nests, loads nothing, and runs nothing but the one script that its policy names."""
    seen = Seen(page.decode("utf-8"))
    assert seen.open == []
    assert not LOADS & set(seen.tags)
    assert seen.tags.count("script") == 2
    assert seen.tags.count("style") == 1
    for tag, name, value in seen.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("style", "src", "srcset", "srcdoc", "action", "formaction"), (tag, name)
        assert name != "href" or value.startswith("#"), value
    (policy,) = (value for _, name, value in seen.attributes if name == "content" and "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert len(page) <= MOST_BYTES
    return seen


@pytest.mark.parametrize("beyond", [None, PICTURED], ids=["alone", "pictured"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_answer_has_a_page_that_loads_nothing(sample: str, beyond: Pictured | None) -> None:
    report = SAMPLES[sample]
    seen = check(why_page(report, beyond))
    for verdict in report.verdicts:
        assert verdict.sentence in seen.text


def test_hostile_names_in_every_field_stay_text() -> None:
    """No element, attribute or direction mark of a name becomes part of the page."""
    page = why_page(*hostile(), command="breakeven why '</pre><script>window.pwned=1</script>'")
    check(page)
    assert b"<img" not in page
    assert b"pwned=1</script>" not in page
    assert "\u202e".encode() not in page
    assert b"49" not in re.findall(rb"\{\{7\*7\}\}|>49<", page)


def test_hostile_names_stay_text_in_the_fragment_too() -> None:
    fragment = why_fragment(hostile()[0])
    assert "<script" not in fragment
    assert "<img" not in fragment


def test_twenty_thousand_events_fit_into_three_megabytes() -> None:
    assert len(why_page(CPU_WINS, replace(PICTURED, steps=(step(20_000),)))) <= MOST_BYTES


def test_a_prediction_never_looks_like_a_measurement() -> None:
    """Each predicted device is hatched, marked by the word and by ≈; no measured one is."""
    page = why_page(CPU_WINS, None).decode()
    rows = re.findall(r'<div class="bar (\w+)".*?</div>', page, re.S)
    assert rows == ["measured", "predicted"]
    measured, predicted = re.findall(r'<div class="bar \w+".*?</div>', page, re.S)
    assert "url(#hatch)" not in measured
    assert "≈" not in measured
    assert "url(#hatch)" in predicted
    assert "≈ 2.6 ms" in predicted


def test_the_page_says_what_is_not_known() -> None:
    remedies = (replace(CPU_WINS.remedies[0], id="window_loop", gain_ms=None),)
    text = Seen(why_page(replace(CPU_WINS, remedies=remedies), None).decode()).text
    assert "What these would save: window_loop." in text
    assert "aten::foo is not known; it was priced by its bytes." in text


def test_an_answer_that_failed_says_so_and_what_is_left() -> None:
    report: WhyReport = SAMPLES["script_failed"]
    text = Seen(why_page(report).decode()).text
    assert "This answer is not complete: train.py failed at step 7" in text
    assert "1.34 ms" in text


def test_priced_lines_stand_in_their_source() -> None:
    text = Seen(why_page(CPU_WINS, PICTURED).decode()).text
    assert re.search(r"58 ?0.90 ms ?0.12 ms ?loss.backward\(\)", " ".join(text.split()))


def test_the_page_of_a_trace_has_the_same_guarantees() -> None:
    """Hostile names in its fields stay text, and what it shows is measured: nothing is hatched."""
    interval = Interval(1.0, 1.1, 1.2)
    finding = Finding(EVIL, EVIL, EVIL, interval, EVIL, (Site(EVIL, 1, EVIL, interval),), (EVIL,))
    report = TraceReport(
        EVIL, EVIL, EVIL, 9, (TraceStep(EVIL, 1.1),), interval, (Share("launch", 1.1, 1.0),), (finding,), (EVIL,), 0.5, 0.6, 3,
        interval, (RankResult(0, 0.5, 0.6, interval, EVIL, 0.1),),
    )  # fmt: skip
    page = trace_page(report, replace(hostile()[1].steps[0], source="measured"))
    check(page)
    assert b"<img" not in page
    assert b'class="bar predicted"' not in page
    assert b'class="over"' not in page


def test_what_a_trace_says_that_a_remedy_saves_is_shown_as_predicted() -> None:
    remedy = Remedy("pin_memory", "A100", Interval(0.1, 0.2, 0.3), "")
    report = TraceReport(
        "t.json", "kineto", "A100", 9, (TraceStep("step 0", 1.1),), Interval(1.0, 1.1, 1.2), (), (), remedies=(remedy,)
    )
    text = " ".join(Seen(trace_page(report).decode()).text.split())
    assert "predicted saves ≈ 0.20 ms (0.10–0.30) of a step on the A100" in text
    assert "What a remedy saves: the recorded step was played again" in text
    assert "without a figure" not in text


def test_another_gpu_that_was_asked_for_stands_on_the_page_of_a_trace_as_predicted() -> None:
    devices = (
        DeviceResult("A100", "gpu", "measured", Interval(1.0, 1.1, 1.2)),
        DeviceResult("Tesla T4", "gpu", "predicted", Interval(2.0, 3.0, 4.0)),
    )
    report = TraceReport(
        "t.json", "kineto", "A100", 9, (TraceStep("step 0", 1.1),), Interval(1.0, 1.1, 1.2), (), (), devices=devices
    )
    text = " ".join(Seen(trace_page(report).decode()).text.split())
    assert "Tesla T4≈ 3.0 mspredicted (2.0–4.0)" in text


def test_a_trace_without_steps_speaks_of_the_traced_time_and_of_no_range_of_one_value() -> None:
    once = Interval(229.0, 229.0, 229.0)
    report = TraceReport(
        "t.json", "kineto", "A100", 9, (), once, (), (Finding("warmup", "A100", "warmup", once, "Set-up.", (), ()),)
    )
    text = " ".join(Seen(trace_page(report).decode()).text.split())
    assert "Its part of the traced time: 229 ms." in text


PAGES = {
    "sweep": (sweep_page, answers.sweep_answer()),
    "fix": (fix_page, answers.fix_answer()),
    "fix by race": (fix_page, answers.fix_by_race()),
    "race": (race_page, answers.race_answer()),
    "compare": (compare_page, answers.compare_answer()),
}


@pytest.mark.parametrize("kind", PAGES)
def test_the_page_of_every_verb_loads_nothing(kind: str) -> None:
    page, answer = PAGES[kind]
    check(page(answer))


@pytest.mark.parametrize("kind", PAGES)
def test_hostile_names_in_every_field_of_every_answer_stay_text(kind: str) -> None:
    page, answer = PAGES[kind]
    content = page(answers.hostile(answer), command=EVIL)
    seen = check(content)
    assert "pwned" in seen.text
    assert b"<img" not in content
    assert b"pwned=1</script>" not in content
    assert "\u202e".encode() not in content


def test_a_remedy_shows_what_was_predicted_beside_what_was_proven() -> None:
    text = " ".join(Seen(fix_page(answers.fix_answer()).decode()).text.split())
    assert "predicted saves ≈ 3.5 ms (2.0–5.0) of a step on this machine's CPU" in text
    assert "proven Measured on this machine's CPU: 1.42× (1.35–1.50) the steps a second" in text
    assert "- optimizer.zero_grad(set_to_none=False) + optimizer.zero_grad(set_to_none=True)" in text
    assert "The promise holds yes" in text.replace("holdsyes", "holds yes")
    assert "not kept" in text


def test_a_change_without_a_proof_says_that_nothing_was_run() -> None:
    text = " ".join(Seen(fix_page(replace(answers.fix_answer(), proof=None, error=None)).decode()).text.split())
    assert "This change is not proven yet" in text
    assert "nothing was run" in text
    assert "The certificate" not in text


def test_a_comparison_of_predictions_is_hatched() -> None:
    answer = replace(answers.compare_answer(), sources=("predicted", "predicted"))
    page = compare_page(answer).decode()
    assert page.count('class="bar predicted"') == 2
    assert "One step takes ≈ 69 ms in the first and ≈ 23 ms in the second; what differs most is input: ≈ -47 ms." in page
    assert 'class="bar predicted"' not in compare_page(answers.compare_answer()).decode()


def test_a_comparison_says_which_changes_are_real() -> None:
    text = " ".join(Seen(compare_page(answers.compare_answer()).decode()).text.split())
    assert "input: waiting for the next batch of data: 47.1 ms less in the second, 68 % of the first's step." in text
    assert "+1.20 mswithin the spread" in text


def test_a_grid_that_is_too_much_for_a_page_keeps_its_sliders_and_its_size() -> None:
    """Thousands of cells: the other parameters stay at their middle values, and the page says so."""
    answer = answers.sweep_answer()
    batches = tuple(range(1, 2001))
    cells = tuple(replace(answer.cells[0], values={"batch": b, "hidden": h}, batch=b) for b in batches for h in answers.HIDDEN)
    parameters = (replace(answer.parameters[0], values=batches), answer.parameters[1])
    page = sweep_page(replace(answer, parameters=parameters, cells=cells))
    check(page)
    assert "too much for a page" in page.decode()


def test_a_sweep_whose_cells_all_failed_has_a_page() -> None:
    answer = answers.sweep_answer()
    cells = tuple(replace(cell, devices=(), fastest=None, probability=None, error="out of memory") for cell in answer.cells)
    text = Seen(sweep_page(replace(answer, cells=cells, crossings=(), costs=(), paybacks=())).decode()).text
    assert "No cell could be answered." in text
    assert "21 cells: nothing like them could be run." in text
