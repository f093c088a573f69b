"""`fix`: carries remedies out in the script's text, the largest predicted gain first, and proves them by running both versions.

What it does not know: how the training behaves after the steps that were run, and files other than the script.
"""

from __future__ import annotations

import difflib
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from breakeven import __version__
from breakeven.capture import target
from breakeven.capture.proof.prove import Claim, prove
from breakeven.capture.request import CaptureRequest
from breakeven.errors import BreakevenError, InputError
from breakeven.machine.gpus import find_gpu
from breakeven.remedies import REMEDIES, remedy
from breakeven.remedies.edits import Edited, Refused, edit, edits
from breakeven.results import Interval
from breakeven.results.proof import FixReport, Proof, Tried
from breakeven.workflows.fix_gains import Gains, gains_for
from breakeven.writers.rewriting import rewrite

OnProgress = Callable[[str], None]

#: A remedy that is predicted to save less than this part of a step is left alone, unless it is asked for by name.
LEAST_SHARE: Final = 0.02
#: Remedies that have to be named: where the training runs is `why`'s question, not one of a proof on one device.
NAMED_ONLY: Final = frozenset({"use_cpu"})
#: What a remedy promises together with others is the weaker of the two.
_ORDER: Final = ("bitwise", "tolerance", "changes_mathematics")


@dataclass(frozen=True)
class FixRequest:
    """What is asked.

    Attributes:
        script: path of a script, or a module's dotted name.
        args: the script's own arguments.
        gpu: the catalog's GPU that gains are predicted for; None: this machine's CPU, where they are also proven.
        remedies: ids; empty: all that keep the mathematics and can be carried out here.
        prove: run before and after in alternation, and keep what passes.
        write: change the file, after a proof only.
        seconds: most time of each proof's alternation; None: the proof's own choice.
        mark: `FILE:LINE` that runs once in each step; None: steps are found.
    """

    script: str
    args: tuple[str, ...] = ()
    gpu: str | None = None
    remedies: tuple[str, ...] = ()
    prove: bool = False
    write: bool = False
    seconds: float | None = None
    mark: str | None = None


@dataclass(frozen=True)
class _Job:
    request: FixRequest
    capture: CaptureRequest
    file: Path
    content: bytes
    text: str
    gains: Gains
    tell: OnProgress

    def claim(self, before: str, after: str, ids: Sequence[str]) -> Claim:
        """What is to be proven of a change that these remedies make."""
        promise, tolerance = promise_of(ids)
        claim = Claim(self.capture, before, after, promise, tolerance, faster=self.request.gpu is None)
        return claim if self.request.seconds is None else replace(claim, seconds=self.request.seconds)


def fix(request: FixRequest, on_progress: OnProgress = lambda text: None) -> FixReport:
    """Carry remedies out, prove them, and write the script where that was asked.

    Returns:
        The report; nothing is written unless `request.write`, and then only what was proven.

    Raises:
        InputError: no such script, remedy or GPU; the file is not UTF-8; or it cannot be written.
        ScriptFailed: the script fails as it is.
        NoAnswer: no training step ended.
    """
    capture = CaptureRequest(target=request.script, args=request.args, mark=request.mark, show_output=False)
    found = target.resolve_own(capture)
    assert found.file is not None  # `resolve` raises where there is no source
    if request.gpu is not None:
        find_gpu(request.gpu)  # a name that is not known is said before anything runs
    content = found.file.read_bytes()
    wanted = _wanted(request.remedies)
    text = _text(content, request.script)
    done = {name: _edited(name, found.file, text) for name in wanted}
    able = {name: (text, one.text) for name, one in done.items() if one is not None}
    gains = gains_for(capture, request.gpu, able, on_progress) if able else Gains.none(request.gpu)
    job = _Job(request, capture, found.file, content, text, gains, on_progress)
    return _answer(job, wanted)


def promise_of(ids: Sequence[str]) -> tuple[str, float | None]:
    """What several edits promise together, and the tolerance of it: the sum of theirs."""
    known = [edits()[name] for name in ids]
    promise = max((e.promise for e in known), key=_ORDER.index, default="bitwise")
    tolerance = sum(e.tolerance or 0.0 for e in known)
    return promise, tolerance if promise == "tolerance" else None


def _wanted(asked: Sequence[str]) -> list[str]:
    if asked:
        return list(dict.fromkeys(remedy(name).id for name in asked))
    return [name for name, one in edits().items() if one.promise != "changes_mathematics" and name not in NAMED_ONLY]


