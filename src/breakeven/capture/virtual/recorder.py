"""The dispatch mode: sees every ATen operation, tells on which logical device it runs, marks its result, and leaves a row.

Written for speed: a script may run millions of operations between two steps. While nothing is recorded it only passes marks on.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from breakeven.capture.virtual import denormals, facts, marks
from breakeven.capture.virtual.budget import Budget
from breakeven.capture.virtual.calls import make_call, tensors
from breakeven.capture.virtual.devices import CPU_DEVICE, names_cuda
from breakeven.capture.virtual.ledger import Ledger
from breakeven.capture.virtual.lowered import Lowered
from breakeven.capture.virtual.marks import CUDA, PARAMETER, Marks
from breakeven.capture.virtual.notes import Notes
from breakeven.capture.virtual.plans import Plan, frozen
from breakeven.capture.virtual.rows import BACKWARD, FORWARD, OPTIMIZER, OTHER
from breakeven.capture.virtual.sites import NOWHERE, Sites
from breakeven.timeline.opstream import Call

#: Operations whose inputs are worth a look for denormals: where a CPU would spend its time.
_HEAVY: Final = frozenset(
    [
        "aten::addmm",
        "aten::mm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::convolution",
        "aten::mv",
        "aten::mul",
        "aten::add",
        "aten::convolution_backward",
    ]
)

_key: Callable[[torch.Tensor], Any] = torch._C.TensorBase.untyped_storage  # Any: torch leaves storages without annotations


class Recorder(Ledger, TorchDispatchMode):
    """The way of each operation through a recording. One per session, and a passive one per thread of the script's own."""

    def __init__(self, table: Marks, sites: Sites, notes: Notes) -> None:
        Ledger.__init__(self, table, sites, notes)
        TorchDispatchMode.__init__(self)  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        self.request: int | None = None  # device of what is being made: CUDA, or 0 for the host
        self.backward_device = 0  # where the engine's root is: what its formulas make from nothing is there too
        self.cast: Callable[[Plan, list[Any] | None, int, Any, Any], int] | None = (
            None  # autocast: logical dtype of a result (Any: any)
        )
        self.accumulated: Callable[[torch.Tensor], None] | None = None  # autocast: a leaf's gradient arrives
        self.move: Callable[[torch.Tensor], None] | None = None  # lifting: moves a host tensor that meets the device
        self.repair = True
        self.meet: Callable[[Plan, Any, Any], None] = (
            _nothing  # a CPU tensor meets a cuda one (`mismatch.meet`; Any: any operation)
        )
        self.tape: list[tuple[Any, Any, Any, Any]] | None = None  # a CUDA graph that is being captured (Any: operations)
        self.specials: dict[str, Callable[..., Any]] = {}  # Any: any operation
        self._budget = Budget()
        self._plans: dict[Any, Plan] = {}  # Any: OpOverload is not hashable by its annotations
        self._numbers: dict[tuple[Any, ...], int] = {}  # Any: shapes, dtypes, marks and arguments

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else every operation pays for a wrapper that keeps the compiler out, and nothing compiles here

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # Any: torch's protocol
        """One ATen operation, below autograd."""
        began = perf_counter_ns()
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = self._plan(func)
        if plan.writes and self._budget.is_full:
            self._budget.clear()
        if kwargs and names_cuda(kwargs.get("device")):  # a factory that was reached around its patch
            return self._make_there(plan, args, kwargs, began)
        if plan.composite:
            with self:
                return func.decompose(*args, **(kwargs or {}))
        if plan.special is not None:
            out = plan.special(plan, args, kwargs or {}, began)
        else:
            out = self.common(plan, args, kwargs, began)
        if self.tape is not None:
            self.tape.append((func, args, kwargs, out))
        return out

    def _make_there(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        before, self.request = self.request, CUDA
        try:
            out = self.common(plan, args, {**kwargs, "device": CPU_DEVICE}, began)
        finally:
            self.request = before
        self.mark_result(out, CUDA)
        return out

    def common(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        """Run an operation, pass marks on to its result, and leave a row."""
        if self.rows is None or self.hush or plan.silent:
            return self.pass_on(plan, args, kwargs)
        if self.phase == BACKWARD:
            number = self.running_number()
            lowering = self.lowerings.owner(number, plan.name, args)
            if lowering is not None:
                return self._run_lowered_backward(lowering, plan, args, kwargs, began)
        signature: list[Any] = [plan]
        push = signature.append
        union, on_host, strict = 0, False, plan.strict
        mark_of = self.mark_of
        for arg in args:
            if isinstance(arg, torch.Tensor):
                mark = mark_of(arg)
                shape = arg.shape
                union |= mark
                if not mark & 1 and (shape or strict):
                    on_host = True
                push(shape)
                push(arg.dtype)
                push(mark)
            elif type(arg) is list or type(arg) is tuple:
                for each in arg:
                    if isinstance(each, torch.Tensor):
                        mark = mark_of(each)
                        union |= mark
                        if not mark & 1 and (each.dim() or strict):
                            on_host = True
                        push(each.shape)
                        push(each.dtype)
                        push(mark)
        if kwargs:
            for each in kwargs.values():
                if isinstance(each, torch.Tensor):
                    mark = mark_of(each)
                    union |= mark
                    on_host = on_host or (not mark & 1 and bool(each.dim()))
                    signature += (each.shape, each.dtype, mark)
        device = union & 1
        if device and on_host and not plan.mixes and self.phase != BACKWARD:
            self.meet(plan, args, kwargs)
        if self.request is not None and plan.fresh:
            device = self.request
        elif self.backward_device and plan.factory:
            device = CUDA
        out, spent = self._run(plan, args, kwargs, device)
        logical = 0
        if device:
            self._count(plan)
            if self.cast is not None:
                logical = self.cast(plan, signature, union, out, args)
                push(logical)
        if plan.fresh and (device or self.request is not None):
            self.mark_result(out, device | logical | (PARAMETER if self.phase == OPTIMIZER else 0))
        if device or not self.folding:
            self._leave_row(plan, signature, args, kwargs, out, device, 0 if self.folding else began - self.last, spent)
        self.last = perf_counter_ns()
        return out

    def _run(self, plan: Plan, args: Any, kwargs: Any, device: int) -> tuple[Any, int]:  # Any: any operation
        """The result and the time that it took: of the same product done before, where that is still known."""
        kept = plan.product and device and self.move is None
        found = self._budget.find(plan, args) if kept else None
        if found is not None:
            return found
        start = perf_counter_ns()
        out = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        spent = perf_counter_ns() - start
        if kept:
            self._budget.keep(plan, args, out, spent)
        return out, spent

    def pass_on(self, plan: Plan, args: Any, kwargs: Any) -> Any:  # Any: any operation
        """Run an operation and pass marks on to its result, no more: the fast way while nothing is recorded."""
        flags = self.marks.flags
        union, on_host = 0, False
        try:
            for arg in args:
                if type(arg) is torch.Tensor:
                    mark = flags.get(_key(arg)._cdata, 0)
                    union |= mark
                    if not mark & 1 and not on_host and (plan.strict or arg.dim()):
                        on_host = True
                elif isinstance(arg, (torch.Tensor, list, tuple)):
                    for each in (arg,) if isinstance(arg, torch.Tensor) else arg:
                        if isinstance(each, torch.Tensor):
                            mark = flags.get(_key(each)._cdata, 0)
                            union |= mark
                            if not mark & 1 and not on_host and (plan.strict or each.dim()):
                                on_host = True
        except (NotImplementedError, RuntimeError):  # no storage of its own: sparse, or a wrapper
            for each in tensors(args):
                union |= self.marks.of(each)
        if kwargs:
            for each in kwargs.values():
                if isinstance(each, torch.Tensor):
                    mark = self.marks.of(each)
                    union |= mark
                    on_host = on_host or (not mark & 1 and bool(each.dim()))
        device = union & 1
        if device and on_host and not plan.mixes and self.phase != BACKWARD and not self.hush:
            self.meet(plan, args, kwargs)
        if self.request is not None and plan.fresh:
            device = self.request
        elif self.backward_device and plan.factory:
            device = CUDA
        if self.hush:
            start = perf_counter_ns()
            out = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
            self.hushed_ns += perf_counter_ns() - start
            self.hushed_ops += 1
        else:
            found = self._budget.find(plan, args) if plan.product and device and self.move is None else None
            if found is None:
                start = perf_counter_ns()
                out = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
                if plan.product and device and self.move is None:
                    self._budget.keep(plan, args, out, perf_counter_ns() - start)
            else:
                out = found[0]
        logical = 0
        if device and not self.hush:
            self._count(plan)
            if self.cast is not None:
                logical = self.cast(plan, None, union, out, args)
            if plan.looked_at:
                self._look_again(plan, args)
        if plan.fresh and (device or self.request is not None):
            self.mark_result(out, device | logical | (PARAMETER if self.phase == OPTIMIZER else 0))
        return out

    def _count(self, plan: Plan) -> None:
        self.device_ops += 1
        self.pending += 1
        if not plan.seen:
            plan.seen = True
            self.novel += 1

    def mark_result(self, out: Any, mark: int) -> None:  # Any: result of any operation
        """Mark new storage(s); a host result loses a mark that an old storage at its address may have left."""
        if type(out) is torch.Tensor:
            flags = self.marks.flags
            try:
                storage = _key(out)
            except (NotImplementedError, RuntimeError):  # no storage of its own: sparse, or a wrapper
                self.marks.add(out, mark)
                return
            key = storage._cdata
            if key not in flags:
                storage._weak_ref()
                if len(flags) >= self.marks.purge_at:
                    self.marks.purge()
            flags[key] = mark
        elif isinstance(out, (tuple, list)):
            for each in out:
                self.mark_result(each, mark)
        elif isinstance(out, torch.Tensor):
            self.marks.drop(out, ~0)
            self.marks.add(out, mark)

    # --- rows ------------------------------------------------------------------------------------------------------

    def _leave_row(
        self, plan: Plan, signature: list[Any], args: Any, kwargs: Any, out: Any, device: int, gap: int, spent: int
    ) -> None:  # Any: any operation
        rows = self.rows
        assert rows is not None
        phase = self.phase
        if phase == BACKWARD:
            site = self.site_of(self.running_number())
        else:
            site = self.sites.here(3)
            self.spot = self.sites.spot
            self.note_origin(site)
        if plan.kept:
            signature += [frozen(args[i]) if i < len(args) else None for i, _ in plan.kept]
        if kwargs and plan.kept_names:
            signature += [(name, frozen(value)) for name, value in kwargs.items() if name in plan.kept_names]
        if not plan.in_place:
            signature += [o.shape for o in out if isinstance(o, torch.Tensor)] if type(out) in (list, tuple) else (
                (out.shape,) if isinstance(out, torch.Tensor) else ()
            )  # fmt: skip
        signature.append(device)
        call = self._numbers.get(key := tuple(signature))
        if call is None:
            made = make_call(plan, self.mark_of, args, kwargs or {}, out, device, self.cast is not None)
            call = self._numbers[key] = rows.number(made)
            self._look_closer(made, site, args)
        at = rows.add(call, phase if device or phase != FORWARD else OTHER, site, gap, spent)
        if device:
            self.last_row = at

    def _run_lowered_backward(
        self, lowering: Lowered, plan: Plan, args: Any, kwargs: Any, began: int
    ) -> Any:  # Any: any operation
        """One of the CPU operations that stand for the backward of a call that CUDA runs in a few."""
        start = perf_counter_ns()
        out = plan.run(*args, **kwargs) if kwargs else plan.run(*args)
        spent = perf_counter_ns() - start
        rows = self.rows
        assert rows is not None
        if plan.fresh:
            self.mark_result(out, CUDA)
        gap = began - self.last
        if lowering.run != self.engine_run:
            lowering.row, lowering.run = len(rows), self.engine_run
            for call in lowering.backward:
                rows.add(call, BACKWARD, lowering.site, gap)
                gap = 0
                self._count(plan)
            self.last_row = len(rows) - 1
        if lowering.backward:
            rows.cpu[lowering.row] += spent
            if gap > self.overhead:
                rows.host[lowering.row] += gap - self.overhead
            rows.parts[lowering.row] = rows.parts.get(lowering.row, 0) + 1
        self.last = perf_counter_ns()
        return out

    def _look_closer(self, call: Call, site: int, args: Any) -> None:  # Any: any operation
        """Once per distinct call: numbers that cost time for what they are."""
        if call.device != "cpu" and call.dtype == "float64" and any(call.inputs):
            self.notes.note(facts.FLOAT64, f"{call.op} computes in float64 on the device", site, op=call.op)
        if call.op in _HEAVY:
            denormals.check(self.notes, site, call.op, tensors(args))

    def _look_again(self, plan: Plan, args: Any) -> None:  # Any: any operation
        """While nothing is recorded: the 1st, 2nd, 4th, 8th … call of an operation, since numbers decay as a training goes on."""
        plan.looked_at += 1
        if plan.looked_at & (plan.looked_at - 1) == 0:
            denormals.check(self.notes, self.sites.here(3), plan.name, tensors(args))

    def begin(self) -> None:
        """Start with an empty table."""
        super().begin()
        self._numbers.clear()

    # --- kinds of arguments ----------------------------------------------------------------------------------------

    def _plan(self, func: Any) -> Plan:  # Any: an OpOverload, which torch leaves without annotations
        plan = Plan(func)
        plan.looked_at = 1 if plan.name in _HEAVY else 0
        plan.special = self.specials.get(func._schema.name)
        return plan

    def mark_of(self, tensor: torch.Tensor) -> int:
        """Marks of any tensor; a parameter is marked as one on the way."""
        if type(tensor) is torch.Tensor:
            try:
                return self.marks.flags.get(_key(tensor)._cdata, 0)
            except (NotImplementedError, RuntimeError):  # no storage of its own: sparse, or a wrapper
                return self.marks.of(tensor)
        key = marks.storage_key(tensor)
        if key is None:
            return 0
        mark = self.marks.flags.get(key, 0)
        if type(tensor) is torch.nn.Parameter and not mark & PARAMETER:
            mark |= PARAMETER
            self.marks.put(key, mark, tensor)
        return mark

    def is_cuda(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is logically on the device."""
        return bool(self.marks.of(tensor) & CUDA)


def _nothing(plan: Plan, args: Any, kwargs: Any) -> None:  # Any: any operation
    return None


__all__ = ["NOWHERE", "Recorder"]
