"""Files are named as the user would."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.results import Finding, Interval, Site, WhyReport
from breakeven.workflows.shown_paths import with_shown_paths


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("{here}/train.py", "train.py"),
        ("{here}/lib/net.py", "lib/net.py"),
        ("{here}x/train.py", "{here}x/train.py"),
        ("train.m", "train.m"),
    ],
)
def test_a_file_under_the_working_directory_is_named_from_there(tmp_path: Path, file: str, shown: str) -> None:
    here = tmp_path.resolve().as_posix()
    site = Site(file.format(here=here), 3, "x", None)
    finding = Finding("sync_bound", "Tesla T4", "sync", Interval(1, 2, 3), "It waits.", (site,), ())
    report = WhyReport("train.py", "step", {}, (), None, (), (), (finding,))
    (found,) = with_shown_paths(report, tmp_path).findings
    assert found.sites[0].file == shown.format(here=here)
