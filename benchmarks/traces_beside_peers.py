"""What other tools say of the same traces, and how long they take: `python benchmarks/traces_beside_peers.py TRACES...`.

Each tool runs in a process of its own, on the same machine, one after another; this project and HTA take turns, so that what else
the machine does meets both. `--install` makes an environment for each peer under `--peers` first. One that is not there, or that
does not read such a file, is shown with what it says. Times are of this run and this machine; rerun it before you quote them.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Final, NamedTuple

#: HTA: loading and its temporal breakdown, as its own documentation calls them.
HTA: Final = """
import logging, sys, time
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
from hta.analyzers.breakdown_analysis import BreakdownAnalysis
began, worked = time.perf_counter(), time.process_time()
trace = Trace(trace_files={0: sys.argv[1]}, trace_dir="")
trace.parse_traces(use_multiprocessing=False)
loaded, worked = time.perf_counter(), time.process_time() - worked
try:
    table = BreakdownAnalysis.get_temporal_breakdown(trace, visualize=False)
    said = "; ".join(f"{c} {table[c].iloc[0]}" for c in table.columns if c.endswith("pctg"))
except Exception as error:  # a peer's fault is its answer
    said = f"{len(trace.get_trace(0))} events loaded; its breakdown: {type(error).__name__} {error}".strip()
print("SAID", loaded - began, worked, said)
"""

#: This project: load, account and findings, within a process that has its imports behind it.
OURS: Final = """
import sys, time
from pathlib import Path
from breakeven.workflows.trace import TraceRequest, trace
began, worked = time.perf_counter(), time.process_time()
report, _ = trace(TraceRequest((Path(sys.argv[1]),)))
done, worked = time.perf_counter(), time.process_time() - worked
said = "; ".join(f"{f.id} {f.price_ms.mid:.3g} of {report.step_ms.mid:.3g} ms" for f in report.findings[:2] if f.price_ms)
print("SAID", done - began, worked, said or "nothing stands out")
"""


class Peer(NamedTuple):
    """A tool that is a command.

    Attributes:
        name: of the tool.
        package: on PyPI; empty: it is not there.
        call: its command; `{file}` is the trace.
        why_not: what to say where it cannot be installed.
    """

    name: str
    package: str
    call: tuple[str, ...]
    why_not: str = ""


HTA_PACKAGE: Final = "traceinsight"
PEERS: Final = (
    Peer("gpu-idle", "gpu-idle", ("gpu-idle", "{file}")),
    Peer("nsys-ai", "nsys-ai", ("nsys-ai", "report", "{file}", "--gpu", "0", "--trim", "0", "1000000")),
    Peer("traceml-ai", "traceml-ai", ("traceml", "view", "{file}")),
    Peer(
        "TraceLens", "", (),
        "not run: AMD's TraceLens is on GitHub only; the package of that name on PyPI is another project (agents' evaluations)",
    ),
)  # fmt: skip


def main() -> int:
    """Runs all tools on all files, and writes the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("traces", nargs="+", type=pathlib.Path)
    ask.add_argument("--peers", default="build/peers", type=pathlib.Path, help="folder of the peers' environments")
    ask.add_argument("--install", action="store_true", help="make those that are not there")
    ask.add_argument("--repeat", type=int, default=5)
    ask.add_argument("-o", "--output", type=pathlib.Path)
    args = ask.parse_args()
    if args.install:
        install(args.peers)
    rows = [row for path in args.traces for row in beside(path, args.peers, args.repeat)]
    table = (
        "\n".join(["| file | tool | seconds of the processor | peak MB | what it says |", "|---|---|---|---|---|", *rows]) + "\n"
    )
    if args.output:
        text = args.output.read_text(encoding="utf-8") if args.output.exists() else ""
        head, _, rest = text.partition("<!-- table -->")
        _, _, tail = rest.partition("<!-- end -->")
        args.output.write_text(f"{head}<!-- table -->\n\n{table}\n<!-- end -->{tail}", encoding="utf-8")
    print(table)
    return 0


def install(folder: pathlib.Path) -> None:
    """One environment for each peer: their requirements do not agree with each other."""
    for package in (HTA_PACKAGE, *(peer.package for peer in PEERS if peer.package)):
        home = folder / package
        if not home.exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            subprocess.run([str(home / "bin" / "pip"), "install", "-q", package], check=False)


