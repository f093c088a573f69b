"""What is said of the batches: who makes them and how, and how much of them is padding."""

from __future__ import annotations

import pytest

from breakeven.results.facts import facts_of

from .recording import record, torch

nn = torch.nn
data = torch.utils.data
rnn = torch.nn.utils.rnn


class Rows(data.Dataset):
    """A data set that makes each item when asked."""

    def __len__(self):
        return 8

    def __getitem__(self, at):
        return torch.ones(3)


HELD = data.TensorDataset(torch.ones(8, 3))


@pytest.mark.parametrize(
    ("dataset", "workers", "in_memory", "by_row"),
    [(HELD, 0, True, True), (data.Subset(HELD, range(8)), 0, True, True), (Rows(), 1, None, True)],
    ids=["in memory", "a part of it", "made when asked"],
)
def test_the_loader_that_a_step_takes_its_batch_from_is_told_with_its_line(dataset, workers, in_memory, by_row):
    loader = data.DataLoader(dataset, batch_size=4, num_workers=workers)

    def step():
        for _batch in loader:
            pass

    found = facts_of(record(step, before=step, steps=2).facts, gpu_visible=False).loaders
    assert len(found) == 1
    assert (found[0].workers, found[0].in_memory, found[0].by_row, found[0].batch) == (workers, in_memory, by_row, 4)
    assert found[0].site is not None
    assert found[0].site.text == "for _batch in loader:"


def test_a_loader_outside_of_the_recorded_steps_is_not_told():
    def before():
        for _batch in data.DataLoader(HELD):
            pass

    assert "loader" not in record(lambda: torch.ones(2), before=before).facts


LENGTHS = (2, 8, 3, 3)


def test_sequences_that_are_padded_together_are_counted_over_the_steps():
    found = facts_of(record(lambda: rnn.pad_sequence([torch.ones(n) for n in LENGTHS]), steps=3).facts, gpu_visible=False)
    (padding,) = found.padding
    assert (padding.total, padding.real, padding.timesteps, padding.longest, padding.packed) == (3 * 32, 3 * 16, 8, 8, False)
    assert padding.site is not None
    assert "pad_sequence" in padding.site.text


@pytest.mark.parametrize("batch_first", [True, False])
def test_padding_that_an_embedding_looks_up_is_counted_along_the_time(batch_first):
    indices = rnn.pad_sequence([torch.ones(n, dtype=torch.long) for n in LENGTHS], batch_first=batch_first)
    net = nn.Embedding(5, 2, padding_idx=0)
    found = record(lambda: net(indices))
    (padding,) = facts_of(found.facts, gpu_visible=False).padding
    assert (padding.total, padding.real, padding.timesteps) == (32, 16, 8)
    assert found.names.count("aten::embedding") == 1
    assert not any(name.startswith("sync::") for name in found.names)


def test_a_word_that_only_has_the_number_of_the_padding_is_none():
    indices = torch.tensor([[1, 0, 2], [0, 1, 1]])
    assert "padding" not in record(lambda: nn.Embedding(5, 2, padding_idx=0)(indices)).facts


def test_padding_that_is_packed_away_is_told_as_such():
    indices = rnn.pad_sequence([torch.ones(n, dtype=torch.long) for n in LENGTHS])
    net = nn.Embedding(5, 2, padding_idx=0)
    found = record(lambda: rnn.pack_padded_sequence(net(indices), LENGTHS, enforce_sorted=False))
    (padding,) = facts_of(found.facts, gpu_visible=False).padding
    assert padding.packed


def padded(lengths, most, filler=0, *, low=1, seed=0):
    """A batch of sequences of words of a vocabulary of 1000, filled up to one length."""
    made = torch.Generator().manual_seed(seed)
    batch = torch.full((len(lengths), most), filler)
    for row, length in enumerate(lengths):
        batch[row, :length] = torch.randint(low, 1000, (length,), generator=made)
    return batch


UNEVEN = [3, 8, 5, 12, 4, 7]


@pytest.mark.parametrize(
    ("batch", "timesteps"),
    [
        (padded(UNEVEN, 30), 30),
        (padded(UNEVEN, 30).t(), 30),
        (padded(UNEVEN, 30).flip(1), 30),
        (padded(UNEVEN, 30, filler=1000), 30),
        (padded([40] * 5 + [90], 90, low=0, seed=1), 90),
    ],
    ids=["at the end", "time first", "in front", "another number", "a word that has the number too"],
)
def test_padding_is_seen_where_nobody_says_which_index_it_is(batch, timesteps):
    (fact,) = record(lambda: nn.Embedding(1001, 2)(batch)).facts["padding"]
    assert fact.values["timesteps"] == timesteps
    real = sum(UNEVEN) if timesteps == 30 else 290
    assert fact.values["real"] == pytest.approx(real, abs=2)
    assert fact.values["total"] == batch.numel()


TEXT = torch.tensor(
    [[ord(letter) for letter in line] for line in ("to be or not ", "that is the q", "whether tis n", "the slings a ")]
)


@pytest.mark.parametrize(
    "batch",
    [
        padded([13] * 6, 13, low=0),
        padded([13] * 6, 13).zero_(),
        TEXT,
        torch.arange(24).reshape(4, 6),
        torch.tensor([[0, 1, 0, 1, 1, 1], [1, 0, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]),
        padded([10] * 6, 30),
        torch.tensor([[1, 2, 3], [4, 8, 5], [6, 7, 3]]),
    ],
    ids=["full", "all one", "text", "counting", "bits", "all of one length", "three words"],
)
def test_what_is_no_padding_is_not_taken_for_it(batch):
    assert "padding" not in record(lambda: nn.Embedding(1001, 2)(batch)).facts
