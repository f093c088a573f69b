"""Predict a series one value ahead with a tiny transformer: the task of char_rnn.py, all positions at once.

Each sample is a window of 100 values, and the network predicts the following value at each of the 100 positions in one
parallel pass.
"""

import torch
import torch.nn as nn

EPOCHS = 30
WINDOW = 100
BATCH = 32
WIDTH = 64
HOURS = 1700


def load_series():
    """Hourly water levels of a made-up harbour: the tide, its slower swing, and the weather."""
    hours = torch.arange(HOURS, dtype=torch.float32)
    levels = torch.sin(0.1 * hours) + 0.5 * torch.sin(0.023 * hours) + 0.05 * torch.randn(HOURS)
    return levels.view(-1, 1)


class TinyTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(1, WIDTH)
        self.position = nn.Parameter(0.1 * torch.randn(WINDOW, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=128, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.decoder = nn.Linear(WIDTH, 1)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(WINDOW))

    def forward(self, x):
        return self.decoder(self.encoder(self.embedding(x) + self.position, mask=self.mask, is_causal=True))


torch.manual_seed(0)
data = load_series().cuda()
starts = torch.arange(len(data) - WINDOW - 1, device="cuda")
offsets = torch.arange(WINDOW, device="cuda")
model = TinyTransformer().cuda()
loss_fn = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(EPOCHS):
    total = torch.zeros((), device="cuda")
    batches = starts[torch.randperm(len(starts), device="cuda")].split(BATCH)
    for batch in batches:
        rows = batch[:, None] + offsets
        optimizer.zero_grad()
        loss = loss_fn(model(data[rows]), data[rows + 1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch}: mean loss {total.item() / len(batches):.4f}")
