"""How many steps are recorded: three where they are short, and one where they are long, also where the plan does not know it."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakeven.capture.recording import Recording
from breakeven.capture.request import VIRTUAL, CaptureRequest, ChildSpec, Place, Plan
from breakeven.capture.series import Series
from breakeven.capture.steps import StopAtEdge
from breakeven.timeline import OpStream
from breakeven.timeline.opstream import OpStreamBuilder

PLACE = Place("optimizer", "train.py", 9)


class Session:
    """A virtual GPU that counts the steps that it is told of."""

    device_rows = 1

    def __init__(self) -> None:
        self.steps = 0

    def start(self) -> None:
        self.steps = 0

    def edge(self) -> None:
        self.steps += 1

    def stop(self, *, unit: str = "step", batch: int | None = None) -> OpStream:
        return OpStreamBuilder().build(steps=self.steps, batch=batch)


@pytest.mark.parametrize(
    ("step_s", "planned_s", "passed", "recorded"),
    [(0.01, 0.01, 2, 3), (3.0, 0.01, 2, 1), (3.0, 3.0, 1, 1), (8.0, 8.0, 0, 1)],
    ids=["short", "longer-than-planned", "long", "very-long"],
)
def test_long_steps_are_recorded_once(tmp_path: Path, step_s: float, planned_s: float, passed: int, recorded: int) -> None:
    plan = Plan("step", PLACE, "cpu", 8, 40, (), 8, round(planned_s * 1e9))
    session, series = Session(), Series(PLACE, "cpu")
    recording = Recording(ChildSpec(CaptureRequest("train.py"), VIRTUAL, str(tmp_path), False, plan), session, dict)
    series.start(0, 0)

    def run() -> None:
        for edge in range(1, 500):
            now = round(edge * step_s * 1e9)
            series.edge(now, 0)
            recording.on_edge(series, now)

    with pytest.raises(StopAtEdge):
        run()
    assert session.steps == recorded
    observed = 0.5 / step_s if step_s < 0.5 else 0  # it goes on for half a second where steps are short
    assert series.edges <= max(1, passed) + recorded + 1 + observed
