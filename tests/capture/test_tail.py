"""After the steps that count, some more under settings that spare the CPU: weights that have decayed, threads without a core."""

from __future__ import annotations

from statistics import median

import pytest

from breakeven.capture.request import CPU, CaptureRequest, TimedPass
from breakeven.capture.run import capture

DECAYING = """
import torch
{first}
weight = torch.nn.Parameter(torch.full((300, 300), 1e-30))
other = torch.nn.Parameter(torch.ones(3, 3))
optimizer = torch.optim.SGD([{{"params": [weight], "weight_decay": {decay}}}, {{"params": [other]}}], lr=1.0)
for step in range({steps}):
    optimizer.zero_grad()
    (other.sum() + 0 * weight.mm(weight).sum()).backward()
    optimizer.step()  # here
    print(step, float(other.sum()))
"""


def timed(tmp_path, text: str, **more) -> TimedPass:
    script = tmp_path / "train.py"
    script.write_text(text)
    found = capture(CaptureRequest(str(script), cwd=str(tmp_path), passes=(CPU,), show_output=False, **more))
    assert found.cpu is not None
    return found.cpu


def test_weights_that_have_decayed_are_seen_at_the_end_of_a_script(tmp_path):
    """After a hundred steps; in the first ones they were healthy."""
    found = timed(tmp_path, DECAYING.format(first="", decay=0.4, steps=110))
    assert found.end.how == "ok"
    assert found.decayed[0].what == "a parameter of 300 × 300"
    assert found.decayed[0].share == 1.0
    assert found.flushed is None  # it ended before more steps could be asked for


def test_a_script_that_goes_on_is_timed_with_denormal_numbers_flushed_beside(tmp_path):
    text = DECAYING.format(first="torch.set_num_threads(1)", decay=0.4, steps=100_000)
    found = timed(tmp_path, text, steps=120)
    assert found.end.how == "budget"
    assert found.flushed is not None
    assert len(found.flushed.before_ns) >= 5
    assert len(found.flushed.after_ns) >= 5
    assert found.matched is None
    assert found.principal is not None
    assert found.flushed.before_ns == found.principal.samples_ns[-20:]  # the tail's steps are not among those that count


def test_denormal_numbers_are_flushed_in_every_thread_that_computes(tmp_path):
    """Threads that are there do not flush: beside two threads the gain was a fifth of what it is, or none."""
    text = DECAYING.format(first="torch.set_num_threads(2)", decay=0.4, steps=100_000)
    found = timed(tmp_path, text.replace("weight.mm(weight)", "weight.mm(torch.ones(300, 300))"), steps=200)
    assert found.flushed is not None
    assert median(found.flushed.after_ns) < 0.7 * median(found.flushed.before_ns)
    assert found.threads == 2  # as the script has them


def test_healthy_weights_and_flushed_ones_end_without_a_tail(tmp_path):
    for first, decay in (("", 0.01), ("torch.set_flush_denormal(True)", 0.4)):
        found = timed(tmp_path, DECAYING.format(first=first, decay=decay, steps=100_000), steps=120)
        assert (found.decayed, found.flushed, found.matched) == ((), None, None)


def test_more_threads_than_cores_are_timed_beside_as_many(tmp_path):
    text = DECAYING.format(first="torch.set_num_threads(64)", decay=0.0, steps=100_000)
    found = timed(tmp_path, text, steps=30)
    assert found.matched is not None
    assert found.threads == 64  # as the script has them, not as the tail left them
    assert len(found.matched.after_ns) >= 5


@pytest.mark.parametrize("text", ["import torch\nprint(1)\n"])
def test_a_script_without_steps_has_no_tail(tmp_path, text):
    found = timed(tmp_path, text)
    assert (found.decayed, found.matched, found.flushed) == ((), None, None)
