"""The folder that the pages speak of: a script, a package, a table of operations, a trace, the examples; and answers kept."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.shown import ROOT
from tests.readers import made

TRAIN = """\
import argparse
import torch

batch_size = 64
hidden = 32


class Net(torch.nn.Module):
    def __init__(self, width=hidden):
        super().__init__()
        self.lift = torch.nn.Linear(8, width)
        self.head = torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.relu(self.lift(x)))


def step(device):
    net = Net().to(device)
    x = torch.ones(batch_size, 8, device=device)
    return lambda: net(x).sum().backward()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    asked, _own = parser.parse_known_args()
    net = Net().to("cuda")
    adam = torch.optim.Adam(net.parameters(), lr=asked.lr)
    samples = torch.utils.data.TensorDataset(torch.randn(25600, 8))
    loader = torch.utils.data.DataLoader(samples, batch_size=batch_size)
    losses = []
    for epoch in range(1000):
        for (x,) in loader:
            x = x.to("cuda")
            adam.zero_grad()
            loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
            loss.backward()
            adam.step()
            losses.append(loss.item())


if __name__ == "__main__":
    main()
"""
#: A model of Keras and one of ONNX, written by those themselves.
MODELS = """\
import keras, numpy, onnx
from onnx import TensorProto, helper, numpy_helper

model = keras.Sequential([keras.Input((28,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(10)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.save("model.keras")

weight = numpy_helper.from_array(numpy.ones((28, 10), numpy.float32), "weight")
given, scores = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", k]) for n, k in (("given", 28), ("scores", 10)))
graph = helper.make_graph([helper.make_node("MatMul", ["given", "weight"], ["scores"])], "g", [given], [scores], [weight])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), "model.onnx")
"""
OPERATIONS = "op,m,n,k,elements\ngemm,64,64,64,\nrelu,,,,4096\n"


def lay(folder: Path) -> None:
    """Everything that is there before anything is asked."""
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "mymodule.py").write_text(TRAIN, encoding="utf-8")
    (folder / "lab").mkdir()
    (folder / "lab" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "lab" / "train.py").write_text(TRAIN, encoding="utf-8")
    (folder / "ops.csv").write_text(OPERATIONS, encoding="utf-8")
    made.kineto(folder / "trace.json")
    (folder / "trace.json.gz").write_bytes(gzip.compress((folder / "trace.json").read_bytes()))
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "examples" / "cnn_lstm.m", folder / "train.m")


def with_models(folder: Path) -> None:
    """Model files beside the rest."""
    subprocess.run([sys.executable, "-c", MODELS], cwd=folder, env={**os.environ, "KERAS_BACKEND": "torch"}, check=True)


def with_answers(folder: Path, run: Path) -> None:
    """Runs as if they had been kept before: one answer on two days, a second time before a change, and as JSON."""
    for place in ("runs/monday", "runs/tuesday", "before"):
        shutil.copytree(run, folder / place)
    for name in ("baseline.json", "now.json", "why.json"):
        shutil.copy(run / "answer.json", folder / name)
