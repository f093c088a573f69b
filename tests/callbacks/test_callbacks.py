"""Each callback watches its framework's own loop, with the real package on a tiny model, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

pytest_plugins = ["breakeven.callbacks.pytest_plugin"]
ROOT = Path(__file__).resolve().parents[2]

LIGHTNING = """\
import torch, lightning
from breakeven.callbacks.lightning import callback
class Tiny(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.net(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(80, 4)), batch_size=4)
watching = callback(stream=None)
trainer = lightning.Trainer(accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[watching])
trainer.fit(Tiny(), loader)
class Failing(Tiny):
    def training_step(self, batch, index):
        if index == 10:
            raise ValueError("on purpose")
        return super().training_step(batch, index)
failed = callback(stream=None)
trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[failed])
try:
    trainer.fit(Failing(), loader)
    raise AssertionError("it was to fail")
except ValueError:
    assert failed.watch.report.steps == 10, failed.watch  # and ASKED looks that its ears are out again
"""
TRANSFORMERS = """\
import torch, transformers
from breakeven.callbacks.transformers import callback
class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def forward(self, x):
        return {"loss": self.net(x).square().mean()}
rows = [{"x": torch.ones(4)} for _ in range(80)]
asked = transformers.TrainingArguments("out", per_device_train_batch_size=4, num_train_epochs=2, report_to=[], use_cpu=True,
                                       save_strategy="no", disable_tqdm=True, logging_strategy="no")
watching = callback(stream=None)
transformers.Trainer(Tiny(), asked, train_dataset=rows, callbacks=[watching]).train()
"""
KERAS = """\
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy
from breakeven.callbacks.keras import callback
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
watching = callback(stream=None)
model.fit(numpy.ones((80, 4)), numpy.ones((80, 1)), batch_size=4, epochs=2, verbose=0, callbacks=[watching])
"""
ASKED = """
seen = watching.watch.report
import torch
from torch.optim import optimizer
assert 38 <= seen.steps <= 40, seen
assert seen.device == "cpu" and seen.step_ms is not None
assert {part.cause for part in seen.parts} >= {"forward", "backward"}, seen
assert not hasattr(torch.autograd.backward, "__wrapped__") and not optimizer._global_optimizer_post_hooks
print("watched")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("package", "script"), [("lightning", LIGHTNING), ("transformers", TRANSFORMERS), ("keras", KERAS)])
def test_a_real_training_is_watched_and_left_without_a_trace(package: str, script: str, tmp_path: Path) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    home = {"KERAS_HOME": str(tmp_path), "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    env = {**os.environ, **home, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script + ASKED], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "watched" in done.stdout


def test_the_fixture_of_pytest_watches_a_test(watched_loop: Any) -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([weight], lr=0.1)
    for _ in range(12):
        sgd.zero_grad()
        weight.sum().backward()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        sgd.step()
    assert watched_loop.report.steps == 12
    assert watched_loop.report.step_ms.high < 60_000
