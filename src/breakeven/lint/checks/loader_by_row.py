"""A loader fetches rows of something in memory one at a time.

**What it sees.** A `DataLoader` over a `TensorDataset`, or over a data set that only looks its index up, which collates each
batch row by row.

**Why it costs.** Some microseconds of Python per row: a thousand rows are milliseconds, for what one indexing does.

**Example.** `DataLoader(TensorDataset(x, y), batch_size=1024, shuffle=True)`.

**Remedy.** Index whole batches: `for rows in torch.randperm(len(x)).split(1024): x[rows], y[rows]`, or a `BatchSampler` as the
sampler with `batch_size=None`.

**When it is wrong.** Where batches are small and a step is long, it does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Loaders that collate rows."""
    for event in facts.of("loader"):
        if event.name == "rows" and facts.trains:
            yield hit(event, "rows in memory are fetched and collated one at a time")


CHECK = Check(code="BE106", id="input_bound", remedies=("index_batches",), find=find)
