"""Files that hold a network and are no PyTorch script: read, written as one, run like any other, and answered in their own lines.

To add a kind of file: a reader in `models/`, and its line in `_READERS`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from breakeven.diagnose.wording import ms
from breakeven.errors import InputError
from breakeven.machine.gpus import known_gpu
from breakeven.models.arithmetic import at_peak_ms, in_millions, step_flops
from breakeven.models.asked import NOTHING, Asked
from breakeven.models.network import Model
from breakeven.models.torch_script import Script, write
from breakeven.report.writing import check_target, write_whole
from breakeven.results import Finding, Site, WhyReport


def _matlab(path: Path, asked: Asked) -> Model:
    from breakeven.models.matlab.data import given
    from breakeven.models.matlab.read import read

    for name, value in (("--batch", asked.batch), ("--length", asked.length), ("--loss", asked.loss),
                        ("--optimizer", asked.optimizer)):  # fmt: skip
        if value is not None:
            raise InputError(f"{name} is for files that leave it open; {path} says it itself")
    return read(path, given(asked.data))


def _keras(path: Path, asked: Asked) -> Model:
    from breakeven.models.keras.read import read

    return read(path, asked)


def _onnx(path: Path, asked: Asked) -> Model:
    from breakeven.models.onnx.read import read

    return read(path, asked)


#: Suffix → reader.
_READERS: dict[str, Callable[[Path, Asked], Model]] = {
    ".m": _matlab, ".keras": _keras, ".h5": _keras, ".hdf5": _keras, ".json": _keras, ".onnx": _onnx,
}  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """What to run instead of a file, and how to put the answer into the file's own words."""

    target: str
    finish: Callable[[WhyReport], WhyReport]


def is_model(path: str) -> bool:
    """Whether a file is one of those that hold a network."""
    return Path(path).suffix.lower() in _READERS


def read_model(path: str, asked: Asked = NOTHING) -> Model:
    """The description of the network in a file.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    return _READERS[Path(path).suffix.lower()](Path(path), asked)


@contextmanager
def prepared(path: str, asked: Asked = NOTHING, export: str | None = None) -> Iterator[Prepared]:
    """A file as a script that can be run; a script stays as it is.

    Args:
        path: the file that the user names.
        asked: sizes that it leaves open, and a training where it has none.
        export: where to keep the script; None: it is gone afterwards.

    Raises:
        InputError: it cannot be read, or `export` cannot be written.
    """
    if not is_model(path):
        if asked != NOTHING or export:
            said = "--data, --export, --batch, --length, --loss and --optimizer"
            raise InputError(f"{said} are for {', '.join(_READERS)} files; {path} is run as it is")
        yield Prepared(path, lambda report: report)
        return
    model = read_model(path, asked)
    script = write(model, Path(path).name)
    if export is not None:
        _keep(script, Path(export), path)
    with written(script, Path(path).stem) as file:
        yield Prepared(str(file), lambda report: translated(report, model, script, str(file), path))


def _keep(script: Script, export: Path, source: str) -> None:
    check_target(export, "--export")
    if export.exists() and export.samefile(source):
        raise InputError(f"--export {export}: that is the file to be read; choose another name")
    write_whole(export, script.text.encode())


@contextmanager
def written(script: Script, stem: str) -> Iterator[Path]:
    """A script in a folder of its own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="breakeven-model-"))
    try:
        file = folder / f"{stem if stem.isidentifier() else 'network'}.py"
        file.write_text(script.text, encoding="utf-8")
        yield file
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def translated(report: WhyReport, model: Model, script: Script, ran: str, path: str) -> WhyReport:
    """An answer about the written script as one about the file that it was written from."""

    def site(one: Site) -> Site:
        place = script.places.get(one.line)
        if Path(one.file).name != Path(ran).name or place is None:
            return replace(one, file=one.file.replace(ran, f"{path} as PyTorch"))
        return replace(one, file=place.file, line=place.line, text=place.text)

    def finding(one: Finding) -> Finding:
        return replace(one, sites=_merged([site(s) for s in one.sites]))

    notes = (*usage(report, model), *model.notes)
    return replace(
        report, script=path, findings=tuple(map(finding, report.findings)),
        warnings=(*notes, *(w.replace(ran, path) for w in report.warnings)),
        error=report.error.replace(ran, path) if report.error else None,
    )  # fmt: skip


def _merged(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Several lines of the script may stand for one of the file: the dearest is kept, as prices of lines do not add up."""
    kept: dict[tuple[str, int], Site] = {}
    for one in sites:
        before = kept.get((one.file, one.line))
        dearer = before is None or (
            one.price_ms is not None and (before.price_ms is None or one.price_ms.mid > before.price_ms.mid)
        )
        kept[(one.file, one.line)] = one if dearer else kept[(one.file, one.line)]
    return tuple(kept.values())


def usage(report: WhyReport, model: Model) -> Iterator[str]:
    """What a high GPU usage means, and how much of a step the arithmetic needs."""
    flops = step_flops(model)
    for device in report.devices:
        gpu = known_gpu(device.name) if device.kind == "gpu" else None
        needs = None if gpu is None else at_peak_ms(flops, gpu)
        if device.step_ms is None or needs is None:
            continue
        yield (
            "A GPU usage of 80-100 % in a task manager says that some kernel was running whenever it looked, not that the chip "
            f"was full: at the {device.name}'s peak the arithmetic of a step ({in_millions(flops)}) takes "
            f"{ms(needs)} of the {ms(device.step_ms.mid)}."
        )
