"""Prices a network's operations: the description as a table of operations, in a file that `predict` reads like any other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl

from breakeven.models.operations import operations
from breakeven.workflows.ask import AskRequest, described
from breakeven.workflows.predict import Predicted, predict


def predict_net(request: AskRequest, out: Path | None) -> Predicted:
    """Price every operation of a network's step and write them with their prices.

    Args:
        request: the network, its batch and length, the GPU.
        out: where to; None: nothing is written.

    Raises:
        InputError: the network cannot be understood, or `out` cannot be written.
    """
    model = described(request)
    rows = operations(model.network, model.batch, model.training.learns)
    with tempfile.TemporaryDirectory(prefix="breakeven-") as folder:
        file = Path(folder) / "operations.csv"
        pl.DataFrame(rows, infer_schema_length=None).write_csv(file)
        return predict(file, request.gpu, out)
