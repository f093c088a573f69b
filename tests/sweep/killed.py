"""A sweep of made-up cells that keeps what is finished: run as a process of its own, so that a test can kill it.

python -m tests.sweep.killed RUN NOTES COUNT [ADDRESS]
"""

from __future__ import annotations

import sys

from breakeven import store
from breakeven.sweep.engines.local import Local
from breakeven.sweep.engines.ray import Ray
from breakeven.sweep.engines.task import Engine, Task
from tests.sweep import work_items


def main(folder: str, notes: str, count: int, address: str | None = None) -> None:
    keys = [f"cell {n}" for n in range(count)]
    engine: Engine = Local(2) if address is None else Ray.at(address)
    with store.create(folder, "sweep", resume=True) as run:
        tasks = [Task(key, work_items.note, (notes, key.replace(" ", "-"))) for key in keys if not run.has(key)]
        for done in engine.run(tasks):
            run.put(done.key, {"value": done.value})
            print(done.key, flush=True)  # noqa: T201  # the test reads what was kept
        run.finish()
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
