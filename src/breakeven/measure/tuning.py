"""Tries the CPU's settings against each other, and proves the best on batches that had no part in the choice. Child only.

Threads first, then each other setting by itself on the best number of threads, then all that helped together against what was
there before. What it does not know: how the settings fare beside data-loading workers, which take cores of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from breakeven.errors import MissingExtra
from breakeven.machine.cores import usable_cores
from breakeven.measure.backends.cpu import Cpu
from breakeven.measure.contestant import Contestant, Patience, Reading
from breakeven.measure.judging import against, judged
from breakeven.measure.request import TimeRequest
from breakeven.measure.stopwatch import OnProgress, measure
from breakeven.measure.targets import Run, Target, make_target, repeated
from breakeven.measure.timing import machine, versions
from breakeven.results.records import Interval
from breakeven.results.timing import TimeReport, Timing, Tuned

#: Parts of the time: threads, the other settings, the proof.
_PARTS: Final = (0.25, 0.35, 0.4)
#: A setting has to save this part to be taken up; less is not worth a line of code.
_WORTH: Final = 0.02
#: Batches without which nothing is proven: fewer have no 95 % interval.
_PROOF: Final = 6
#: Compiling takes half a minute; with less patience than this it is not tried.
_COMPILE_S: Final = 20.0
#: Instructions without which bfloat16 is emulated, and slower.
_BF16: Final = ("avx512_bf16", "amx_bf16", "bf16")


@dataclass(frozen=True)
class Choice:
    """Settings of a contestant.

    Attributes:
        threads: of torch; None: as it is.
        flush: denormal numbers are taken as zero.
        channels_last: images are stored so.
        bf16: under autocast to bfloat16.
        compiled: wrapped in torch.compile.
        plain: without oneDNN, so that products and convolutions go to MKL or PyTorch's own code.
        medium: products of float32 in bfloat16 where oneDNN has them (AMX, AVX-512), sums in float32.
    """

    threads: int | None = None
    flush: bool = False
    channels_last: bool = False
    bf16: bool = False
    compiled: bool = False
    plain: bool = False
    medium: bool = False

    def code(self) -> tuple[str, ...]:
        """What to write to have them."""
        lines = [f"torch.set_num_threads({self.threads})"] if self.threads is not None else []
        lines += ["torch.set_flush_denormal(True)"] if self.flush else []
        lines += ["model.to(memory_format=torch.channels_last), and the images too"] if self.channels_last else []
        lines += ['with torch.autocast("cpu", torch.bfloat16):  # the numbers change'] if self.bf16 else []
        lines += ["model = torch.compile(model)"] if self.compiled else []
        lines += ["torch.backends.mkldnn.enabled = False"] if self.plain else []
        lines += ['torch.set_float32_matmul_precision("medium")  # the numbers change'] if self.medium else []
        return tuple(lines)


def tune(request: TimeRequest, on_progress: OnProgress = lambda text: None) -> TimeReport:
    """The CPU's best settings for a target, with their proof; what the user's code raises comes through.

    Raises:
        MissingExtra: there is no PyTorch, whose settings these are.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtra("--tune-cpu tunes PyTorch, which is not installed: pip install 'breakeven[torch]'") from error
    before = torch.get_num_threads()
    bench = _Bench(request, before, on_progress)
    rejected: dict[str, str] = {}
    best = _best_threads(bench, rejected)
    best = _best_others(bench, best, rejected)
    return _proof(bench, best, rejected)


class _Bench:
    """Makes contestants of choices and lets them take turns; targets are made once for each form."""

    def __init__(self, request: TimeRequest, threads: int, on_progress: OnProgress) -> None:
        self.request = request
        self.threads = threads
        self._told = on_progress
        self._targets: dict[tuple[bool, bool, bool], Run] = {}
        self.plain: Target = make_target(request, "cpu")

    def race(self, choices: Sequence[Choice], part: float) -> tuple[Reading, ...]:
        """Readings of the choices, in their order."""
        patience = self.patience(part)
        contestants = [
            Contestant(", ".join(c.code()) or "as it was", Cpu(), self._run(c), _entering(c, self.threads)) for c in choices
        ]
        return measure(contestants, patience, self._told)

    def patience(self, part: float) -> Patience:
        """A part of the time."""
        return Patience(seconds=self.request.seconds * part, precision=self.request.precision)

    def _run(self, choice: Choice) -> Run:
        form = (choice.channels_last, choice.bf16, choice.compiled)
        if form not in self._targets:
            self._targets[form] = self._made(choice)
        return self._targets[form]

    def _made(self, choice: Choice) -> Run:
        target = make_target(self.request, "cpu", channels_last=True) if choice.channels_last else self.plain
        run = target.run
        if choice.compiled and target.call is not None:
            import torch

            run = repeated(torch.compile(target.call))
        return _in_bfloat16(run) if choice.bf16 else run


def _entering(choice: Choice, threads: int) -> Callable[[], None]:
    import torch

    onednn, precision = bool(torch.backends.mkldnn.enabled), torch.get_float32_matmul_precision()

    def enter() -> None:
        torch.set_num_threads(choice.threads or threads)
        torch.set_flush_denormal(choice.flush)
        torch.backends.mkldnn.set_flags(onednn and not choice.plain)  # type: ignore[no-untyped-call]  # torch's own
        torch.set_float32_matmul_precision("medium" if choice.medium else precision)

    return enter


