"""Literal answers of `breakeven why`, one for each kind of page."""

# ruff: noqa: E501  # an answer reads better whole

from __future__ import annotations

from dataclasses import replace

from breakeven.results import BreakEven, DeviceResult, Finding, Interval, Remedy, Share, Site, Verdict, WhyReport


def _account(step: float, **shares: float) -> tuple[Share, ...]:
    return tuple(Share(cause, step * share, share) for cause, share in shares.items())


def _verdict(device: str, over: str, low: float, mid: float, high: float, probability: float, sentence: str) -> Verdict:
    return Verdict(device, over, Interval(low, mid, high), probability, low <= 1 <= high, sentence)


CPU = DeviceResult(
    "cpu", "cpu", "measured", Interval(1.31, 1.34, 1.37), _account(1.34, overhead=0.67, compute=0.20, bandwidth=0.08, other=0.05)
)
T4 = DeviceResult(
    "Tesla T4",
    "gpu",
    "predicted",
    Interval(1.9, 2.6, 3.5),
    _account(2.6, launch=0.70, small_kernel=0.14, sync=0.10, copy=0.03, compute=0.004, other=0.026),
)
A100 = DeviceResult(
    "A100 SXM4 80GB", "gpu", "predicted", Interval(1.7, 2.4, 3.2), _account(2.4, launch=0.82, small_kernel=0.08, sync=0.1)
)
STAY = _verdict(
    "cpu",
    "Tesla T4",
    1.4,
    1.9,
    2.6,
    0.996,
    "Stay on the CPU: a step takes 1.3 ms here and about 2.6 ms on a Tesla T4, 1.9 times as long (1.4 to 2.6).",
)

CPU_WINS = WhyReport(
    script="examples/char_rnn.py",
    unit="step",
    steps={"warmup": 20, "measured": 200, "recorded": 3},
    devices=(CPU, T4),
    verdict=STAY,
    verdicts=(STAY,),
    break_even=(
        BreakEven(
            "batch",
            100,
            "Tesla T4",
            1900,
            1300,
            2900,
            "From a batch of about 1,900 on (1,300 to 2,900), Tesla T4 wins; today it is 100.",
        ),
    ),
    findings=(
        Finding(
            "launch_bound",
            "Tesla T4",
            "launch",
            Interval(0.9, 1.4, 2.0),
            "The GPU idles 1.8 of 2.6 ms because the host needs 15 µs to issue each of 147 operations; with one launch for all of them the step would take 1.4 ms less.",
            (
                Site("examples/char_rnn.py", 58, "loss.backward()", Interval(0.5, 0.7, 0.9)),
                Site("examples/char_rnn.py", 61, "optimizer.step()", Interval(0.3, 0.4, 0.5)),
            ),
            ("use_cpu", "cuda_graph"),
        ),
        Finding(
            "sync_bound",
            "Tesla T4",
            "sync",
            Interval(0.1, 0.25, 0.4),
            "The host stops once a step to wait for the GPU (.item() at line 63), and the GPU then waits for the host: 0.25 of 2.6 ms.",
            (
                Site(
                    "examples/char_rnn.py",
                    63,
                    "losses.append(loss.item())  # the list of losses for a plot at the end",
                    Interval(0.1, 0.25, 0.4),
                ),
            ),
            ("metrics_on_device",),
        ),
    ),
    remedies=(
        Remedy("use_cpu", "Tesla T4", Interval(0.6, 1.3, 2.1), ""),
        Remedy("cuda_graph", "Tesla T4", Interval(0.7, 1.2, 1.8), ""),
        Remedy(
            "metrics_on_device",
            "Tesla T4",
            Interval(0.1, 0.25, 0.4),
            "add the loss up on the GPU and read it every 50 steps, not in line 63",
        ),
    ),
    warnings=("torch.compile was recorded as eager code.", "aten::foo is not known; it was priced by its bytes."),
    machine={"cpu": {"model": "Intel(R) Xeon(R) CPU @ 2.20GHz", "cores": 2}, "host": {"name": "colab"}},
    versions={"breakeven": "0.1.0", "python": "3.11.9", "torch": "2.13.0"},
)

TIE = replace(
    CPU_WINS,
    devices=(CPU, replace(T4, step_ms=Interval(1.0, 1.5, 2.1), account=_account(1.5, launch=0.6, compute=0.4))),
    verdict=(
        tie := _verdict(
            "cpu",
            "Tesla T4",
            0.75,
            1.1,
            1.6,
            0.62,
            "Too close to call: a step takes 1.3 ms here and about 1.5 ms on a Tesla T4; the CPU is faster with a probability of 62 %.",
        )
    ),
    verdicts=(tie,),
    findings=(),
    remedies=(),
    break_even=(),
    warnings=(),
)

