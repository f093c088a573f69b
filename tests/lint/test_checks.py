"""Each check fires where a case says so, and nothing fires anywhere else: in no case is there a finding that it does not name."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass

import pytest

from breakeven.lint.checks import CHECKS
from breakeven.lint.scan import scan_text
from breakeven.lint.sources import Source

CASES = pathlib.Path(__file__).parent / "cases"
EXPECTED = re.compile(r"#\s*expect:\s*(?P<codes>BE\d+(?:\s+BE\d+)*)")
TITLE = re.compile(r"^# --- (?P<title>.+)$", re.MULTILINE)
#: What the snippets stand on.
PRELUDE = """\
import os, random, time
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset
device = torch.device("cuda")
xs = torch.randn(512, 16, device=device)
ys = torch.randn(512, 1, device=device)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.MSELoss()
"""


@dataclass(frozen=True)
class Case:
    """A snippet, and the codes that it says are found in its lines."""

    name: str
    text: str

    @property
    def expected(self) -> set[tuple[int, str]]:
        """Lines and codes; an `expect` comment in a line by itself is about the line before."""
        found = set()
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := EXPECTED.search(line):
                found |= {(number - line.lstrip().startswith("#"), code) for code in match["codes"].split()}
        return found


def cases() -> list[Case]:
    """Every snippet of every file of cases."""
    found = []
    for path in sorted(CASES.glob("*.txt")):
        parts = TITLE.split(path.read_text(encoding="utf-8"))[1:]
        for title, body in zip(parts[::2], parts[1::2], strict=True):
            whole = body.lstrip("\n")
            prelude = "" if whole.startswith(("import torch\n", "import torch, ")) else PRELUDE
            found.append(Case(f"{path.stem}: {title.strip()}", prelude + whole))
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_case_gives_what_it_says_and_nothing_else(case: Case) -> None:
    """Sites and codes are those of the comments."""
    found = {(f.line, f.code) for f in scan_text(Source("case.py", case.text))}
    assert found == case.expected


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_every_check_has_cases_that_fire_and_healthy_ones(check: object) -> None:
    """No check goes without both."""
    code = getattr(check, "code", "")
    own = [case for case in cases() if case.name.startswith(code)]
    assert any(code in {c for _, c in case.expected} for case in own)
    assert any(not case.expected for case in own)


def test_codes_are_unique_and_in_order() -> None:
    """A code names one check for ever."""
    codes = [check.code for check in CHECKS]
    assert codes == sorted(set(codes))
