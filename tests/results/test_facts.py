"""Facts are read from what a recording hands over; what it did not notice is absent, not zero."""

from __future__ import annotations

from breakeven.results.facts import ClockSpan, Facts, Threads, facts_of
from breakeven.timeline import Site

WHERE = {"file": "train.py", "line": 7, "text": "seven", "function": ""}
SITE = Site("train.py", 7, "seven")


def test_nothing_noticed_is_no_fact() -> None:
    assert facts_of({}, gpu_visible=False) == Facts()


def test_records_become_facts_with_their_lines() -> None:
    noticed = {
        "is_available": [{"sites": [WHERE], "values": {"count": 1}}],
        "device_mismatch": [{"sites": [WHERE], "values": {"op": "aten::addmm", "error": "two devices"}}],
        "no_sync": [{"sites": [WHERE, WHERE], "values": {"issued": 7, "pending": 900}}],
        "first_call": [{"sites": [WHERE], "values": {"issued": 7, "novel": 5, "first": True}}],
        "padding": [{"sites": [WHERE], "values": {"total": 100, "real": 20, "timesteps": 50}}],
        "denormals": [{"sites": [], "values": {"op": "aten::mm", "fraction": 0.5}}],
        "threads": [{"sites": [], "values": {"threads": 64, "cores": 2}}],
        "lifted": [{"sites": [], "values": {}}],
    }
    facts = facts_of(noticed, gpu_visible=False)
    assert [(a.site, a.truth) for a in facts.asked] == [(SITE, False)]
    assert facts.mismatches[0].message == "two devices"
    assert facts.clocks == (
        ClockSpan(SITE, SITE, operations=7, after_wait=7),
        ClockSpan(SITE, None, operations=7, after_wait=0, first_work=True, novel=5),
    )
    assert (facts.padding[0].real, facts.denormals[0].share, facts.threads) == (20, 0.5, Threads(64, 2))
    assert facts.lifted


def test_threads_of_the_timing_pass_count_before_those_of_the_recording() -> None:
    noticed = {"threads": [{"sites": [], "values": {"threads": 64, "cores": 2}}]}
    assert facts_of(noticed, gpu_visible=True, threads=Threads(1, 1)).threads == Threads(1, 1)
