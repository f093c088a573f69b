"""What other tools say of the same traces, and how long they take: `python benchmarks/traces_beside_peers.py TRACES...`.

Each tool runs in a process of its own, on the same machine, one after another. The peers are installed into an environment apart:

    python -m venv build/peers && build/peers/bin/pip install traceinsight TraceLens gpu-idle nsys-ai traceml-ai

One that is not there is left out, and said so. Times are of this run and this machine; rerun it before you quote them.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

#: HTA: loading and its temporal breakdown, as its own documentation calls them.
HTA = """
import logging, sys, time
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
from hta.analyzers.breakdown_analysis import BreakdownAnalysis
began = time.perf_counter()
trace = Trace(trace_files={0: sys.argv[1]}, trace_dir="")
trace.parse_traces(use_multiprocessing=False)
loaded = time.perf_counter()
try:
    table = BreakdownAnalysis.get_temporal_breakdown(trace, visualize=False)
    said = "; ".join(f"{c} {table[c].iloc[0]}" for c in table.columns if c.endswith("pctg"))
except Exception as error:  # a peer's fault is its answer
    said = f"{len(trace.get_trace(0))} events loaded; its breakdown: {type(error).__name__} {error}".strip()
print("SAID", loaded - began, said)
"""

#: This project: loading alone, then everything that `breakeven trace` does.
OURS = """
import sys, time
from pathlib import Path
from breakeven.readers import read
from breakeven.workflows.trace import TraceRequest, trace
began = time.perf_counter()
read([Path(sys.argv[1])])
loaded = time.perf_counter()
report, _ = trace(TraceRequest((Path(sys.argv[1]),)))
done = time.perf_counter()
said = "; ".join(f"{f.id} {f.price_ms.mid:.3g} of {report.step_ms.mid:.3g} ms" for f in report.findings[:2] if f.price_ms)
print("SAID", done - loaded, said or "nothing stands out")
"""

#: Peers that are commands: name and call; {file} is the trace.
COMMANDS = (
    ("TraceLens", ("TraceLens_generate_perf_report_pytorch", "--profile_json_path", "{file}")),
    ("gpu-idle", ("gpu-idle", "{file}")),
    ("nsys-ai", ("nsys-ai", "report", "{file}")),
    ("traceml-ai", ("traceml", "view", "{file}")),
)


def main() -> int:
    """Runs all tools on all files, and writes the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("traces", nargs="+", type=pathlib.Path)
    ask.add_argument("--python", default="build/peers/bin/python", help="the interpreter of the peers' environment")
    ask.add_argument("--repeat", type=int, default=3)
    ask.add_argument("-o", "--output", type=pathlib.Path)
    args = ask.parse_args()
    rows = [row for path in args.traces for row in beside(path, args.python, args.repeat)]
    table = "\n".join(["| file | tool | seconds | peak MB | what it says |", "|---|---|---|---|---|", *rows]) + "\n"
    if args.output:
        text = args.output.read_text(encoding="utf-8")
        head, _, rest = text.partition("<!-- table -->")
        _, _, tail = rest.partition("<!-- end -->")
        args.output.write_text(f"{head}<!-- table -->\n\n{table}\n<!-- end -->{tail}", encoding="utf-8")
    print(table)
    return 0


def beside(path: pathlib.Path, peers: str, repeat: int) -> list[str]:
    """Rows of one file: each tool's seconds (the best of some runs), peak memory and answer."""
    with tempfile.TemporaryDirectory() as folder:
        forms = [path]
        if path.suffix == ".gz":
            plain = pathlib.Path(folder) / path.name.removesuffix(".gz")
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            forms = [plain, path]
        rows = []
        for form in forms:
            ours = best(form, [sys.executable, "-c", OURS, str(form)], repeat)
            rows.append(row(form, "breakeven", ours))
            hta = best(form, [peers, "-c", HTA, str(form)], repeat)
            rows.append(row(form, "HTA (loading)", hta))
            if ours[0] and hta[0]:
                faster, smaller = hta[0] / ours[0], hta[1] / ours[1]
                rows.append(f"| {form.name} | ratio | {faster:.1f} × | {smaller:.2f} × | HTA loads, breakeven answers |")
        for name, call in COMMANDS:
            command = [
                str(pathlib.Path(peers).parent / call[0]),
                *(part.replace("{file}", str(path.resolve())) for part in call[1:]),
            ]
            rows.append(row(path, name, best(path, command, 1, folder)))
    return rows


def row(path: pathlib.Path, tool: str, found: tuple[float | None, float, str]) -> str:
    """One line of the table."""
    seconds, peak, said = found
    shown = "–" if seconds is None else f"{seconds:.2f}"
    return f"| {path.name} | {tool} | {shown} | {peak:.0f} | {said.replace('|', '¦')[:160]} |"


def best(path: pathlib.Path, command: list[str], repeat: int, folder: str | None = None) -> tuple[float | None, float, str]:
    """Least seconds, peak memory in MB, and what it said."""
    if not pathlib.Path(command[0]).exists():
        return None, 0.0, "not installed here"
    least, peak, said = None, 0.0, ""
    for _ in range(repeat):
        began = time.perf_counter()
        pid_out = pathlib.Path(tempfile.mkstemp()[1])
        with pid_out.open("wb") as out:
            child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, stdin=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
        whole = time.perf_counter() - began
        text = pid_out.read_text(errors="replace")
        pid_out.unlink()
        told = next((line for line in text.splitlines() if line.startswith("SAID ")), None)
        seconds = float(told.split()[1]) if told else whole
        answer = (
            " ".join(told.split()[2:])
            if told
            else (text.strip().splitlines() or [f"exit {os.waitstatus_to_exitcode(status)}"])[-1]
        )
        if least is None or seconds < least:
            least, peak, said = seconds, usage.ru_maxrss / 1024, answer
    return least, peak, said


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
