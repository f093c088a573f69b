"""Small streams and a pricer that is easy to reckon with, for the tests of costs."""

from __future__ import annotations

import polars as pl

from breakeven.machine.records import Gpu
from breakeven.timeline import OpStream, schema
from breakeven.timeline.opstream import Call, OpStreamBuilder

GPU = Gpu(
    name="Test", vendor="nvidia", architecture="", released="", compute_capability="7.5", sm_count=40, boost_clock_mhz=1590.0,
    fp32_tflops=8.1, fp64_tflops=0.25, tensor_fp16_tflops=65.0, tensor_tf32_tflops=None, tensor_bf16_tflops=None, memory_gb=16.0,
    memory_bandwidth_gb_s=320.0, l2_mb=4.0, pcie_gen=3, pcie_lanes=16, tdp_w=70.0, source="test",
)  # fmt: skip


def call(op: str, *, device: str = "cuda:0", kind: str = schema.Kind.COMPUTE, **rest: object) -> Call:
    """A call with only what matters given."""
    return Call(op=op, kind=kind, device=device, **rest)  # type: ignore[arg-type]  # tests pass what a Call takes


def stream(*rows: tuple[Call, dict[str, object]], steps: int = 1) -> OpStream:
    """A stream of calls with their row's values."""
    builder = OpStreamBuilder()
    for made, values in rows:
        builder.add(made, **values)  # type: ignore[arg-type]  # as above
    return builder.build(steps=steps)


def ten_us(table: pl.DataFrame, gpu: Gpu) -> pl.DataFrame:
    """Every row costs 10 us, from 5 to 20; a `softmax` has no price."""
    unknown = pl.col("op") == "softmax"
    return table.with_columns(
        *(
            pl.when(unknown).then(None).otherwise(us).alias(name)
            for name, us in (("low_us", 5.0), ("mid_us", 10.0), ("high_us", 20.0))
        ),
        pl.when(pl.col("op") == "gemm").then(pl.lit("compute")).otherwise(pl.lit("bandwidth")).alias("limited_by"),
        pl.lit(None, dtype=pl.String()).alias("note"),
    )
