"""Are movie reviews kind or not? A feed-forward net on a document-term matrix, trained on the CPU and on the GPU.

    python reviews.py [TABLE]

TABLE is a .csv or .tsv with the columns text and label (1: kind, 0: not). Without it, the small set beside this script is used.
"""

import csv
import pathlib
import re
import sys
import time

import torch
import torch.nn as nn
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

UPDATES = 10

path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("reviews.tsv")
with path.open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file, delimiter="," if path.suffix == ".csv" else "\t"))


def clean(text):
    text = re.sub(r"<[^>]+>", " ", text.lower())
    text = re.sub(r"[^a-z' ]+", " ", text)
    return re.sub(r"\s+", " ", text).strip()


texts = [clean(row["text"]) for row in rows]
labels = torch.tensor([float(row["label"]) for row in rows]).unsqueeze(1)
matrix = CountVectorizer(stop_words="english", min_df=2).fit_transform(texts)
features = torch.tensor(matrix.toarray(), dtype=torch.float32)
x_train, x_test, y_train, y_test = train_test_split(features, labels, test_size=0.25, random_state=0, stratify=labels)
print(f"{len(rows)} reviews, {features.shape[1]} terms")


class ReviewNet(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.hidden = nn.Linear(terms, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return torch.sigmoid(self.out(torch.relu(self.hidden(x))))


def train(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    criterion = nn.BCELoss()
    for update in range(UPDATES):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"  update {update}: loss {loss.item():.4f}")


def accuracy(model, x, y):
    with torch.no_grad():
        return ((model(x) > 0.5) == (y > 0.5)).float().mean().item()


print("CPU")
torch.manual_seed(0)
model_cpu = ReviewNet(features.shape[1])
start = time.time()
train(model_cpu, x_train, y_train)
print(f"  {time.time() - start:.4f} s, accuracy {accuracy(model_cpu, x_test, y_test):.1%}")

print("GPU")
torch.manual_seed(0)
model_gpu = ReviewNet(features.shape[1]).to("cuda")
x_gpu, y_gpu = x_train.to("cuda"), y_train.to("cuda")
start = time.time()
train(model_gpu, x_gpu, y_gpu)
print(f"  {time.time() - start:.4f} s, accuracy {accuracy(model_gpu, x_test.to('cuda'), y_test.to('cuda')):.1%}")