def _in_bfloat16(run: Run) -> Run:
    import torch

    def under(times: int) -> None:
        with torch.autocast("cpu", torch.bfloat16):
            run(times)

    return under


def _best_threads(bench: _Bench, rejected: dict[str, str]) -> Choice:
    cores = usable_cores()
    counts = sorted({1, 2, *(1 << n for n in range(2, cores.bit_length())), cores // 2, cores} - {0, bench.threads})
    counts = [n for n in counts if n <= cores]
    if not counts:
        rejected["threads"] = f"{bench.threads}, as it was, is all there is"
        return Choice()
    choices = [Choice(), *(Choice(threads=n) for n in counts)]
    return _winner(bench, choices, _PARTS[0], rejected)[0]


def _best_others(bench: _Bench, best: Choice, rejected: dict[str, str]) -> Choice:
    """Each other setting by itself; all that helped are taken together."""
    tried = {"flush": replace(best, flush=True)}
    if bench.plain.images:
        tried["channels_last"] = replace(best, channels_last=True)
    else:
        rejected["channels last"] = "the target has no images that could be stored so"
    if _has_bf16():
        tried["bf16"] = replace(best, bf16=True)
        tried["medium"] = replace(best, medium=True)
    else:
        rejected["bfloat16"] = "this CPU has no instructions for it (AMX, AVX-512, or ARM's)"
    if _has_onednn():
        tried["plain"] = replace(best, plain=True)
    else:
        rejected["without oneDNN"] = "this PyTorch has none"
    if why_not := _cannot_compile(bench):
        rejected["torch.compile"] = why_not
    else:
        tried["compiled"] = replace(best, compiled=True)
    helped = best
    with suppress(RuntimeError):
        _, winners = _winner(bench, [best, *tried.values()], _PARTS[1], rejected)
        for name, choice in tried.items():
            if choice in winners:
                helped = replace(helped, **{name: True})
    return helped


def _winner(bench: _Bench, choices: list[Choice], part: float, rejected: dict[str, str]) -> tuple[Choice, list[Choice]]:
    """The choice that is surely faster than the first, by most; and all that are. The others are told why not."""
    readings = bench.race(choices, part)
    best, least, winners = choices[0], 1.0 - _WORTH, []
    for choice, reading in zip(choices[1:], readings[1:], strict=True):
        times = against(reading, readings[0], 0.95)
        if times.high < 1 and times.mid < 1 - _WORTH:
            winners.append(choice)
        else:
            new = [line for line in choice.code() if line not in choices[0].code()]
            rejected[", ".join(new)] = f"{times.mid:.3g} times as long ({times.low:.3g} to {times.high:.3g}): no gain"
        if choice in winners and times.mid < least:
            best, least = choice, times.mid
    return best, winners


def _proof(bench: _Bench, best: Choice, rejected: dict[str, str]) -> TimeReport:
    """What was there before against the best, on fresh batches."""
    request = bench.request
    choices = [Choice(), best] if best != Choice() else [Choice()]
    readings = bench.race(choices, _PARTS[2])
    patience = bench.patience(_PARTS[2])
    timings: list[Timing] = []
    for at, reading in enumerate(readings):
        timings.append(judged(reading, patience, readings[0] if at else None))
    tuned = _tuned(best, timings, rejected)
    return TimeReport(request.target, tuple(timings), tuned, machine=machine(), versions=versions())


def _tuned(best: Choice, timings: list[Timing], rejected: dict[str, str]) -> Tuned:
    if len(timings) < 2 or timings[1].against is None:
        return Tuned((), None, False, rejected, "The settings are as good as any that were tried.")
    times = timings[1].against
    gain = Interval(1 / times.high, 1 / times.mid, 1 / times.low)
    proven = gain.low > 1 and timings[1].samples >= _PROOF
    said = f"{gain.mid:.3g} times as fast ({gain.low:.3g} to {gain.high:.3g}, 95 %), on batches that had no part in the choice"
    sentence = f"Proven: {said}, with" if proven else f"Not proven, chosen by chance perhaps: {said}, with"
    return Tuned(best.code(), gain, proven, rejected, sentence)


def _has_onednn() -> bool:
    import torch

    there = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
    return bool(there and torch.backends.mkldnn.enabled)


def _has_bf16() -> bool:
    table = Path("/proc/cpuinfo")
    text = table.read_text(encoding="utf-8", errors="replace") if table.exists() else ""
    return any(f" {flag} " in f" {text.replace(chr(10), ' ')} " for flag in _BF16)


def _cannot_compile(bench: _Bench) -> str | None:
    if bench.plain.call is None:
        return "code of -c is not a function that could be compiled"
    if bench.request.seconds < _COMPILE_S:
        return f"compiling takes half a minute: tried from --seconds {_COMPILE_S:g} on"
    if not any(shutil.which(tool) for tool in ("c++", "g++", "clang++", "cl")):
        return "there is no C++ compiler"
    return None