def beside(path: pathlib.Path, peers: pathlib.Path, repeat: int) -> list[str]:
    """Rows of one file."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        forms = [path]
        if path.suffix == ".gz" and not path.name.endswith(".tar.gz"):
            plain = folder / path.name.removesuffix(".gz")
            with gzip.open(path) as packed, plain.open("wb") as out:
                shutil.copyfileobj(packed, out)  # block by block: a child's peak begins at its parent's size
            forms = [plain, path]
        rows = []
        for form in forms:
            rows += against_hta(form, peers / HTA_PACKAGE / "bin" / "python", repeat)
        for peer in PEERS:
            if not peer.package:
                rows.append(row(path, peer.name, Ran(None, 0.0, peer.why_not)))
                continue
            given = forms[0] if peer.name == "gpu-idle" else writable(path, folder)
            command = [
                str(peers / peer.package / "bin" / peer.call[0]),
                *(p.replace("{file}", str(given)) for p in peer.call[1:]),
            ]
            rows.append(row(given, peer.name, run(command, folder)))
        return rows


def writable(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy, for tools that write beside the file."""
    copied = folder / path.name
    if not copied.exists():
        shutil.copyfile(path, copied)
    return copied


class Ran(NamedTuple):
    """What a tool took and said; seconds None: it did not run. `cpu_s`: of the processor, which other load hardly changes."""

    seconds: float | None
    peak_mb: float
    said: str
    cpu_s: float = 0.0


def against_hta(form: pathlib.Path, hta: pathlib.Path, repeat: int) -> list[str]:
    """Both in turns; the ratio is the median of the turns', of the processor's time: other load changes that little."""
    pairs = [
        (run([sys.executable, "-c", OURS, str(form)]), run([str(hta), "-c", HTA, str(form)]))
        for _ in range(repeat)
    ]  # fmt: skip
    ours, theirs = (min((pair[i] for pair in pairs), key=lambda ran: ran.cpu_s or 1e9) for i in (0, 1))
    rows = [row(form, "breakeven: load, account, findings", ours), row(form, "HTA: load", theirs)]
    ratios = sorted(b.cpu_s / a.cpu_s for a, b in pairs if a.cpu_s and b.cpu_s)
    if ratios and not theirs.said.startswith("failed"):
        smaller = statistics.median(a.peak_mb / b.peak_mb for a, b in pairs if b.peak_mb)
        about = f"{repeat} turns: {ratios[0]:.1f} to {ratios[-1]:.1f} times as fast; peak memory {smaller:.2f} of HTA's"
        rows.append(f"| {form.name} | ratio | {statistics.median(ratios):.1f} × | {smaller:.2f} × | {about} |")
    return rows


def row(path: pathlib.Path, tool: str, ran: Ran) -> str:
    """One line of the table."""
    shown = "–" if ran.seconds is None else f"{ran.cpu_s:.2f}"
    peak = "–" if ran.seconds is None else f"{ran.peak_mb:.0f}"
    return f"| {path.name} | {tool} | {shown} | {peak} | {' '.join(ran.said.replace('|', '¦').split())[:200]} |"


def run(command: list[str], folder: pathlib.Path | None = None) -> Ran:
    """Seconds (its own where it prints them, else of the whole process), peak memory, and what it said."""
    if not pathlib.Path(command[0]).exists():
        return Ran(None, 0.0, "not installed here")
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        whole = time.perf_counter() - began
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status)
    told = next((line for line in text.splitlines() if line.startswith("SAID ")), None)
    if told is not None:
        seconds, worked, *said = told.split()[1:]
        return Ran(float(seconds), usage.ru_maxrss / 1024, " ".join(said), float(worked))
    return Ran(whole, usage.ru_maxrss / 1024, answer(text, code), usage.ru_utime + usage.ru_stime)


def answer(text: str, code: int) -> str:
    """The gist of what a command printed: its last line where it failed, else its lines in a row."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and "duckdb" not in line.lower()]
    lines = [line for line in lines if not line.startswith(("Extension", "Failed to download", "For more info"))]
    if code != 0:
        return f"failed: {lines[-1] if lines else f'exit {code}'}"
    return " / ".join(lines) or "nothing"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