SEVERAL_GPUS = replace(
    CPU_WINS,
    devices=(
        CPU,
        T4,
        A100,
        replace(T4, name="RTX 3060", step_ms=Interval(1.6, 2.2, 3.0), account=_account(2.2, launch=0.8, small_kernel=0.2)),
    ),
    verdicts=(
        STAY,
        _verdict(
            "cpu",
            "A100 SXM4 80GB",
            1.3,
            1.8,
            2.4,
            0.99,
            "Stay on the CPU: a step takes 1.3 ms here and about 2.4 ms on an A100 SXM4 80GB, 1.8 times as long (1.3 to 2.4).",
        ),
        _verdict(
            "cpu",
            "RTX 3060",
            1.2,
            1.6,
            2.2,
            0.98,
            "Stay on the CPU: a step takes 1.3 ms here and about 2.2 ms on an RTX 3060, 1.6 times as long (1.2 to 2.2).",
        ),
    ),
    findings=(
        *CPU_WINS.findings,
        Finding("launch_bound", "A100 SXM4 80GB", "launch", Interval(0.9, 1.4, 2.0), "The GPU waits for Python."),
        Finding("launch_bound", "RTX 3060", "launch", Interval(0.9, 1.2, 1.9), "The GPU waits for Python."),
        Finding(
            "cpu_oversubscription",
            "cpu",
            "overhead",
            Interval(0.1, 0.2, 0.3),
            "There are 16 threads for 2 cores, which get in each other's way.",
            (),
            ("threads",),
        ),
    ),
)

GPU_WINS_BY_FAR = WhyReport(
    script="matmul.py",
    unit="loop",
    steps={"warmup": 0, "measured": 1, "recorded": 1},
    devices=(
        DeviceResult("cpu", "cpu", "measured", Interval(4700.0, 6631.0, 8900.0), _account(6631.0, compute=0.999, overhead=0.001)),
        DeviceResult("Tesla T4", "gpu", "predicted", Interval(390.0, 452.0, 560.0), _account(452.0, compute=1.0)),
    ),
    verdict=(gpu := _verdict("Tesla T4", "cpu", 10.0, 14.7, 21.0, 1.0, "Use the GPU: a step takes 6.6 s here and about 452 ms on a Tesla T4, 15 times as fast (10 to 21).")),
    verdicts=(gpu,),
    break_even=(BreakEven("size", 10000, "Tesla T4", None, None, None, "The GPU wins at every size that was looked at."),),
    findings=(Finding("timing_bug", "Tesla T4", "other", None, "The clock is read before the GPU is done: the time shown is no measurement.", (Site("matmul.py", 31, "elapsed = time.time() - start"),), ("synchronise",)),),
    warnings=tuple(f"Note number {n}." for n in range(1, 10)),
)  # fmt: skip

SCRIPT_FAILED = WhyReport(
    script="/home/someone/with a very long path/to/the/directory/of/many/experiments/on/recurrent/networks/train.py",
    unit="step",
    steps={"warmup": 2, "measured": 5},
    devices=(CPU, DeviceResult("Tesla T4", "gpu", "predicted", None)),
    verdict=None,
    verdicts=(),
    break_even=(),
    findings=(),
    error="train.py failed at step 7: ValueError: no more data",
    failed="script-failed",
)

NO_VERDICT = replace(
    SCRIPT_FAILED, script="train.py", error=None, failed=None, warnings=("Nothing ran on the GPU: the script asked for none.",)
)

HOSTILE = replace(
    CPU_WINS,
    script="evil\x1b[31m[bold red]name[/]\u202e.py",
    findings=(replace(CPU_WINS.findings[0], sentence="\x1b]0;title\x07 [link=http://x]click[/link]", sites=(Site("a\nb.py", 1, "x = '\x1b[2J' # \u202eright\tto left", None),)),),
    warnings=("[/] unbalanced [markup", "\x9b31m"),
)  # fmt: skip

SAMPLES: dict[str, WhyReport] = {
    "cpu_wins": CPU_WINS,
    "tie": TIE,
    "several_gpus": SEVERAL_GPUS,
    "gpu_wins_by_far": GPU_WINS_BY_FAR,
    "script_failed": SCRIPT_FAILED,
    "no_verdict": NO_VERDICT,
    "hostile": HOSTILE,
}
