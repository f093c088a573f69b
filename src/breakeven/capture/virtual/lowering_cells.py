"""Cells, dropout, attention and one-hot: several operations on the CPU, one fused kernel (or other ones) on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from breakeven.capture.virtual.lowering import Form, Lowerer, device_call
from breakeven.capture.virtual.marks import BFLOAT16, HALF
from breakeven.capture.virtual.mismatch import note
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

_GATES = {"lstm": 4, "gru": 3}


def install(patches: Patches, recorder: Recorder, lowerer: Lowerer) -> None:
    """Patch `lstm_cell`, `gru_cell`, `dropout`, `scaled_dot_product_attention` and `one_hot`."""
    functions = torch._C._VariableFunctions
    for kind in _GATES:
        cell = _cell(kind, getattr(functions, f"{kind}_cell"), recorder, lowerer)
        patches.set(torch._VF, f"{kind}_cell", cell)
        patches.set(torch, f"{kind}_cell", cell)
    dropout = _dropout(functions.dropout, recorder, lowerer)
    patches.set(torch._VF, "dropout", dropout)
    patches.set(torch, "dropout", dropout)
    functional = torch.nn.functional
    patches.set(
        functional, "scaled_dot_product_attention", _attention(functional.scaled_dot_product_attention, recorder, lowerer)
    )
    patches.set(functional, "one_hot", _one_hot(functional.one_hot, recorder, lowerer))


def _cell(kind: str, real: Callable[..., Any], recorder: Recorder, lowerer: Lowerer) -> Callable[..., Any]:  # Any: torch's forms
    def cell(
        data: torch.Tensor, state: Any, w_ih: torch.Tensor, w_hh: torch.Tensor, b_ih: Any = None, b_hh: Any = None
    ) -> Any:  # Any: as above
        states = list(state) if isinstance(state, (list, tuple)) else [state]
        given = [data, *states, w_ih, w_hh]
        placed = [recorder.is_cuda(t) for t in given]
        if not any(placed) or torch._C._functorch.is_functorch_wrapped_tensor(data):
            return real(data, state, w_ih, w_hh, b_ih, b_hh)
        if not all(placed):
            strays = [t for t, cuda in zip(given, placed, strict=True) if not cuda]
            if recorder.move is not None:
                for stray in strays:
                    recorder.move(stray)
            else:
                note(recorder, f"{kind}_cell", strays, _STRAY.format(name="mat2" if not placed[0] else "mat1"))
                for stray in strays:
                    recorder.copied("h2d", stray, pinned=False, non_blocking=False, began=recorder.last)
        grads = (data.requires_grad, states[0].requires_grad, w_ih.requires_grad) if torch.is_grad_enabled() else ()
        key = (kind, data.shape, states[0].shape, data.dtype, b_ih is None, grads, lowerer.mark_of(data))
        weights = (w_ih, w_hh) if b_ih is None else (w_ih, w_hh, b_ih, b_hh)
        return lowerer.run(
            lambda: real(data, state, w_ih, w_hh, b_ih, b_hh), key, lambda out: _cell_form(kind, data, states, weights, lowerer),
            weights, keeps_sums=True,
        )  # fmt: skip

    return cell


_STRAY = (
    "Expected all tensors to be on the same device, but got {name} is on cuda:0, different from other tensors on cpu "
    "(when checking argument in method wrapper_CUDA_mm)"
)


def _cell_form(
    kind: str, data: torch.Tensor, states: list[torch.Tensor], weights: Sequence[torch.Tensor], lowerer: Lowerer
) -> Form:
    """`RNN.cpp`: two products, then `_thnn_fused_lstm_cell` / `_thnn_fused_gru_cell`."""
    rows, wide = data.shape[0] if data.dim() > 1 else 1, data.shape[-1]
    hidden = states[0].shape[-1]
    gates = _GATES[kind] * hidden
    dtype = str(data.dtype).removeprefix("torch.")
    bias = len(weights) > 2

    def call(
        name: str, inputs: Sequence[tuple[Sequence[int], bool]], *outputs: Sequence[int], **said: Any
    ) -> Any:  # Any: JSON; a Call
        return device_call(name, shapes=inputs, outputs=outputs, dtype=dtype, **said)

    def product(width: int) -> list[Any]:  # Any: Calls
        return [
            call("aten::t", [((gates, width), True)], (width, gates)),
            call("aten::mm", [((rows, width), False), ((width, gates), True)], (rows, gates)),
        ]

    biases = [((gates,), True)] * 2 if bias else []
    cell_inputs = [((rows, gates), False)] * 2 + [((rows, hidden), False)] + biases
    space = (rows, (4 if kind == "lstm" else 5) * hidden)
    outputs = [(rows, hidden), (rows, hidden), space] if kind == "lstm" else [(rows, hidden), space]
    fused = call(f"aten::_thnn_fused_{kind}_cell", cell_inputs, *outputs)
    if not torch.is_grad_enabled():
        return Form((*product(wide), *product(hidden), fused), ())
    given = [((rows, hidden), False)] * (4 if kind == "lstm" else 1) + [(space, False)]
    back = "aten::_thnn_fused_lstm_cell_backward_impl" if kind == "lstm" else "aten::_thnn_fused_gru_cell_backward"
    backward = [call(back, given, (rows, gates), (rows, hidden))]
    if bias:
        sums = 1 if kind == "lstm" else 2
        backward += [call("aten::sum", [((rows, gates), False)], (gates,), dim=[0], keepdim=False)] * sums
    for width, wants in ((hidden, states[0].requires_grad), (wide, data.requires_grad)):
        if weights[0].requires_grad:
            backward += [
                call("aten::t", [((rows, width), False)], (width, rows)),
                call("aten::mm", [((width, rows), False), ((rows, gates), False)], (width, gates)),
                call("aten::t", [((width, gates), False)], (gates, width)),
            ]
        if wants:
            backward += [
                call("aten::t", [((width, gates), True)], (gates, width)),
                call("aten::mm", [((rows, gates), False), ((gates, width), True)], (rows, width)),
            ]
    return Form((*product(wide), *product(hidden), fused), tuple(backward))


def _dropout(real: Callable[..., Any], recorder: Recorder, lowerer: Lowerer) -> Callable[..., Any]:  # Any: torch's forms
    def dropout(input: torch.Tensor, p: float, train: bool) -> Any:  # noqa: A002  # torch's name  # Any: a tensor
        if not train or not 0 < p < 1 or not recorder.is_cuda(input) or not input.numel():
            return real(input, p, train)
        key = ("dropout", input.shape, input.dtype, lowerer.mark_of(input), input.requires_grad)
        return lowerer.run(lambda: real(input, p, train), key, lambda out: _dropout_form(input, lowerer))

    return dropout


def _dropout_form(data: torch.Tensor, lowerer: Lowerer) -> Form:
    """`Dropout.cpp`: `native_dropout` where a fused kernel exists, which CUDA's does."""
    shape = tuple(data.shape)
    forward = device_call("aten::native_dropout", [(data, lowerer.mark_of(data))], [shape, shape])
    dtype = forward.dtype
    backward = device_call("aten::native_dropout_backward", shapes=[(shape, False)] * 2, outputs=[shape], dtype=dtype)
    return Form((forward,), (backward,))


