"""`breakeven predict`: prices a file of operations. Thin: the work is in `workflows.predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    ops: Annotated[Path, typer.Argument(help="CSV or Parquet, one operation a row (docs/predict.md says which columns)")],
    gpu: Annotated[str | None, typer.Option("--gpu", help="device of the rows that name none in a column `gpu`")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="where to; Parquet by its suffix, else CSV")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="how many rows were priced, and why others were not")] = None,
) -> None:
    """Price operations one by one: time on the device with its interval, for each row of a file."""
    from breakeven.workflows.predict import predict, summary  # not at the top: --help must not wait for Polars

    done = predict(ops, gpu, output)
    if json is not None:
        json.write_text(summary(done), encoding="utf-8")
    typer.echo(f"{done.rows} rows, {done.rows - done.unpriced} priced" + (f" to {output}" if output else ""))
    for reason, count in done.reasons:
        typer.echo(f"  {count} without a price: {reason}")
