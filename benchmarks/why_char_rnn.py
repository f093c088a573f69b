"""Wall time and peak memory of `breakeven why examples/char_rnn.py`, beside those of one plain epoch on the CPU.

Peak memory is that of the whole process tree, sampled from /proc (Linux only): the children of `why` count.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE_S = 0.05


def measure(command: list[str], folder: pathlib.Path) -> tuple[float, float]:
    """Seconds and MiB of one run."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, tree_mib(process.pid))
            time.sleep(SAMPLE_S)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, peak


def tree_mib(root: int) -> float:
    """Resident memory of a process and all beneath it, shared pages by their share."""
    parents, total = {}, 0.0
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    for pid in family:
        try:
            rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) / 1024 for line in rollup.splitlines() if line.startswith("Pss:")), 0.0)
    return total


def main() -> None:
    """Print one line for each of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--breakeven", default=str(pathlib.Path(sys.executable).with_name("breakeven")))
    args = parser.parse_args()
    script = (ROOT / "examples" / "char_rnn.py").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(ROOT / "examples" / "char_rnn.py", folder)
        (folder / "plain.py").write_text(script.replace("cuda", "cpu").replace("EPOCHS = 20", "EPOCHS = 1"))
        commands = {
            "plain, one epoch": [sys.executable, "plain.py"],
            "why": [args.breakeven, "why", "char_rnn.py", "--gpu", "t4", "--host", "colab"],
        }
        print(f"{os.cpu_count()} cores, {args.repeat} runs each, median")
        for label, command in commands.items():
            runs = []
            for _ in range(args.repeat):
                (folder / "char_rnn.pt").unlink(missing_ok=True)
                runs.append(measure(command, folder))
            seconds, mib = (statistics.median(column) for column in zip(*runs, strict=True))
            print(f"{label:18} {seconds:6.1f} s  {mib:6.0f} MiB at the peak")


if __name__ == "__main__":
    main()