def _attention(real: Callable[..., Any], recorder: Recorder, lowerer: Lowerer) -> Callable[..., Any]:  # Any: torch's forms
    def scaled_dot_product_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> torch.Tensor:  # fmt: skip
        def run() -> Any:  # Any: a tensor
            return real(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)

        given = [t for t in (query, key, value, attn_mask) if t is not None]
        if not all(recorder.is_cuda(t) for t in given) or query.dim() < 3:
            return run()  # type: ignore[no-any-return]  # a tensor
        grad = torch.is_grad_enabled() and any(t.requires_grad for t in given)
        half = lowerer.mark_of(query) & (HALF | BFLOAT16) or query.dtype in (torch.float16, torch.bfloat16)
        kind = "flash" if half and attn_mask is None else "efficient"
        said: dict[str, Any] = {"is_causal": is_causal, "dropout": dropout_p > 0}  # Any: JSON values
        name = ("sdpa", kind, query.shape, key.shape, query.dtype, attn_mask is None, is_causal, dropout_p > 0, grad, half)

        def form(out: torch.Tensor) -> Form:
            inputs = [(t, lowerer.mark_of(t)) for t in given]
            op = f"aten::_scaled_dot_product_{kind}_attention"
            forward = device_call(op, inputs, [tuple(out.shape)], **said)
            back = device_call(
                f"{op}_backward", [(out, lowerer.mark_of(out)), *inputs], [tuple(t.shape) for t in given[:3]], **said
            )
            return Form((forward,), (back,) if grad else ())

        return lowerer.run(run, name, form)  # type: ignore[no-any-return]  # a tensor

    return scaled_dot_product_attention


def _one_hot(real: Callable[..., Any], recorder: Recorder, lowerer: Lowerer) -> Callable[..., Any]:  # Any: torch's forms
    def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
        """`Onehot.cpp`: on CUDA the values are not checked, and only an unknown number of classes is read back."""
        if not recorder.is_cuda(tensor):
            return real(tensor, num_classes)  # type: ignore[no-any-return]  # a tensor
        shape = tuple(tensor.shape)

        def form(out: torch.Tensor) -> Form:
            wide = tuple(out.shape)
            zeros = device_call("aten::zeros", shapes=(), outputs=[wide], dtype="int64")
            given = [(wide, False), ((*shape, 1), False)]
            return Form((zeros, device_call("aten::scatter_", shapes=given, outputs=[wide], dtype="int64", dim=-1)), ())

        if num_classes == -1:
            recorder.waited("item", tensor.element_size())
        key = ("one_hot", shape, num_classes if num_classes != -1 else object())  # the width is known afterwards only
        return lowerer.run(lambda: real(tensor, num_classes), key, form)  # type: ignore[no-any-return]  # a tensor

    return one_hot
