"""The Ray engine: tasks on a cluster, placed by resource. A lost node's tasks run again elsewhere; finished ones never do.

What measures takes every CPU of a node, so nothing of this sweep runs beside it; what needs an accelerator asks for Ray's type of
it. Other people's jobs on the cluster are not ours to keep away: the check of the load tells (`measure.disturbance`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from breakeven.errors import BreakevenError, InputError, MissingExtra
from breakeven.sweep.engines.task import MOST_ATTEMPTS, Done, Task

#: Tasks handed over at a time: enough to keep a cluster busy, few enough to be counted.
UNDER_WAY: Final = 256
#: Ray's times that a task is begun again by itself: none, since it is done here, where it is counted.
_NO_RETRIES: Final = 0


@dataclass
class Ray:
    """A cluster.

    Attributes:
        started: it was started here, and ends with the sweep.
    """

    started: bool
    _remote: Any = field(repr=False)  # a remote function of Ray, which has no public type

    @classmethod
    def at(cls, address: str | None) -> Ray:
        """Connects to a cluster; None: starts one on this machine.

        Raises:
            MissingExtra: Ray is not installed.
            InputError: no cluster answers at the address.
        """
        # Ray then neither looks at the driver's command line nor installs anything on its own.
        os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise MissingExtra("Ray is not installed: pip install 'breakeven[ray]'") from None
        started = not ray.is_initialized()
        if started:
            try:
                ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                where = f"--address {address}" if address else "--engine ray"
                raise InputError(f"{where}: no cluster answers ({str(error).splitlines()[0][:150]})") from None
        return cls(started, ray.remote(max_retries=_NO_RETRIES)(_call))

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Every task once; one whose worker or node was lost again. Exclusive ones first, one on each node."""
        waiting = list(tasks)
        yield from self._run([t for t in waiting if t.exclusive])
        yield from self._run([t for t in waiting if not t.exclusive])

    def _run(self, tasks: list[Task]) -> Iterator[Done]:
        import ray

        attempts = dict.fromkeys((t.key for t in tasks), 0)
        waiting, running = list(reversed(tasks)), dict[Any, Task]()
        while waiting or running:
            while waiting and len(running) < UNDER_WAY:
                task = waiting.pop()
                attempts[task.key] += 1
                running[self._begin(task)] = task
            ready, _ = ray.wait(list(running), num_returns=1)
            for reference in ready:
                task = running.pop(reference)
                try:
                    value, error = ray.get(reference)
                except ray.exceptions.RayTaskError as failed:  # a fault in the task itself: it would come again
                    raise failed.cause if isinstance(failed.cause, Exception) else failed from None
                except ray.exceptions.RayError as lost:
                    if attempts[task.key] < MOST_ATTEMPTS:
                        waiting.append(task)
                        continue
                    value, error = None, f"its worker was lost {attempts[task.key]} times ({type(lost).__name__})"
                yield Done(task.key, value, error, attempts[task.key])

    def _begin(self, task: Task) -> Any:  # a reference of Ray
        options: dict[str, Any] = {"num_cpus": _node_cpus() if task.exclusive else 1}  # as Ray takes them
        if task.gpu is not None:
            options |= {"num_gpus": 1, "accelerator_type": task.gpu}
        return self._remote.options(**options).remote(task)

    def close(self) -> None:
        """Leaves the cluster, and ends it where it was started here."""
        if self.started:
            import ray

            ray.shutdown()


def _node_cpus() -> float:
    """CPUs of the smallest living node: a task that asks for so many has a node of that size to itself."""
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]  # Ray leaves it without types
    sizes = [n["Resources"].get("CPU", 0.0) for n in nodes if n["Alive"]]
    return float(min([s for s in sizes if s >= 1], default=1.0))


def _call(task: Task) -> tuple[Any, str | None]:  # what a task brings
    """On the node: the task's value, or what failed."""
    try:
        return task.function(*task.arguments), None
    except BreakevenError as error:
        return None, str(error)
    except MemoryError:
        return None, "the memory was not enough"
