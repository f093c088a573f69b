"""Writes tests/report/html/samples/NAME.json.gz: what `breakeven why --html` shows of each example, made by a real run.

    python tools/make_report_samples.py [NAME...]

A sample is a measurement of the machine that it is made on; the tests of the pages read it, and judge none of its figures.
"""

from __future__ import annotations

import gzip
import os
import pathlib
import sys

from breakeven.report.json import encode
from breakeven.workflows.picturing import pictured
from breakeven.workflows.shown_paths import picture_with_shown_paths, with_shown_paths
from breakeven.workflows.why import WhyRequest, answered

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "tests" / "report" / "html" / "samples"
SECONDS = 3.0
#: What an example needs beside its name to answer within seconds.
ARGUMENTS = {"matmul": ("256",)}


def make(name: str) -> int:
    """One example's sample; its size in bytes."""
    script = f"examples/{name}.py"
    request = WhyRequest(script, args=ARGUMENTS.get(name, ()), gpus=("Tesla T4",), host="colab", seconds=SECONDS, quiet=True)
    answer = answered(request)
    sample = {"report": with_shown_paths(answer.report), "pictured": picture_with_shown_paths(pictured(answer))}
    content = gzip.compress(encode(sample), mtime=0)
    (SAMPLES / f"{name}.json.gz").write_bytes(content)
    return len(content)


def main() -> None:
    """All examples, or those that are named."""
    os.chdir(ROOT)
    SAMPLES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or sorted(path.stem for path in (ROOT / "examples").glob("*.py")):
        sys.stdout.write(f"{name}: {make(name)} bytes\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
