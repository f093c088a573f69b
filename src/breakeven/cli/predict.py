"""`breakeven predict`: prices a file of operations. Thin: the work is in `workflows.predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from breakeven.errors import InputError


def command(
    ops: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet, one operation a row (docs/predict.md says which columns)")
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="device of the rows that name none in a column `gpu`")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where to; Parquet by its suffix, else CSV")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="how many rows were priced, and why others were not")] = None,
    net: Annotated[str | None, typer.Option("--net", help="instead of OPS: a network in one line, or a MATLAB script")] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, help="of --net: samples a step")] = 64,
    length: Annotated[int | None, typer.Option("--length", min=1, help="of --net: time steps of a sequence")] = None,
) -> None:
    """Price operations one by one: time on the device with its interval, for each row of a file."""
    from breakeven.machine.gpus import find_gpu
    from breakeven.workflows.predict import predict, summary  # not at the top: --help must not wait for Polars

    if (ops is None) == (net is None):
        raise InputError("give a file of operations, or a network with --net")
    if net is not None:
        from breakeven.workflows.ask import AskRequest
        from breakeven.workflows.predict_net import predict_net

        done = predict_net(AskRequest(net, batch, length, gpu=find_gpu(gpu or "Tesla T4").name), output)
    elif ops is not None:
        done = predict(ops, gpu, output)
    if json is not None:
        json.write_text(summary(done), encoding="utf-8")
    typer.echo(f"{done.rows} rows, {done.rows - done.unpriced} priced" + (f" to {output}" if output else ""))
    for reason, count in done.reasons:
        typer.echo(f"  {count} without a price: {reason}")
