"""The catalog of devices that can be predicted, and finding one by the names that people use. Facts only."""

from __future__ import annotations

import csv
import difflib
import re
from functools import lru_cache
from importlib.resources import files

from breakeven.errors import UnknownDevice
from breakeven.machine.records import Gpu

#: Words that say who made a device and not which one it is.
_NOISE = frozenset(
    [
        "nvidia",
        "geforce",
        "tesla",
        "quadro",
        "amd",
        "radeon",
        "instinct",
        "intel",
        "gpu",
        "gpus",
        "graphics",
        "card",
        "corporation",
        "inc",
        "generation",
        "tensor",
        "core",
        "the",
        "of",
        "r",
        "tm",
    ]
)
#: Words that may follow a name without naming another device.
_HARMLESS = frozenset(
    ["pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "hbm2", "hbm2e", "hbm3", "hbm3e", "founders", "edition", "fe"]
)
_NEAREST = 5
_INTEGERS = ("sm_count", "pcie_gen", "pcie_lanes")
_FLOATS = (
    "boost_clock_mhz",
    "fp32_tflops",
    "fp64_tflops",
    "tensor_fp16_tflops",
    "tensor_tf32_tflops",
    "tensor_bf16_tflops",
    "memory_gb",
    "memory_bandwidth_gb_s",
    "l2_mb",
    "tdp_w",
)


def gpus() -> tuple[Gpu, ...]:
    """Every device of the catalog, oldest architecture of each vendor first.

    >>> len(gpus()) >= 40
    True
    """
    return _catalog()[0]


def known_gpu(text: str) -> Gpu | None:
    """As `find_gpu`; None: the catalog has no such device (one that a driver names may be new)."""
    try:
        return find_gpu(text)
    except UnknownDevice:
        return None


def find_gpu(text: str) -> Gpu:
    """The device that a loose name means.

    Args:
        text: `t4`, `Tesla T4`, `NVIDIA GeForce RTX 3060`, `A100-SXM4-80GB`, `h100 80gb hbm3` … Case, vendor and punctuation
            do not matter. Where a name fits several boards (`A100`) the catalog's aliases say which is meant.

    Raises:
        UnknownDevice: no device has that name; the message lists the nearest.

    >>> find_gpu("nvidia tesla t4").name
    'Tesla T4'
    """
    found = _lookup(text.strip())
    if found is None:
        raise UnknownDevice(
            f"no device is called {text!r}; the nearest are: {', '.join(nearest(text))} (`breakeven gpus` lists all)"
        )
    return found


def matching_gpus(text: str) -> tuple[Gpu, ...]:
    """The devices whose name, vendor or architecture contains every word of `text`; all of them for an empty text."""
    words = text.lower().split()
    return tuple(g for g in gpus() if all(w in f"{g.name} {g.vendor} {g.architecture}".lower() for w in words))


def nearest(text: str, count: int = _NEAREST) -> tuple[str, ...]:
    """The names in the catalog that look most like `text`, best first."""
    asked = _squash(_words(text))
    scores = {g.name: max(difflib.SequenceMatcher(None, asked, _squash(k)).ratio() for k in keys) for g, keys in _catalog()[1]}
    return tuple(sorted(scores, key=lambda name: -scores[name])[:count])


@lru_cache(maxsize=1024)
def _lookup(text: str) -> Gpu | None:
    asked = _words(text)
    if not asked:
        return None
    squashed = _squash(asked)
    keyed = _catalog()[1]
    for gpu, keys in keyed:  # the very name, or an alias
        if any(squashed == _squash(key) for key in keys):
            return gpu
    bare = [g for g, keys in keyed if any(squashed == _squash(key[1:]) for key in keys if key[0] in ("gtx", "rtx"))]
    if len(bare) == 1:  # `1080ti`
        return bare[0]
    longer = [(len(key) - len(set(asked)), i) for i, (_, keys) in enumerate(keyed) for key in keys if set(asked) < set(key)]
    if longer and any(c.isdigit() for c in squashed):  # `a100 sxm4`: the fewest further words, then the catalog's order
        return keyed[min(longer)[1]][0]
    shorter = [
        (-len(key), i)
        for i, (g, keys) in enumerate(keyed)
        for key in keys
        if set(key) < set(asked) and _says_nothing_more(set(asked) - set(key), g)
    ]
    return keyed[min(shorter)[1]][0] if shorter else None


def _says_nothing_more(words: set[str], gpu: Gpu) -> bool:
    """Whether these words (of a longer name) fit this device: its memory's size, or how it is mounted."""
    memory = {f"{int(gpu.memory_gb)}gb", f"{int(gpu.memory_gb)}g"} if gpu.memory_gb else set()
    return words <= (_HARMLESS | memory)


def _words(text: str) -> tuple[str, ...]:
    spaced = re.sub(r"(\d+)\s+(gb|g|ti)\b", r"\1\2", re.sub(r"[^a-z0-9]+", " ", text.lower()))
    spaced = re.sub(r"\b(rtx|gtx)(\d)", r"\1 \2", spaced)
    return tuple(w for w in spaced.split() if w not in _NOISE)


def _squash(words: tuple[str, ...]) -> str:
    return "".join(words)


@lru_cache(maxsize=1)
def _catalog() -> tuple[tuple[Gpu, ...], tuple[tuple[Gpu, tuple[tuple[str, ...], ...]], ...]]:
    """The devices, and each with the keys (its name and aliases, as words) that it is found by."""
    text = (files("breakeven.machine") / "data" / "gpus.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    devices = tuple(_device(row) for row in rows)
    keyed = tuple(
        (gpu, (_words(gpu.name), *(_words(a) for a in row["aliases"].split("|") if a)))
        for gpu, row in zip(devices, rows, strict=True)
    )
    return devices, keyed


def _device(row: dict[str, str]) -> Gpu:
    whole = {c: int(row[c]) if row[c] else None for c in _INTEGERS}
    real = {c: float(row[c]) if row[c] else None for c in _FLOATS}
    return Gpu(
        name=row["name"],
        vendor=row["vendor"],
        architecture=row["architecture"],
        released=row["released"],
        compute_capability=row["compute_capability"] or None,
        source=row["source"],
        sm_count=whole["sm_count"],
        pcie_gen=whole["pcie_gen"],
        pcie_lanes=whole["pcie_lanes"],
        boost_clock_mhz=real["boost_clock_mhz"],
        fp32_tflops=real["fp32_tflops"],
        fp64_tflops=real["fp64_tflops"],
        tensor_fp16_tflops=real["tensor_fp16_tflops"],
        tensor_tf32_tflops=real["tensor_tf32_tflops"],
        tensor_bf16_tflops=real["tensor_bf16_tflops"],
        memory_gb=real["memory_gb"],
        memory_bandwidth_gb_s=real["memory_bandwidth_gb_s"],
        l2_mb=real["l2_mb"],
        tdp_w=real["tdp_w"],
    )
