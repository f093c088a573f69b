"""Asks the PyTorch of a Python for its facts, in a child process."""

from __future__ import annotations

from pathlib import Path

import msgspec

from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import TorchFacts

_SCRIPT = str(Path(__file__).with_name("torch_facts.py"))


def torch_facts(around: Surroundings) -> TorchFacts:
    """The facts; a Python whose PyTorch dies while it is asked has none, and says how it died."""
    said = around.ask(around.python, _SCRIPT)
    lines = said.text.strip().splitlines()
    try:
        return msgspec.json.decode(lines[-1].encode() if lines else b"", type=TorchFacts)
    except (msgspec.DecodeError, UnicodeEncodeError):
        how = f"exit code {said.code}" if said.code is not None else "no answer"
        return TorchFacts(
            None, error=f"PyTorch ended while it was asked ({how}): {lines[-1][:300] if lines else ''}".rstrip(": ")
        )