def _text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: only scripts in UTF-8 can be edited ({error.reason} at byte {error.start})") from None


def _edited(name: str, file: Path, text: str) -> Edited | None:
    """The text with one remedy carried out; None: it has no edit, or nothing is to be changed."""
    done = edit(name, str(file), text) if name in edits() else None
    return done if isinstance(done, Edited) else None


def _answer(job: _Job, wanted: Sequence[str]) -> FixReport:
    text, left = job.text, list(wanted)
    tried: list[Tried] = []
    kept: list[str] = []
    while left:
        name = job.gains.best(left, kept)
        left.remove(name)
        one, text = _try(job, name, text, kept)
        tried.append(one)
        if one.kept is not False:
            kept.append(name)
    proof = _whole(job, text, kept, tried) if job.request.prove and kept else None
    predicted = job.gains.speedup(kept)
    backup = None
    if job.request.write and proof is not None and proof.kept:
        backup = rewrite(job.file, job.content, text.encode("utf-8"))
    return FixReport(
        script=job.request.script, device=job.gains.device, step_ms=job.gains.step_ms, remedies=tuple(tried),
        diff=_diff(job.request.script, job.text, text), predicted=predicted, proof=proof,
        error=_error(predicted, proof) if job.request.gpu is None else None,
        written=backup is not None, backup=None if backup is None else str(backup), warnings=_warnings(job, proof),
        machine=job.gains.machine, versions={"breakeven": __version__, "python": platform.python_version(), **job.gains.versions},
    )  # fmt: skip


def _try(job: _Job, name: str, text: str, kept: Sequence[str]) -> tuple[Tried, str]:
    """One remedy beside those that are kept: its record, and the text that it leaves."""
    gain = job.gains.gain(name, kept)
    title = REMEDIES[name].title
    if name not in edits():
        return Tried(name, title, None, gain, (), "", None, False, "it is advice: no edit of the source carries it out"), text
    promise = edits()[name].promise
    done = edit(name, str(job.file), text)
    if isinstance(done, Refused):
        return Tried(name, title, promise, gain, (), "", None, False, f"left as it is: {done.reason}"), text
    tried = Tried(name, title, promise, gain, done.lines, done.note, None, None, "not proven")
    if name in job.gains.unseen and name not in job.request.remedies:
        return replace(tried, kept=False, reason=job.gains.unseen[name]), text
    if gain is not None and gain.mid < LEAST_SHARE * (job.gains.step or 0.0) and name not in job.request.remedies:
        return replace(tried, kept=False, reason="it is predicted to save next to nothing here"), text
    if not job.request.prove:
        return tried, done.text
    job.tell(f"proving {name}")
    proof = prove(job.claim(text, done.text, [name]))
    return replace(tried, proof=proof, kept=proof.kept, reason=proof.reason), done.text if proof.kept else text


def _whole(job: _Job, text: str, kept: Sequence[str], tried: Sequence[Tried]) -> Proof | None:
    """The proof of the change as a whole; of a single remedy it is that of the remedy."""
    if len(kept) == 1:
        return next(one.proof for one in tried if one.id == kept[0])
    job.tell("proving all of them together")
    return prove(job.claim(job.text, text, kept))


def _error(predicted: Interval | None, proof: Proof | None) -> float | None:
    """Predicted saving of a step against the proven one, as a part of the latter."""
    if predicted is None or proof is None or proof.speedup is None:
        return None
    said, shown = 1 - 1 / predicted.mid, 1 - 1 / proof.speedup.mid
    return (said - shown) / abs(shown) if shown else None


def _diff(name: str, before: str, after: str) -> str:
    near = os.path.relpath(name) if os.path.exists(name) else name
    shown = name.lstrip(os.sep) if near.startswith(os.pardir) else near
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{shown}", f"b/{shown}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _warnings(job: _Job, proof: Proof | None) -> tuple[str, ...]:
    told = list(job.gains.warnings)
    if job.request.write and (proof is None or not proof.kept):
        told.append("Nothing was written: only a change that a proof has kept is.")
    if job.request.gpu is not None and proof is not None:
        told.append(
            f"The gain is predicted for the {job.gains.device}; the proof ran on this machine's CPU, "
            "so it shows that the numbers are the same, not how fast they are there."
        )
    return tuple(told)


def failed(request: FixRequest, error: BreakevenError) -> FixReport:
    """The report of a call that ended early."""
    return FixReport(
        request.script, request.gpu or "cpu", None, (), "", None, None, None, False, None, (str(error),), failed=error.slug
    )
