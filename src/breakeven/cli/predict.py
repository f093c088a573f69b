"""`breakeven predict`: prices a file of operations. Thin: the work is in `workflows.predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from breakeven.cli.options import STDOUT, check_json, write_json
from breakeven.errors import InputError


def command(
    ops: Annotated[
        Path | None, typer.Argument(help="CSV or Parquet, one operation a row (docs/predict.md says which columns)")
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", help="device of the rows that name none in a column `gpu`")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where to; Parquet by its suffix, else CSV")] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="F", help="how many rows were priced, and why others were not; - as for `why`")
    ] = None,
    net: Annotated[str | None, typer.Option("--net", help="instead of OPS: a network in one line, or a file of one")] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="of --net: samples a step; 64, or the script's own")] = None,
    length: Annotated[int | None, typer.Option("--length", min=1, help="of --net: time steps of a sequence")] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="X=SIZES", help="of such a file: as for `why`")] = None,
) -> None:
    """Price operations one by one: time on the device with its interval, for each row of a file."""
    from breakeven.machine.gpus import find_gpu
    from breakeven.workflows.predict import predict, summary  # not at the top: --help must not wait for Polars

    if (ops is None) == (net is None):
        raise InputError("give a file of operations, or a network with --net")
    check_json(json, str(ops) if ops is not None else None)
    if net is not None:
        from breakeven.workflows.ask import AskRequest
        from breakeven.workflows.predict_net import predict_net

        asked = AskRequest(net, batch, length, gpu=find_gpu(gpu or "Tesla T4").name, data=tuple(data or ()))
        done = predict_net(asked, output)
    elif ops is not None:
        done = predict(ops, gpu, output)
    write_json(json, summary(done).encode())
    if json == STDOUT:
        return
    typer.echo(f"{done.rows} rows, {done.rows - done.unpriced} priced" + (f" to {output}" if output else ""))
    for reason, count in done.reasons:
        typer.echo(f"  {count} without a price: {reason}")
