"""One training step of each example, with the example's sizes; the data are random numbers of the same shapes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from breakeven.measure.jobs.job import Asked, Job


def char_rnn(asked: Asked) -> Job:
    """A window of a series through a recurrent network, the loss read in every step (examples/char_rnn.py)."""
    embedding, rnn, decoder = nn.Linear(1, 8), nn.RNN(8, 256), nn.Linear(256, 1)
    model = nn.ModuleList([embedding, rnn, decoder]).to(asked.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, weight_decay=1e-5)
    x = torch.randn(1, asked.size, 1, device=asked.device)
    y = torch.randn(asked.size, 1, device=asked.device)
    hidden = torch.zeros(1, asked.size, 256, device=asked.device)

    def call() -> None:
        optimizer.zero_grad()
        out, _ = rnn(embedding(x), hidden)
        loss = nn.functional.mse_loss(decoder(out)[0], y)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        loss.item()

    return Job(call, epoch=1700 - asked.size - 1)


def cnn_lstm(asked: Asked) -> Job:
    """Load curves through a convolution and an LSTM, each batch copied to the device (examples/cnn_lstm.py)."""
    features, days = 1440, 28
    conv, norm = nn.Conv1d(features, 2, kernel_size=5, padding="same"), nn.BatchNorm1d(2)
    recurrent, head = nn.LSTM(2, 24, batch_first=True), nn.Linear(24, 1)
    model = nn.ModuleList([conv, norm, recurrent, head]).to(asked.device)
    curves, target = torch.randn(asked.size, days, features), torch.randn(asked.size, 1)

    def loss_of() -> torch.Tensor:
        x = torch.relu(norm(conv(curves.to(asked.device).transpose(1, 2))))
        out, _ = recurrent(x.transpose(1, 2))
        return nn.functional.mse_loss(head(nn.functional.dropout(out[:, -1], 0.1)), target.to(asked.device))

    return Job(
        _step(model, torch.optim.Adam(model.parameters(), lr=0.001), loss_of, clip=1.0, read=True), epoch=-(-256 // asked.size)
    )


def reviews(asked: Asked) -> Job:
    """All reviews in one update of a feed-forward net (examples/reviews.py); as many terms as its own table has."""
    net = nn.Sequential(nn.Linear(_TERMS, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid()).to(asked.device)
    x = (torch.rand(asked.size, _TERMS, device=asked.device) < 0.02).float()
    y = (torch.rand(asked.size, 1, device=asked.device) < 0.5).float()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    return Job(_step(net, optimizer, lambda: nn.functional.binary_cross_entropy(net(x), y), read=True), epoch=1)


def tagger_bilstm(asked: Asked) -> Job:
    """Sentences of different lengths through a bidirectional LSTM (examples/tagger_bilstm.py)."""
    words, longest = 44, 20
    embedding, recurrent = nn.Embedding(words, 64, padding_idx=0), nn.LSTM(64, 128, batch_first=True, bidirectional=True)
    out = nn.Linear(256, 7)
    model = nn.ModuleList([embedding, recurrent, out]).to(asked.device)
    lengths = torch.randint(5, longest + 1, (asked.size,))
    lengths[0] = longest
    batch = torch.randint(1, words, (asked.size, longest))
    batch[torch.arange(longest)[None] >= lengths[:, None]] = 0
    tags = torch.where(batch > 0, torch.randint(1, 7, batch.shape), 0)

    def loss_of() -> torch.Tensor:
        x = embedding(batch.to(asked.device))
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(recurrent(packed)[0], batch_first=True)
        return nn.functional.cross_entropy(out(states).flatten(0, 1), tags.to(asked.device).flatten(), ignore_index=0)

    return Job(_step(model, torch.optim.Adam(model.parameters(), lr=0.002), loss_of, read=True), epoch=-(-2000 // asked.size))


def tiny_transformer(asked: Asked) -> Job:
    """Windows of a series through two transformer layers (examples/tiny_transformer.py)."""
    window, width = 100, 64
    layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=128, dropout=0.0, batch_first=True, norm_first=True)
    into, encoder, out = nn.Linear(1, width), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, 1)
    model = nn.ModuleList([into, encoder, out])
    model.register_parameter("position", nn.Parameter(0.1 * torch.randn(window, width)))
    model = model.to(asked.device)
    mask = nn.Transformer.generate_square_subsequent_mask(window).to(asked.device)
    x, y = (torch.randn(asked.size, window, 1, device=asked.device) for _ in range(2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss_of() -> torch.Tensor:
        return nn.functional.mse_loss(out(encoder(into(x) + model.position, mask=mask, is_causal=True)), y)

    return Job(_step(model, optimizer, loss_of, clip=1.0), epoch=-(-1599 // asked.size))


#: Columns of the document-term matrix that examples/reviews.py makes of its own table (a test counts them).
_TERMS = 171


def _step(
    model: nn.Module, optimizer: torch.optim.Optimizer, loss_of: Callable[[], torch.Tensor], *, clip: float | None = None,
    read: bool = False,
) -> Callable[[], object]:  # fmt: skip
    """The usual step: zero, forward, backward, clip, descend; and the loss read where the example reads it."""

    def call() -> None:
        optimizer.zero_grad()
        loss = loss_of()
        torch.autograd.backward(loss)
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if read:
            loss.item()

    return call
