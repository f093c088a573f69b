"""Predict a series one value ahead with a small recurrent network, the way the character-level tutorials do it.

A window of 100 rows slides over the series, one row further in each iteration; the hidden state is carried from one
window to the next.
"""

import os

import torch
import torch.nn as nn
from tqdm import tqdm

EPOCHS = 20
WINDOW = 100
EMBEDDING = 8
HIDDEN = 256
CHECKPOINT = "char_rnn.pt"
HOURS = 1700

device = torch.device("cuda")


def load_series():
    """Hourly water levels of a made-up harbour: the tide, its slower swing, and the weather."""
    hours = torch.arange(HOURS, dtype=torch.float32)
    levels = torch.sin(0.1 * hours) + 0.5 * torch.sin(0.023 * hours) + 0.05 * torch.randn(HOURS)
    return levels.view(-1, 1)


class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(1, EMBEDDING)
        self.rnn = nn.RNN(EMBEDDING, HIDDEN)
        self.decoder = nn.Linear(HIDDEN, 1)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.embedding(x), hidden)
        return self.decoder(out), hidden


torch.manual_seed(0)
data = load_series().to(device)
model = CharRNN().to(device)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=1e-5)

start_epoch = 0
losses = []  # for the plot
if os.path.exists(CHECKPOINT):
    saved = torch.load(CHECKPOINT, map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    start_epoch, losses = saved["epoch"] + 1, saved["losses"]
    print(f"going on from epoch {start_epoch}")

for epoch in range(start_epoch, EPOCHS):
    hidden = torch.zeros(1, WINDOW, HIDDEN, device=device)
    steps = len(data) - WINDOW - 1
    bar = tqdm(range(steps), desc=f"epoch {epoch}")
    for i in bar:
        x = data[i : i + WINDOW].unsqueeze(0)
        y = data[i + 1 : i + 1 + WINDOW].unsqueeze(0)
        optimizer.zero_grad()
        prediction, hidden = model(x, hidden)
        hidden = hidden.detach()
        loss = loss_fn(prediction, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        losses.append(loss.item())
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "losses": losses}, CHECKPOINT)
    print(f"epoch {epoch}: mean loss {sum(losses[-steps:]) / steps:.4f}")
