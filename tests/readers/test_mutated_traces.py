"""Traces with bytes changed at random: an answer or one clear error, and nothing else."""

from __future__ import annotations

import pathlib
import random
from collections.abc import Callable

import pytest

from breakeven.diagnose.imported.evidence import evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.diagnose.imported.own_times import own_times
from breakeven.diagnose.imported.what_if import EDITS, MOST_ISSUES, WhatIf
from breakeven.errors import BreakevenError
from breakeven.readers import read
from tests.readers import made

SHORT = 60
MAKERS: dict[str, Callable[[pathlib.Path], pathlib.Path]] = {"json": made.kineto, "sqlite": made.nsys, "pb": made.xplane}
#: What is put in: what parsers stumble over.
PIECES = (
    b"",
    b"\x00",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"-",
    b"e999",
    b"9" * 40,
    b"NaN",
    b"null",
    b"\\",
    b"\x80" * 9,
    b'{"ph":"X"}',
)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Some bytes replaced, removed or doubled."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 2, 8, 40))):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((0, 1, 1, 4, 64))
        data[at : at + length] = rng.choice(PIECES) if rng.random() < 0.7 else bytes(data[at : at + length]) * 2
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.1 else data)


def answered(path: pathlib.Path) -> None:
    """Everything that a command does with a file, or an error that says in one line what is wrong."""
    try:
        traces, _ = read([path])
    except BreakevenError:
        return
    for trace in traces:
        try:
            evidence = evidence_from(trace.timeline, trace.devices, trace.shapes)
        except ValueError:  # nothing to account for
            continue
        trace_findings(evidence)
        own = own_times(evidence)
        if own is not None and len(own.schedule) <= MOST_ISSUES:
            what_if = WhatIf.of(own, evidence)
            for remedy in EDITS:
                what_if.gain(remedy)
        assert sum(evidence.account_ms.values()) == pytest.approx(evidence.step_ms.mid)


def run(folder: pathlib.Path, sources: list[pathlib.Path], count: int, seed: int) -> None:
    """Mutants of each source, by a seed that the test's name tells."""
    rng = random.Random(seed)
    for source in sources:
        content = source.read_bytes()
        for number in range(count):
            path = folder / f"{number}{source.suffix}"
            path.write_bytes(mutated(content, rng))
            answered(path)
            path.unlink()


@pytest.mark.parametrize("kind", MAKERS)
def test_mutants_of_small_traces_are_answered_or_refused(tmp_path: pathlib.Path, kind: str) -> None:
    """No other error than those of this project leaves the readers."""
    run(tmp_path, [MAKERS[kind](tmp_path / f"source.{kind}")], SHORT, seed=4)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(8))
def test_mutants_of_real_traces_are_answered_or_refused(tmp_path: pathlib.Path, shared: pathlib.Path, seed: int) -> None:
    """Twenty thousand and more, over all public traces up to a megabyte unpacked."""
    import gzip

    sources = []
    for path in sorted((shared / "traces").iterdir()):
        if path.suffix not in (".gz", ".sqlite", ".pb") or path.name.endswith(".tar.gz"):
            continue
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if len(content) < 1_000_000:
            copied = tmp_path / (path.name.removesuffix(".gz"))
            copied.write_bytes(content)
            sources.append(copied)
    run(tmp_path, sources, max(1, 20_000 // (8 * max(1, len(sources))) + 1), seed)
