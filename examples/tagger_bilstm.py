"""Tag each word of a sentence with its part of speech: a bidirectional LSTM over sentences of different lengths.

The sentences come from a small grammar, so the script needs no download. Words that may be noun or verb make the
context matter.
"""

import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

EPOCHS = 5
SENTENCES = 2000
BATCH = 32
TAGS = ["<pad>", "DET", "ADJ", "NOUN", "VERB", "ADV", "PREP"]
WORDS = {
    "DET": "the a this every some no".split(),
    "ADJ": "small quiet old green heavy cold bright slow".split(),
    "NOUN": "boat harbour keeper letter map market roof watch walk light cook plan ship book".split(),
    "VERB": "sees finds carries leaves watch walk light cook plan ship book".split(),
    "ADV": "slowly often never again here".split(),
    "PREP": "in on under near with after".split(),
}
VOCABULARY = {word: i for i, word in enumerate(sorted({w for words in WORDS.values() for w in words}), start=1)}


def noun_phrase(rng):
    return ["DET"] + ["ADJ"] * rng.choice([0, 0, 1, 1, 2, 3]) + ["NOUN"]


def sentence(rng):
    tags = noun_phrase(rng) + ["VERB"] + noun_phrase(rng)
    while rng.random() < 0.55:
        tags += ["PREP"] + noun_phrase(rng)
    if rng.random() < 0.4:
        tags += ["ADV"]
    return [rng.choice(WORDS[tag]) for tag in tags], tags


class Sentences(Dataset):
    def __init__(self, count, seed):
        rng = random.Random(seed)
        self.pairs = [sentence(rng) for _ in range(count)]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        words, tags = self.pairs[index]
        return torch.tensor([VOCABULARY[w] for w in words]), torch.tensor([TAGS.index(t) for t in tags])


def collate(batch):
    words, tags = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True), lengths


class Tagger(nn.Module):
    def __init__(self, width=64, hidden=128):
        super().__init__()
        self.embedding = nn.Embedding(len(VOCABULARY) + 1, width, padding_idx=0)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(states)


def main():
    torch.manual_seed(0)
    train = DataLoader(Sentences(SENTENCES, seed=1), batch_size=BATCH, shuffle=True, num_workers=2, collate_fn=collate)
    test = DataLoader(Sentences(SENTENCES // 10, seed=2), batch_size=BATCH, num_workers=2, collate_fn=collate)
    model = Tagger().to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    criterion = nn.CrossEntropyLoss(ignore_index=0)

    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for words, tags, lengths in train:
            words, tags = words.to("cuda"), tags.to("cuda")
            optimizer.zero_grad()
            scores = model(words, lengths)
            loss = criterion(scores.flatten(0, 1), tags.flatten())
            loss.backward()
            optimizer.step()
            total += loss.item()

        model.eval()
        right = count = 0
        with torch.no_grad():
            for words, tags, lengths in test:
                words, tags = words.to("cuda"), tags.to("cuda")
                guess = model(words, lengths).argmax(dim=-1)
                known = tags != 0
                right += ((guess == tags) & known).sum().item()
                count += known.sum().item()
        print(f"epoch {epoch}: loss {total / len(train):.4f}, {right / count:.1%} of the words tagged right")


if __name__ == "__main__":
    main()
