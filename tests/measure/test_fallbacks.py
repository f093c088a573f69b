"""An operation that a Mac's GPU hands to the CPU: PyTorch's own warning is heard, with the user's line, and shown as ever."""

from __future__ import annotations

import warnings

import pytest

pytest.importorskip("torch")

import breakeven
from breakeven.workflows.watch import Watch

#: As MPSFallback.mm of PyTorch 2.x has it.
SAID = (
    "The operator 'aten::_cdist_forward' is not currently supported on the MPS backend and will fall back to run on the CPU. "
    "This may have performance implications. (Triggered internally at /pytorch/aten/src/ATen/mps/MPSFallback.mm:14.)"
)


def watched(*said: str) -> Watch[int]:
    """A watch of a loop that warns."""
    seen = breakeven.watch(stream=None)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with seen:
            for text in said:
                warnings.warn(text, UserWarning, stacklevel=1)  # here
    return seen


def test_a_fallback_is_found_with_its_operation_and_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *args, **kwargs: shown.append(str(message))
        seen = watched(SAID)
    (finding,) = [one for one in seen.report.findings if one.id == "cpu_fallback"]
    assert finding.device == "mps"
    assert "aten::_cdist_forward" in finding.sentence
    assert [site.text for site in finding.sites] == ["warnings.warn(text, UserWarning, stacklevel=1)  # here"]
    assert shown == [SAID]


@pytest.mark.parametrize("text", ["lr_scheduler.step() before optimizer.step()", "The operator is fine on the MPS backend"])
def test_other_warnings_are_no_fallback(text: str) -> None:
    with warnings.catch_warnings():
        warnings.showwarning = lambda *args, **kwargs: None
        seen = watched(text)
    assert [one.id for one in seen.report.findings if one.id == "cpu_fallback"] == []


def test_warnings_are_shown_as_before_once_the_watch_has_ended() -> None:
    before = warnings.showwarning
    breakeven.watch(stream=None).close()
    with breakeven.watch(stream=None):
        assert warnings.showwarning is not before
    assert warnings.showwarning is before
