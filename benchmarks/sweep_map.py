"""How long the map over batch and hidden size takes: 64 cells, four GPUs, for three examples.

    python benchmarks/sweep_map.py [EXAMPLE…]

Each example is one call of `breakeven sweep` as a user makes it, start of Python and probe of the machine included. The grid is
the same for all, 8 to 1,024 by 16 to 2,048 (`char_rnn.py` lays its window where others have their batch).
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BATCH, HIDDEN = "8:1024:x2", "16:2048:x2"
EXAMPLES = {"char_rnn.py": "window", "cnn_lstm.py": "batch", "tagger_bilstm.py": "batch"}
GPUS = ("t4", "l4", "v100", "a100")
#: What the map may take on two cores.
LIMIT_S = 60.0


def main(chosen: list[str]) -> int:
    """Run them and print a line for each; 1 where one took too long."""
    slow = 0
    for example in chosen or EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "map.json"
            call = [
                sys.executable, "-m", "breakeven", "sweep", str(ROOT / "examples" / example), "--vary",
                f"{EXAMPLES[example]}={BATCH}", "--vary", f"hidden={HIDDEN}", "-q", "--json", str(out),
                *(part for gpu in GPUS for part in ("--gpu", gpu)),
            ]  # fmt: skip
            began = time.monotonic()
            subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            took = time.monotonic() - began
            said = json.loads(out.read_text(encoding="utf-8"))
        slow += took > LIMIT_S
        runs, load = said["runs"], os.getloadavg()[0]
        ran = f"{runs['timed']} timed, {runs['recorded']} recorded"
        print(f"{example}: {took:.1f} s for {runs['cells']} cells, {ran}; load {load:.1f}", flush=True)
        for check in said["checks"]:
            print(f"    {check['sentence']}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
