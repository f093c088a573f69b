"""Running small scripts through a capture, in folders of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture

pytest.importorskip("torch", reason="captures run PyTorch scripts")


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., CaptureResult]:
    """Writes a script into an empty folder and captures it, the CPU pass alone unless told otherwise."""

    def run(source: str | bytes, *args: str, name: str = "train.py", **asked: object) -> CaptureResult:
        path = tmp_path / name
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        options: dict[str, object] = {"cwd": str(tmp_path), "passes": ("cpu",), "steps": 5} | asked
        return capture(CaptureRequest(str(path), args, **options))  # type: ignore[arg-type]  # a test's own words

    return run
