"""Sources of small training scripts."""

from __future__ import annotations

#: A training of a few parameters; `{body}` runs at the end of each step.
TRAINING = """\
import torch
net = torch.nn.Linear(4, 4).to("cuda")
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range({steps}):
    loss = net(torch.ones(8, 4, device="cuda")).square().mean()
    sgd.zero_grad()
    loss.backward()
    sgd.step()
{body}
"""


def training(body: str = "pass", steps: int = 40) -> str:
    """The source of a small training whose steps end with `body`."""
    return TRAINING.format(steps=steps, body="\n".join("    " + line for line in body.splitlines()))
