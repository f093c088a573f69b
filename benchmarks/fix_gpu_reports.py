"""Predicts, for a GPU, what remedies bring that someone has reported, and sets the gain beside the reported one.

Each case is a script with the figures of its report. Where the report tells the step on the CPU too, that says how fast the
reporter's host is; else it is taken for this machine.
"""

from __future__ import annotations

import argparse
import pathlib
from dataclasses import dataclass

from breakeven.capture.request import CaptureRequest
from breakeven.workflows.fix_gains import gains_for


@dataclass(frozen=True)
class Report:
    """What was reported.

    Attributes:
        name: start of the script's name.
        gpu: the GPU.
        remedies: what was changed.
        before: seconds before.
        after: seconds after.
        cpu_ms: a step on the reporter's CPU; None: not told.
    """

    name: str
    gpu: str
    remedies: tuple[str, ...]
    before: float
    after: float
    cpu_ms: float | None = None


REPORTS = (
    #: 17 minutes an epoch with recurrent dropout, which keeps cuDNN's fused layer away, 40 s without.
    Report("R046", "RTX 2080", ("fuse_rnn",), 17 * 60, 40),
    #: 6.5 s an epoch of 1875 steps, 0.14 s with the overhead cut away; 4.4 s on the CPU.
    Report("R088", "Quadro RTX 5000", ("data_on_device", "metrics_on_device", "cuda_graph"), 6.5, 0.14, 4.4e3 / 1875),
)


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the cases' scripts are")
    folder = parser.parse_args().folder
    for report in REPORTS:
        script = next(folder.glob(f"{report.name}*.py"), None)
        if script is None:
            print(f"{report.name}: no script in {folder}")
            continue
        asked = CaptureRequest(str(script), show_output=False)
        gains = gains_for(asked, report.gpu, {}, lambda text: None, report.cpu_ms)
        predicted, reported = gains.speedup(report.remedies), report.before / report.after
        if predicted is None or gains.step_ms is None:
            print(f"{report.name}: not predicted")
            continue
        print(
            f"{report.name} on a {gains.device}: {' + '.join(report.remedies)} predicted {predicted.mid:.1f} "
            f"({predicted.low:.1f} to {predicted.high:.1f}), reported {reported:.1f}, apart by a factor of "
            f"{max(predicted.mid / reported, reported / predicted.mid):.2f}; a step before {gains.step_ms.mid:.3g} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
