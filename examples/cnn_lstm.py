"""Regression on daily load curves: each time step is a day of 1440 minutes, the target is the level of the day after.

Convolution over the days, batch normalisation, ReLU, an LSTM, and a linear layer on its last output.
"""

import math

import torch
import torch.nn as nn

EPOCHS = 200
BATCH = 64
FEATURES = 1440
DAYS = 28
SEQUENCES = 256

device = "cuda"


def make_data():
    """Load curves with a yearly swing, a slow drift and noise; (sequences, days, minutes) and (sequences, 1)."""
    minutes = torch.linspace(0, 2 * math.pi, FEATURES)
    shape = 1.0 - 0.6 * torch.cos(minutes) + 0.3 * torch.sin(2 * minutes)
    phase = 2 * math.pi * torch.rand(SEQUENCES, 1)
    day = torch.arange(DAYS + 1, dtype=torch.float32)
    level = torch.sin(phase + 0.15 * day) + 0.02 * day * torch.randn(SEQUENCES, 1)
    curves = level[:, :DAYS, None] * shape + 0.3 * torch.randn(SEQUENCES, DAYS, FEATURES)
    return curves, level[:, DAYS:]


class CnnLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(FEATURES, 2, kernel_size=5, padding="same")
        self.norm = nn.BatchNorm1d(2)
        self.lstm = nn.LSTM(2, 24, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.lstm.bias_hh_l0.requires_grad_(False).zero_()  # PyTorch adds two biases to each gate, and one is enough
        self.head = nn.Linear(24, 1)
        for name, parameter in self.named_parameters():
            if "weight" in name and parameter.dim() > 1:
                nn.init.kaiming_normal_(parameter)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x.transpose(1, 2))))
        out, _ = self.lstm(x.transpose(1, 2))
        return self.head(self.dropout(out[:, -1]))


torch.manual_seed(1)
curves, targets = make_data()
model = CnnLstm().to(device)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=96, gamma=0.25)

for epoch in range(EPOCHS):
    model.train()
    order = torch.randperm(SEQUENCES)
    running = 0.0
    for first in range(0, SEQUENCES, BATCH):
        chosen = order[first : first + BATCH]
        x = curves[chosen].to(device)
        y = targets[chosen].to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item() * len(chosen)
    scheduler.step()
    print(f"epoch {epoch}: rmse {math.sqrt(running / SEQUENCES):.4f}")
