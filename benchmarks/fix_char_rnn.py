"""Proves every admissible combination of remedies on `examples/char_rnn.py`, and compares the best with what `fix` takes.

Each combination runs against the unchanged script, in alternation; figures are for one thread of this machine's CPU unless
`--threads` says otherwise. Many combinations take many minutes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import sys

from breakeven.capture.proof.prove import Claim, prove
from breakeven.capture.request import CaptureRequest
from breakeven.errors import BreakevenError
from breakeven.remedies.edits import Edited, edit, edits
from breakeven.results import Interval
from breakeven.workflows.fix import NAMED_ONLY, FixRequest, fix, promise_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "char_rnn.py"


def admissible(text: str) -> list[str]:
    """Remedies that keep the mathematics and change this script."""
    known = [name for name, one in edits().items() if one.promise != "changes_mathematics" and name not in NAMED_ONLY]
    return [name for name in known if isinstance(edit(name, str(SCRIPT), text), Edited)]


def changed(names: tuple[str, ...], text: str) -> str:
    """The script with these remedies carried out."""
    for name in names:
        done = edit(name, str(SCRIPT), text)
        text = done.text if isinstance(done, Edited) else text
    return text


def shown(speedup: Interval | None) -> str:
    """A speed-up with its interval."""
    return "–" if speedup is None else f"{speedup.mid:.2f} ({speedup.low:.2f} to {speedup.high:.2f})"


def main() -> None:
    """Print one line for each combination, then what `fix` takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--without", nargs="*", default=["compile"], help="remedies that are left out")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    text = SCRIPT.read_text(encoding="utf-8")
    names = [name for name in admissible(text) if name not in args.without]
    print(f"admissible: {', '.join(names)}")
    best = (1.0, "none")
    for size in range(1, len(names) + 1):
        for some in itertools.combinations(names, size):
            promise, tolerance = promise_of(some)
            claim = Claim(CaptureRequest(str(SCRIPT)), None, changed(some, text), promise, tolerance, seconds=args.seconds)
            try:
                proof = prove(claim)
            except BreakevenError as error:
                sys.exit(str(error))
            equal = proof.equality is not None and proof.equality.holds
            print(
                f"{' + '.join(some):60} wall {shown(proof.speedup)}  processor {shown(proof.cpu_speedup)}  equal {equal}",
                flush=True,
            )
            if equal and proof.cpu_speedup is not None:
                best = max(best, (proof.cpu_speedup.mid, " + ".join(some)))
    report = fix(FixRequest(str(SCRIPT), prove=True, seconds=args.seconds))
    taken = [one.id for one in report.remedies if one.kept]
    proven = None if report.proof is None else report.proof.cpu_speedup
    print(f"best of all: {best[1]} at {best[0]:.2f}; fix takes {' + '.join(taken) or 'none'} at {shown(proven)}")
    off = "not known" if report.error is None else f"{100 * report.error:+.0f} %"
    print(f"predicted {shown(report.predicted)}; predicted saving against the proven one: {off}")


if __name__ == "__main__":
    main()
