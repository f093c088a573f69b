"""Answers with all that a page can show, made up but whole."""

# ruff: noqa: E501  # an answer reads better whole

from __future__ import annotations

from dataclasses import replace

from breakeven.results import BreakEven, Finding, Interval, Share, Site, WhyReport
from breakeven.results.pictured import Bars, LinePrice, Pictured, PlayedStep, SizeCurve, SizePoint, Sizes
from tests.report.why_samples import CPU_WINS

CAUSES = ("compute", "bandwidth", "small_kernel", "launch", "sync", "copy")
BATCHES = (25, 50, 100, 200, 400, 800, 1600, 3200)
#: What must not come out of anything as markup.
EVIL = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\"'`{{7*7}}<b>\u202e&lt;"


def step(events: int = 120) -> PlayedStep:
    """A step whose host issues kernels one after another, each a little later on the device."""
    half = events // 2
    place = range(half)
    bars = Bars(
        lane=(*(0 for _ in place), *(1 for _ in place)), depth=(0,) * (2 * half),
        start_ns=(*(i * 20_000 for i in place), *(i * 20_000 + 12_000 for i in place)),
        duration_ns=(*(18_000 for _ in place), *(6_000 + 100 * (i % 7) for i in place)),
        name=(*(i % 3 for i in place), *(i % 3 for i in place)),
        cause=(*(3 for _ in place), *(i % 3 for i in place)),
        line=(*(i % 2 for i in place), *(i % 2 for i in place)),
    )  # fmt: skip
    return PlayedStep(
        "Tesla T4", "predicted", ("Host main", "GPU stream 0"), ("aten::addmm", "aten::mul", "aten::tanh"), CAUSES,
        ("examples/char_rnn.py:58", "examples/char_rnn.py:61"), bars, half * 20_000,
    )  # fmt: skip


def sizes() -> Sizes:
    """The CPU grows with the batch, the GPU hardly does: they cross near 200."""
    cpu, gpu = [], []
    for batch in BATCHES:
        here, there = 0.3 + 0.0104 * batch, 2.55 + 0.0005 * batch
        cpu.append(
            SizePoint(
                batch,
                Interval(here * 0.97, here, here * 1.03),
                (Share("overhead", 0.3, 0.3 / here), Share("compute", here - 0.3, 1 - 0.3 / here)),
                source="measured" if batch == 100 else "predicted",
            )
        )
        ratio = here / there
        gpu.append(
            SizePoint(
                batch, Interval(there * 0.7, there, there * 1.4), (Share("launch", 2.2, 2.2 / there), Share("compute", there - 2.2, 1 - 2.2 / there)),
                Interval(ratio * 0.7, ratio, ratio * 1.4), min(0.999, max(0.001, 0.5 + (ratio - 1))),
            )
        )  # fmt: skip
    return Sizes("batch", 100, (SizeCurve("cpu", "cpu", tuple(cpu)), SizeCurve("Tesla T4", "gpu", tuple(gpu))))


SOURCE = "\n".join(f"line_{n} = work({n})" for n in range(1, 57)) + "\n    x = 1\n    loss.backward()\n\n\n    optimizer.step()\n"
PICTURED = Pictured(
    steps=(step(),),
    lines=(
        LinePrice("examples/char_rnn.py", 58, "loss.backward()", 0.9, {"Tesla T4": 0.12}),
        LinePrice("examples/char_rnn.py", 61, "optimizer.step()", 0.5, {"Tesla T4": 0.02}),
    ),
    sources={"examples/char_rnn.py": SOURCE},
    sizes=sizes(),
)


def hostile() -> tuple[WhyReport, Pictured]:
    """`EVIL` in every field that holds text of a script, a trace or a machine."""
    interval = Interval(0.1, 0.2, 0.3)
    site = Site(EVIL, 1, EVIL, interval)
    devices = tuple(replace(d, name=EVIL, account=(Share(EVIL, 1.0, 0.5), Share("launch", 1.0, 0.5))) for d in CPU_WINS.devices)
    verdict = replace(CPU_WINS.verdicts[0], device=EVIL, over=EVIL, sentence=EVIL)
    report = replace(
        CPU_WINS, script=EVIL, devices=devices, verdict=verdict, verdicts=(verdict, verdict), error=EVIL,
        break_even=(BreakEven(EVIL, 1, EVIL, 2, 1, 3, EVIL),),
        findings=(Finding(EVIL, EVIL, EVIL, interval, EVIL, (site,), (EVIL,)),),
        remedies=(*(replace(r, id=EVIL, device=EVIL, sentence=EVIL) for r in CPU_WINS.remedies[:1]), replace(CPU_WINS.remedies[0], id=EVIL, gain_ms=None, sentence="")),
        warnings=(EVIL,), machine={"cpu": {"model": EVIL, "cores": EVIL}, "host": {"name": EVIL}}, versions={EVIL: EVIL},
    )  # fmt: skip
    played = replace(
        step(),
        device=EVIL,
        lanes=(EVIL, EVIL),
        names=(EVIL,) * 3,
        causes=(EVIL,) * len(CAUSES),
        places=(EVIL, EVIL),
        source="predicted",
    )
    curves = tuple(
        replace(c, device=EVIL, points=tuple(replace(p, account=(Share(EVIL, 1.0, 1.0),)) for p in c.points))
        for c in sizes().curves
    )
    beyond = Pictured(
        (played,), (LinePrice(EVIL, 1, EVIL, 0.1, {EVIL: 0.2}),), {EVIL: f"{EVIL}\n{EVIL}\n"}, Sizes(EVIL, 100, curves)
    )
    return report, beyond
