"""Real notebooks, executed by a real kernel: the magics answer, and the session is left as it was."""

from __future__ import annotations

import re

import pytest

from tests.notebook.kernels import executed, kernel, outputs

__all__ = ["kernel"]  # a fixture

SESSION = """\
import torch
from torch import nn
import torch.nn.functional as F
%load_ext breakeven

WIDTH = 8

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(4, WIDTH)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.head(torch.relu(self.lift(x)))

def loss_of(out):
    return F.mse_loss(out, torch.zeros_like(out))
"""
DATA = """\
torch.manual_seed(0)
model = Net()
adam = torch.optim.Adam(model.parameters())
batches = [torch.ones(16, 4) for _ in range(3)]
before = {k: v.clone() for k, v in model.state_dict().items()}
state = torch.random.get_rng_state()
"""
WHY = """\
%%why --gpu t4 --steps 20
for at in range(400):
    adam.zero_grad()
    loss = loss_of(model(batches[at % 3]))
    loss.backward()
    adam.step()
    print(loss.item())
"""
TIMED = """\
%%time_devices --seconds 0.5
adam.zero_grad()
loss_of(model(torch.ones(16, 4, device=device))).backward()
adam.step()
"""
AFTER = """\
assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
assert torch.equal(state, torch.random.get_rng_state())
assert not adam.state and all(p.grad is None for p in model.parameters())
assert "at" not in globals() and "loss" not in globals() and "device" not in globals()
print("as it was")
"""
WATCHED = """\
import breakeven
seen = breakeven.watch(batches * 20, every=0.01)
for x in seen:
    adam.zero_grad()
    loss_of(model(x)).backward()
    adam.step()
seen
"""
WRONG = """\
%%why --gpu nosuch
pass
"""
STUCK = """\
%%why
for line in handle:
    pass
"""


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_real_notebook_is_answered_and_its_session_left_as_it_was() -> None:
    """One kernel for all of it: a kernel takes seconds to start."""
    opened = "handle = open('README.md')"
    cells = executed(SESSION, DATA, WHY, TIMED, AFTER, WATCHED, WRONG, opened, STUCK)
    why, timed, after, watched, wrong, stuck = (cells[at] for at in (2, 3, 4, 5, 6, 8))
    text, html = outputs(why, "text/plain"), outputs(why, "text/html")
    assert "Tesla T4" in text
    assert "<table>" in html
    assert re.search(r">cell\.py:[567]<", html)  # the cell's own lines, from its magic on
    assert re.search(r"^ +cell\.py:[567]  ", text, re.M)
    assert "<pre style" not in html  # Rich's own, which would be empty
    assert "a call" in outputs(timed, "text/plain")
    assert "<table>" in outputs(timed, "text/html")
    assert "as it was" in outputs(after, "text/plain")
    assert "60 steps on cpu" in outputs(watched, "text/plain")
    assert "no device is called 'nosuch'" in outputs(wrong, "text/plain")
    assert "'handle' cannot be handed to another process" in outputs(stuck, "text/plain")
