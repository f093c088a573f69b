"""The summary table: which device each example wants, from which size on, why, and what to do first.

    python tools/summary_table.py                  runs all examples and writes benchmarks/summary.json (minutes)
    python tools/summary_table.py char_rnn.py …    runs these again and leaves the others as they are

`make docs` writes the table from that file into docs/summary.md and between the marks in README.md.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "benchmarks" / "summary.json"
BEGIN, END = "<!-- BEGIN SUMMARY -->", "<!-- END SUMMARY -->"
GPUS = ("t4", "l4", "v100", "a100")
HOST = "colab"
#: Each example with the parameter that its size is varied by; None: the recording's own batch, or none.
EXAMPLES: dict[str, str | None] = {
    "char_rnn.py": "window=16:1024:x4",
    "tiny_transformer.py": "batch=8:512:x4",
    "cnn_lstm.py": "batch=8:256:x4",
    "tagger_bilstm.py": "batch=8:512:x4",
    "reviews.py": None,
    "matmul.py": None,
}

#: What a script is called with where its own default would take minutes on a CPU.
ARGUMENTS: dict[str, tuple[str, ...]] = {"matmul.py": ("2000",)}

HEAD = """\
# Which device the examples want

{note}
Measured on the CPU below and predicted for four GPUs in a Colab host, by `python tools/summary_table.py`. "Level" means that the
interval of the factor holds 1. The price of a finding and the gain of a remedy are simulations.
"""
INTRODUCTION = """\
## Which device the examples want

Measured on a CPU of {cores} cores and predicted for four GPUs in a Colab host ([how](docs/summary.md)); "level" means that the
interval of the factor holds 1.
"""
COLUMNS = "| example | a step here | {gpus} | from which size on ({first}) | why ({first}) | first remedy ({first}) |"


def main(chosen: list[str]) -> int:
    """Run the examples and write the data after each, so that what was finished is kept."""
    unknown = [name for name in chosen if name not in EXAMPLES]
    if unknown:
        print(f"{unknown[0]} is no example; there are {', '.join(EXAMPLES)}")
        return 2
    rows = {row["example"]: row for row in json.loads(DATA.read_text(encoding="utf-8"))["rows"]} if DATA.is_file() else {}
    for example in chosen or EXAMPLES:
        print(f"{example} ...", flush=True)
        why = called("why", example, "--host", HOST)
        vary = EXAMPLES[example]
        swept = called("sweep", example, "--host", HOST, "--vary", vary, "--measure", "4") if vary else None
        rows[example] = {"example": example, "why": trimmed_why(why), "sweep": trimmed_sweep(swept)}
        kept = [rows[name] for name in EXAMPLES if name in rows]
        DATA.write_text(json.dumps({"rows": kept}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def called(verb: str, example: str, *options: str) -> dict[str, Any]:
    """The JSON of one command."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "answer.json"
        gpus = [part for gpu in GPUS for part in ("--gpu", gpu)]
        call = [sys.executable, "-m", "breakeven", verb, f"examples/{example}", *gpus, *options, "-q", "--json", str(file)]
        call += ["--", *ARGUMENTS[example]] if example in ARGUMENTS else []
        subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env={**os.environ})
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found


def trimmed_why(report: dict[str, Any]) -> dict[str, Any]:
    """What the table needs of `why`."""
    cpu = next(d["step_ms"] for d in report["devices"] if d["kind"] == "cpu")
    first = report["verdicts"][0]
    gpu = first["device"] if first["device"] != "cpu" else first["over"]
    return {
        "cpu": report["machine"]["cpu"]["model"], "cores": report["machine"]["cpu"]["cores"], "step_ms": cpu,
        "verdicts": [{k: v[k] for k in ("device", "over", "factor", "tie")} for v in report["verdicts"]],
        "finding": next((f["id"] for f in report["findings"] if f["device"] == gpu), None),
        "remedy": next((r["id"] for r in report["remedies"] if r["device"] in (gpu, "cpu")), None),
        "break_even": next((b["sentence"] for b in report["break_even"] if b["gpu"] == gpu), None),
    }  # fmt: skip


def trimmed_sweep(report: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the table needs of `sweep`: the first crossing of each GPU."""
    if report is None:
        return None
    return {"crossings": {c["gpu"]: c["sentence"] for c in report["crossings"]}}


def table() -> str:
    """The table, from the data."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))["rows"]
    names = [v["device"] if v["device"] != "cpu" else v["over"] for v in rows[0]["why"]["verdicts"]]
    head = COLUMNS.format(gpus=" | ".join(names), first=names[0])
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *(line(row, names[0]) for row in rows)]) + "\n"


def line(row: dict[str, Any], first: str) -> str:
    """One example."""
    why, swept = row["why"], row["sweep"]
    size = (swept or {}).get("crossings", {}).get(first) or why["break_even"] or "–"
    cells = [
        f"[{' '.join((row['example'].removesuffix('.py'), *ARGUMENTS.get(row['example'], ())))}](EXAMPLES/{row['example']})",
        f"{why['step_ms']['mid']:.3g} ms",
        *(_verdict(v) for v in why["verdicts"]), size.replace("|", "¦"), f"`{why['finding']}`" if why["finding"] else "–",
        f"`{why['remedy']}`" if why["remedy"] else "–",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _verdict(verdict: dict[str, Any]) -> str:
    factor = verdict["factor"]
    span = f"{factor['mid']:.2g}× ({factor['low']:.2g}–{factor['high']:.2g})"
    winner = "CPU" if verdict["device"] == "cpu" else "GPU"
    return f"level, {winner} {span}" if verdict["tie"] else f"**{winner}** {span}"


def page(note: str) -> str:
    """docs/summary.md."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))["rows"]
    cpu = rows[0]["why"]
    return f"{HEAD.format(note=note)}\nCPU: {cpu['cpu']}, {cpu['cores']} cores.\n\n{table().replace('EXAMPLES', '../examples')}"


def in_index(index: str) -> str:
    """docs/index.md with the page's line after that of sweeps."""
    if "](summary.md)" in index:
        return index
    head, mark, rest = index.partition("- [Prices of single operations]")
    return f"{head}- [Which device the examples want](summary.md): six scripts on four GPUs and the CPU.\n{mark}{rest}"


def in_readme(readme: str) -> str:
    """README.md with the table between its marks, which stand before its last section where there are none yet."""
    if BEGIN not in readme:
        head, mark, rest = readme.partition("## More\n")
        readme = f"{head}{BEGIN}\n{END}\n\n{mark}{rest}"
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    cores = json.loads(DATA.read_text(encoding="utf-8"))["rows"][0]["why"]["cores"]
    return f"{before}{BEGIN}\n{INTRODUCTION.format(cores=cores)}\n{table().replace('EXAMPLES', 'examples')}{END}{after}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
