"""Autocast: values stay float32 here; which dtype each result would have on CUDA follows autocast's own table and is only noted.

The table is that of `aten/src/ATen/autocast_mode.h` (torch 2.13), in the names that reach a dispatch mode.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.calls import tensors
from breakeven.capture.virtual.lowering import device_call
from breakeven.capture.virtual.marks import BFLOAT16, HALF, PARAMETER, storage_key
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.phases import in_optimizer
from breakeven.capture.virtual.plans import Plan
from breakeven.capture.virtual.recorder import Recorder
from breakeven.capture.virtual.rows import BACKWARD, OPTIMIZER

#: Run in the lower precision.
LOWER: Final = frozenset(
    f"aten::{n}"
    for n in [
        "convolution",
        "_convolution",
        "cudnn_convolution",
        "conv_tbc",
        "prelu",
        "_prelu_kernel",
        "addmm",
        "addmv",
        "addr",
        "mm",
        "mv",
        "matmul",
        "linear",
        "addbmm",
        "baddbmm",
        "bmm",
        "linalg_multi_dot",
        "linalg_vecdot",
        "_thnn_fused_lstm_cell",
        "_thnn_fused_gru_cell",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
    ]
)

#: Run in float32.
FULL: Final = frozenset(
    f"aten::{n}"
    for n in [
        "acos",
        "asin",
        "cosh",
        "erfinv",
        "exp",
        "expm1",
        "log",
        "log10",
        "log2",
        "log1p",
        "reciprocal",
        "rsqrt",
        "sinh",
        "tan",
        "pow",
        "softplus",
        "native_layer_norm",
        "native_group_norm",
        "nll_loss_forward",
        "nll_loss2d_forward",
        "kl_div",
        "l1_loss",
        "smooth_l1_loss",
        "huber_loss",
        "mse_loss",
        "soft_margin_loss",
        "multi_margin_loss",
        "multilabel_margin_loss_forward",
        "binary_cross_entropy_with_logits",
        "dist",
        "_pdist_forward",
        "_cdist_forward",
        "renorm",
        "logsumexp",
        "prod",
        "_softmax",
        "_log_softmax",
        "cumprod",
        "cumsum",
        "linalg_vector_norm",
        "sum",
        "norm",
        "native_norm",
        "_safe_softmax",
    ]
)

_BITS = HALF | BFLOAT16


class Autocast:
    """Follows autocast regions on cuda, and the dtypes that their results would have."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._bits: list[int] = []  # of each region that is entered; 0: disabled
        self._nodes: dict[int, int] = {}  # number of an autograd node → marks of the dtype that it ran in
        self._last_node = -1
        self._cached: set[int] = set()  # parameters that were cast in the outermost region

    def install(self, patches: Patches) -> None:
        """Patch the entry and exit of regions."""
        cls = torch.amp.autocast_mode.autocast
        real_enter, real_exit = cls.__enter__, cls.__exit__
        recorder = self._recorder

        def enter(region: Any) -> Any:  # Any: an autocast object
            found = real_enter(region)
            if region.device == "cuda":
                self._enter(region)
            return found

        def leave(region: Any, *error: Any) -> Any:  # Any: an autocast object; an exception's parts
            if region.device == "cuda" and self._bits:
                self._bits.pop()
                if not self._bits:
                    self._cached.clear()
            return real_exit(region, *error)

        patches.set(cls, "__enter__", enter)
        patches.set(cls, "__exit__", leave)
        scaler = torch.amp.GradScaler
        for name in ("unscale_", "step", "update"):
            patches.set(scaler, name, in_optimizer(recorder, getattr(scaler, name)))

    def _enter(self, region: Any) -> None:  # Any: an autocast object
        recorder = self._recorder
        bits = 0
        if region._enabled:
            bits = BFLOAT16 if region.fast_dtype is torch.bfloat16 else HALF
            name = str(region.fast_dtype).removeprefix("torch.")
            recorder.cast, recorder.accumulated = self.cast, self.accumulated
            recorder.notes.here(facts.AUTOCAST, f"autocast on cuda in {name}; values stay float32 in this recording", dtype=name)
            recorder.notes.warn("Under autocast values are computed in float32 here; only the dtypes are those of CUDA.")
        self._bits.append(bits)

    def cast(self, plan: Plan, signature: list[Any] | None, union: int, out: Any, args: Any) -> int:  # Any: any operation
        """Marks of the dtype that this operation's result would have; leaves the rows of the casts that CUDA would run."""
        recorder = self._recorder
        if not _is_float32(out):
            return 0
        if recorder.phase == OPTIMIZER:
            return 0
        if recorder.phase == BACKWARD:
            return self._backward(plan, union, args)
        active = self._bits[-1] if self._bits else 0
        if active and plan.name in LOWER:
            self._note_node(active)
            self._casts(args, active)
            return active
        if active and plan.name in FULL:
            self._note_node(0)
            self._uncasts(args)
            return 0
        return self._propagated(args, union, plan)

    def _note_node(self, bits: int) -> None:
        number = self._recorder.next_number() - 1
        if self._recorder.rows is not None and number >= 0:
            self._nodes[number] = bits

    def _backward(self, plan: Plan, union: int, args: Any) -> int:  # Any: any operation
        """The gradient of a cast is a cast: a node's gradients have the dtype that it ran in."""
        number = self._recorder.running_number()
        bits = self._nodes.get(number)
        if bits is None:
            return self._propagated(args, union, plan)
        marks = self._recorder.marks
        for tensor in tensors(args):
            mark = marks.of(tensor)
            if tensor.dtype is not torch.float32 or not tensor.dim() or mark & PARAMETER:
                continue
            if bits and not mark & _BITS:
                if number != self._last_node:  # the gradient; what the forward call saved was cast there
                    self._row(tensor, mark, _name(bits))
                self._last_node = number
                marks.add(tensor, bits)
            elif not bits and mark & _BITS:
                self._row(tensor, mark, "float32")
                marks.drop(tensor, _BITS)
        return bits

    def accumulated(self, tensor: torch.Tensor) -> None:
        """A parameter's gradient arrives: it is float32 from here on."""
        marks = self._recorder.marks
        mark = marks.of(tensor)
        if mark & _BITS:
            self._row(tensor, mark, "float32")
            marks.drop(tensor, _BITS)

    def _propagated(self, args: Any, union: int, plan: Plan) -> int:  # Any: any operation
        """As type promotion has it: half only where every floating input with a dimension is (a gradient product: any)."""
        if not union & _BITS:
            return 0
        mark_of = self._recorder.marks.of
        found = 0
        for tensor in tensors(args):
            if not tensor.is_floating_point() or not tensor.dim():
                continue
            bits = mark_of(tensor) & _BITS
            if bits:
                found |= bits
            elif plan.name not in _PRODUCTS:
                return 0
        return found

    def _casts(self, args: Any, bits: int) -> None:  # Any: any operation
        recorder = self._recorder
        for tensor in tensors(args):
            mark = recorder.marks.of(tensor)
            if tensor.dtype is not torch.float32 or mark & _BITS:
                continue
            if mark & PARAMETER:
                key = storage_key(tensor) or 0
                if key in self._cached:
                    continue
                self._cached.add(key)
            self._row(tensor, mark, _name(bits))

    def _uncasts(self, args: Any) -> None:  # Any: any operation
        recorder = self._recorder
        for tensor in tensors(args):
            mark = recorder.marks.of(tensor)
            if mark & _BITS:
                self._row(tensor, mark, "float32")

    def _row(self, tensor: torch.Tensor, mark: int, dtype: str) -> None:
        recorder = self._recorder
        if recorder.is_calm() and recorder.rows is not None:
            shape = tuple(tensor.shape)
            call = device_call("aten::_to_copy", [(tensor, mark)], [shape], to=dtype)
            recorder.last_row = recorder.add(recorder.rows.number(call))
        recorder.device_ops += 1
        recorder.pending += 1


_PRODUCTS: Final = frozenset(
    {"aten::mm", "aten::bmm", "aten::addmm", "aten::convolution_backward", "aten::t", "aten::mv", "aten::_softmax_backward_data"}
)


def _name(bits: int) -> str:
    return "bfloat16" if bits & BFLOAT16 else "float16"


def _is_float32(out: Any) -> bool:  # Any: result of any operation
    first = out[0] if isinstance(out, (tuple, list)) and out else out
    return isinstance(first, torch.Tensor) and first.dtype is torch.float32
