"""The verdict: CPU or GPU, by what factor, and how sure that is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.wording import ms, percent, times
from breakeven.results.records import Interval, Verdict

#: Name of the CPU among the devices of a result.
CPU = "cpu"

#: Probability from which a device is named though the factor's interval holds 1: four in five. It answers one who has to choose;
#: `tie` says that it is not certain.
LIKELY = 0.8

#: Half the width of a 90 % interval of a normal distribution, in standard deviations.
Z90 = 1.6448536269514722


def verdict(
    cpu: Interval | NDArray[np.float64],
    gpu_draws: NDArray[np.float64],
    gpu_name: str,
    *,
    gpu_ms: float | None = None,
    seed: int = 0,
) -> Verdict:
    """Decide between the measured CPU and one predicted GPU.

    Args:
        cpu: the CPU's step in ms: draws that belong to the GPU's draw by draw (its host part comes from the same measurement,
            so that the two err together), or an interval, from which independent draws are made.
        gpu_draws: the GPU's step in ms, shape (n,).
        gpu_name: as the catalog calls it.
        gpu_ms: the middle of the GPU's step, for the sentence, as it stands elsewhere; None: the median of its draws.
        seed: of the independent draws.

    Returns:
        The faster device by the middle of the factor, with a 90 % interval of how many times faster it is, and the probability
        that it is faster at all. `tie` where the interval holds 1.

    Raises:
        ValueError: no draws, draws of different number, or a time that is not positive.
    """
    cpu_draws = draws_of(cpu, len(gpu_draws), seed) if isinstance(cpu, Interval) else np.asarray(cpu, dtype=float)
    if len(gpu_draws) == 0 or cpu_draws.shape != gpu_draws.shape:
        raise ValueError(f"{cpu_draws.shape} draws of the CPU for {gpu_draws.shape} of the GPU")
    if not (cpu_draws > 0).all() or not (gpu_draws > 0).all():
        raise ValueError("a step that takes no time cannot be compared")
    slower = gpu_draws / cpu_draws  # how many times the GPU's step is the CPU's
    stays = float(np.median(slower)) >= 1
    device, over, ratio = (CPU, gpu_name, slower) if stays else (gpu_name, CPU, 1 / slower)
    low, mid, high = (float(q) for q in np.quantile(ratio, [0.05, 0.5, 0.95]))
    factor = Interval(low, mid, high)
    probability = float(((ratio > 1).sum() + 0.5 * (ratio == 1).sum() + 0.5) / (len(ratio) + 1))
    tie = low <= 1 <= high
    both = (
        cpu.mid if isinstance(cpu, Interval) else float(np.median(cpu_draws)),
        float(np.median(gpu_draws)) if gpu_ms is None else gpu_ms,
    )
    return Verdict(device, over, factor, probability, tie, _sentence(device, gpu_name, factor, probability, tie, both))


def draws_of(measured: Interval, count: int, seed: int = 0) -> NDArray[np.float64]:
    """Draws of a measured time whose 5 % and 95 % quantiles are the interval's ends; log scale, each side by its own width."""
    z = np.random.default_rng([seed, 7]).standard_normal(count)
    down = np.log(measured.mid / measured.low) / Z90 if 0 < measured.low < measured.mid else 0.0
    up = np.log(measured.high / measured.mid) / Z90 if measured.high > measured.mid > 0 else 0.0
    drawn: NDArray[np.float64] = measured.mid * np.exp(z * np.where(z < 0, down, up))
    return drawn


def _sentence(device: str, gpu: str, factor: Interval, probability: float, tie: bool, both: tuple[float, float]) -> str:
    cpu_ms, gpu_ms = both
    steps = f"a step takes {ms(cpu_ms)} here and about {ms(gpu_ms)} on {_the(gpu)}"
    faster = f"{'the CPU' if device == CPU else _the(gpu)} is faster with a probability of {percent(probability)}"
    if tie and probability < LIKELY:
        return f"Too close to call: {steps}; {faster}."
    advice = "stay on the CPU" if device == CPU else "use the GPU"
    said = f"{steps}, {times(factor.mid)} as {'long' if device == CPU else 'fast'}"
    if tie:
        return f"Probably {advice}: {said}; {faster}."
    return f"{advice[0].upper()}{advice[1:]}: {said} ({_plain(factor.low)} to {_plain(factor.high)})."


def _the(name: str) -> str:
    return f"the {name}"


def _plain(factor: float) -> str:
    return times(factor).removesuffix(" times")
