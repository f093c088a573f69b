"""Faults that `selftest` plants into healthy scripts: which text becomes which, and what should then be found.

The scripts are our own (`data/selftest_*.txt`). A fault goes into every script that has the text it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    Attributes:
        id: the finding that should name it.
        remedies: ids of which the finding should name one.
        old: text of a healthy script; each of its lines is one.
        new: what stands there with the fault. The line of the fault is the first that differs, or the one with `mark`.
        mark: text of the line that the finding should point to; empty: the first line that differs.
        lint: whether reading the source can show it; else `why` has to.
    """

    id: str
    remedies: tuple[str, ...]
    old: str
    new: str
    mark: str = ""
    lint: bool = True


@dataclass(frozen=True)
class Planted:
    """A script with a fault in it."""

    script: str
    fault: Fault
    text: str
    lines: tuple[int, ...]


FAULTS: Final = (
    Fault("sync_bound", ("metrics_on_device",), "total += loss.detach()", "total += loss.item()"),
    Fault("sync_bound", ("metrics_on_device",), "optimizer.step()", "optimizer.step(); print(float(loss))"),
    Fault("sync_bound", ("metrics_on_device",), "loss.backward()", "loss.backward(); assert loss > 0"),
    Fault("sync_bound", ("metrics_on_device",), "optimizer.step()", "optimizer.step(); seen = loss.detach().cpu().numpy()"),
    Fault("launch_bound", ("set_to_none",), "optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)"),
    Fault("launch_bound", ("fused_optimizer",), ", lr=1e-3)", ", lr=1e-3, foreach=False)"),
    Fault("fp64", ("float32",), "torch.manual_seed(0)", "torch.manual_seed(0); torch.set_default_dtype(torch.float64)"),
    Fault(
        "launch_bound", ("debug_off",), "torch.manual_seed(0)",
        "torch.manual_seed(0); torch.autograd.set_detect_anomaly(True)",
    ),
    Fault("memory", ("no_empty_cache",), "optimizer.step()", "optimizer.step(); torch.cuda.empty_cache()"),
    Fault(
        "cpu_oversubscription", ("threads",), "torch.manual_seed(0)", "torch.manual_seed(0); torch.set_num_threads(256)",
    ),
    Fault("input_bound", ("loader_workers",), "num_workers=2, pin_memory=True, persistent_workers=True",
          "pin_memory=True", lint=False),
    Fault("memory", ("inference_mode",), "with torch.inference_mode():", "if True:", "error = "),
    Fault("sync_bound", ("checkpoint_less",), "optimizer.step()", 'optimizer.step(); torch.save(model.state_dict(), "each.pt")'),
    Fault(
        "transfer_bound", ("create_on_device",), "phase = torch.rand(BATCH, device=device) * 6.28",
        "phase = torch.rand(BATCH).to(device) * 6.28",
    ),
    Fault(
        "unfused_rnn", ("fuse_rnn",), "        states, _ = self.rnn(x)\n        return self.out(states)",
        "        h = x.new_zeros(x.size(1), HIDDEN)\n        c = torch.zeros_like(h)\n        states = []\n"
        "        for one in x:\n            h, c = self.rnn(one, (h, c))\n            states.append(h)\n"
        "        return self.out(torch.stack(states))",
        "self.rnn(one",
    ),
    Fault(
        "denormals", ("flush_denormals",), "loss_fn = nn.MSELoss()",
        "loss_fn = nn.MSELoss()\nwith torch.no_grad():\n    for weight in model.parameters():\n        weight.mul_(1e-39)",
        "model(",
        lint=False,
    ),
    Fault(
        "timing_bug", ("synchronise",), "        loss.backward()\n        optimizer.step()\n",
        "        import time; began = time.time()\n        loss.backward()\n        optimizer.step()\n"
        "        took = time.time() - began\n",
        "took =",
    ),
    Fault("device_mismatch", ("move_to_device",), "times = torch.arange(WINDOW + 1, device=device)",
          "times = torch.arange(WINDOW + 1)",
          "torch.sin("),
)  # fmt: skip


def healthy() -> dict[str, str]:
    """The scripts as they are, by name."""
    folder = Path(__file__).parent / "data"
    return {
        path.stem.removeprefix("selftest_"): path.read_text(encoding="utf-8") for path in sorted(folder.glob("selftest_*.txt"))
    }


def planted() -> Iterator[Planted]:
    """Every fault in every script that it fits into."""
    for name, text in healthy().items():
        for fault in FAULTS:
            if fault.old not in text:
                continue
            healthy_text = text.replace("nn.LSTM(1", "nn.LSTMCell(1") if fault.id == "unfused_rnn" else text  # loops over a cell
            changed = healthy_text.replace(fault.old, fault.new, 1)
            yield Planted(name, fault, changed, _lines(text, changed, fault))


def _lines(before: str, after: str, fault: Fault) -> tuple[int, ...]:
    """Lines that may be pointed to: those that are new."""
    kept = set(before.splitlines())
    fresh = [at for at, line in enumerate(after.splitlines(), 1) if line not in kept]
    marked = [at for at, line in enumerate(after.splitlines(), 1) if fault.mark and fault.mark in line]
    return tuple(sorted({*fresh, *marked}))
