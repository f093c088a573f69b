"""no_gpu_visible: the script asks whether there is a GPU, and PyTorch sees none."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen
from breakeven.diagnose.wording import ms, times
from breakeven.results.records import Finding, Interval

#: Device name of findings about the CPU.
CPU = "cpu"


def no_gpu_visible(evidence: Evidence) -> Finding | None:
    """`cuda if torch.cuda.is_available() else cpu`, and it is not available.

    What it sees: the question in the script, and the machine's true answer.
    Why it costs: most such scripts then train on the CPU without a word. Whether that costs anything the verdict says.
    Evidence: the measured step on the CPU less the predicted step on the GPU.
    Example: a PyTorch build without CUDA, a missing driver, `CUDA_VISIBLE_DEVICES=""`, a notebook without a GPU runtime.
    Remedy: a build and a driver that fit, or a machine with a GPU; print the device that is used.
    When it is wrong: where the CPU was meant, or the script ends where there is no GPU.
    """
    asked = [a for a in evidence.facts.asked if not a.truth]
    if not asked:
        return None
    cpu, gpu = evidence.cpu.step_ms, evidence.device.step_ms
    said = "The script asks whether there is a GPU, and PyTorch sees none on this machine"
    if gpu_wins(evidence) and cpu is not None and gpu is not None:
        price = Interval(cpu.low - gpu.high, cpu.mid - gpu.mid, cpu.high - gpu.low)
        factor = times(cpu.mid / gpu.mid) if gpu.mid > 0 else "many times"
        sentence = f"{said}: on the CPU a step takes {ms(cpu.mid)}, {factor} what a {evidence.device.name} would need."
    else:
        price, sentence = None, f"{said}; for this training that is no loss."
    return Finding(
        id="no_gpu_visible", device=CPU, cause="other", price_ms=price, sentence=sentence,
        sites=seen(*(a.site for a in asked)), remedies=("gpu_runtime",),
    )  # fmt: skip


def gpu_wins(evidence: Evidence) -> bool:
    """The verdict is the GPU, and no tie."""
    return evidence.verdict is not None and evidence.verdict.device != CPU and not evidence.verdict.tie
