"""Proves every admissible combination of remedies on `examples/char_rnn.py`, and compares the best with what `fix` takes.

Each combination runs against the unchanged script, in alternation; figures are for one thread of this machine's CPU unless
`--threads` says otherwise. Many combinations take many minutes: what is done is kept in `--results`, a later call goes on from
there, and `--turn S` ends a call after about so many seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time

from breakeven.capture.proof.prove import Claim, prove
from breakeven.capture.request import CaptureRequest
from breakeven.errors import BreakevenError
from breakeven.remedies.edits import Edited, edit, edits
from breakeven.results import Interval
from breakeven.workflows.fix import NAMED_ONLY, FixRequest, fix, promise_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "examples" / "char_rnn.py"
#: What `fix` takes has this name among the results.
FIX = "fix"


def admissible(text: str) -> list[str]:
    """Remedies that keep the mathematics and change this script; what it has no denormal numbers for is left out, as by `fix`."""
    known = [name for name, one in edits().items() if one.promise != "changes_mathematics" and name not in NAMED_ONLY]
    return [n for n in known if n != "flush_denormals" and isinstance(edit(n, str(SCRIPT), text), Edited)]


def combinations(text: str) -> dict[str, str]:
    """Each combination that can be carried out, with the text; what compiles comes last, since others look at the loop."""
    found = {"": text}
    for name in reversed(admissible(text)):
        for names, before in list(found.items()):
            done = edit(name, str(SCRIPT), before)
            if isinstance(done, Edited):
                found[" + ".join(sorted((*filter(None, names.split(" + ")), name)))] = done.text
    del found[""]
    return found


def listed(path: pathlib.Path) -> dict[str, str]:
    """The combinations, from a file beside the results where they were listed before: reading the script takes a while."""
    text = SCRIPT.read_text(encoding="utf-8")
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if held.get("script") != text:
        held = {"script": text, "combinations": combinations(text)}
        path.write_text(json.dumps(held), encoding="utf-8")
    return dict(held["combinations"])


def shown(speedup: Interval | None) -> str:
    """A speed-up with its interval."""
    return "–" if speedup is None else f"{speedup.mid:.2f} ({speedup.low:.2f} to {speedup.high:.2f})"


def kept(path: pathlib.Path) -> dict[str, dict[str, object]]:
    """What earlier calls found, by combination."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {found["remedies"]: found for found in map(json.loads, lines)}


def proven(names: str, text: str, seconds: float) -> dict[str, object]:
    """The proof of one combination."""
    promise, tolerance = promise_of(names.split(" + "))
    proof = prove(Claim(CaptureRequest(str(SCRIPT)), None, text, promise, tolerance, seconds=seconds))
    equal = proof.equality is not None and proof.equality.holds
    print(f"{names:50} wall {shown(proof.speedup)}  processor {shown(proof.cpu_speedup)}  equal {equal}", flush=True)
    mids = [one.mid if one is not None else None for one in (proof.speedup, proof.cpu_speedup)]
    said = None if proof.equality is None else proof.equality.sentence
    return {"remedies": names, "equal": equal, "wall": mids[0], "processor": mids[1], "pairs": proof.pairs, "said": said}


def greedy(seconds: float) -> dict[str, object]:
    """What `fix` takes."""
    report = fix(FixRequest(str(SCRIPT), prove=True, seconds=seconds))
    taken = " + ".join(sorted(one.id for one in report.remedies if one.kept))
    proof = report.proof
    for one in report.remedies:
        if one.gain_ms is not None and one.proof is not None and one.proof.speedup is not None and report.step_ms is not None:
            share = one.gain_ms.mid / report.step_ms.mid
            saved = 1 - 1 / one.proof.speedup.mid
            print(f"{one.id}: predicted to save {share:.1%} of a step, proven {saved:.1%}, apart by {share / saved - 1:+.0%}")
    said = (None, None) if proof is None else (proof.speedup, proof.cpu_speedup)
    print(f"fix takes {taken or 'none'}: wall {shown(said[0])}  processor {shown(said[1])}", flush=True)
    return {"remedies": FIX, "taken": taken}


def compare(found: dict[str, dict[str, object]]) -> None:
    """The best combination beside the one that `fix` takes: by processor time of the same kind of proof."""
    speeds = {name: float(str(one["processor"])) for name, one in found.items() if one.get("equal") and one.get("processor")}
    best = max(speeds, key=lambda name: speeds[name])
    taken = str(found[FIX]["taken"])
    own = next((speed for name, speed in speeds.items() if sorted(name.split(" + ")) == taken.split(" + ")), None)
    print(f"best of {len(found) - 1} combinations: {best} at {speeds[best]:.2f}; fix takes {taken}, proven at {own}")
    if own is not None:
        print(f"that is {own / speeds[best]:.0%} of the best")


def main() -> None:
    """Print one line for each combination, then what `fix` takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("fix_char_rnn.jsonl"))
    parser.add_argument("--list", action="store_true", help="only list the combinations")
    parser.add_argument("--turn", type=float, default=float("inf"), help="seconds after which nothing new is begun")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    until = time.monotonic() + args.turn
    every, done = listed(args.results.with_suffix(".combinations.json")), kept(args.results)
    if args.list:
        print("\n".join(every))
        return
    for name in (*reversed(every), FIX):  # the largest combinations first
        if name in done or time.monotonic() > until:
            continue
        try:
            done[name] = greedy(args.seconds) if name == FIX else proven(name, every[name], args.seconds)
        except BreakevenError as error:
            sys.exit(str(error))
        with args.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[name]) + "\n")
    if set(done) >= {*every, FIX}:
        compare(done)
    else:
        print(f"{len({*every, FIX} - set(done))} are left: call it again")


if __name__ == "__main__":
    main()
