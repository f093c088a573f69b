"""Recurrent layers: one cuDNN call forward and one backward, where cuDNN's conditions hold (`aten/src/ATen/native/RNN.cpp`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from breakeven.capture.virtual import facts, mismatch
from breakeven.capture.virtual.lowering import Form, Lowerer, device_call
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

_LAYERS = {"lstm": "cudnn::lstm", "gru": "cudnn::gru", "rnn_tanh": "cudnn::rnn", "rnn_relu": "cudnn::rnn"}
_CUDNN_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def install(patches: Patches, recorder: Recorder, lowerer: Lowerer) -> None:
    """Patch the recurrent functions, and what a layer does when it thinks that cuDNN is there."""
    for name, op in _LAYERS.items():
        layer = _layer(op, getattr(torch._C._VariableFunctions, name), recorder, lowerer)
        patches.set(torch._VF, name, layer)
        patches.set(torch, name, layer)
    real = torch.nn.RNNBase.flatten_parameters
    patches.set(torch.nn.RNNBase, "flatten_parameters", lambda self: None if _on_cuda(recorder, self) else real(self))


def _on_cuda(recorder: Recorder, module: torch.nn.Module) -> bool:
    return any(recorder.is_cuda(p) for p in module.parameters(recurse=False))


def _layer(op: str, real: Callable[..., Any], recorder: Recorder, lowerer: Lowerer) -> Callable[..., Any]:  # Any: torch's forms
    def layer(*args: Any) -> Any:  # Any: padded and packed forms, LSTM's two states
        data = args[0]
        packed = isinstance(args[1], torch.Tensor) and len(args) > 3 and isinstance(args[3], (list, tuple))
        state, weights = (args[2], args[3]) if packed else (args[1], args[2])
        states = list(state) if isinstance(state, (list, tuple)) else [state]
        if not any(recorder.is_cuda(t) for t in (data, *states, *weights)):
            return real(*args)
        _check_devices(recorder, data, states, weights)
        why = _unfused(data, states)
        if why:
            recorder.notes.here(facts.UNFUSED_RNN, f"{op.removeprefix('cudnn::')} does not run in cuDNN: {why}", why=why)
            return real(*args)
        sizes = args[1] if packed else None
        grad = torch.is_grad_enabled() and any(t.requires_grad for t in (data, *states, *weights))
        key = (
            op, data.shape, states[0].shape, data.dtype, tuple(args[4:] if packed else args[3:]), len(weights), grad,
            None if sizes is None else tuple(sizes.tolist()), lowerer.mark_of(data),
        )  # fmt: skip
        return lowerer.run(lambda: real(*args), key, lambda out: _form(op, args, states, weights, sizes, out, lowerer), weights)

    return layer


def _unfused(data: torch.Tensor, states: list[torch.Tensor]) -> str:
    if not torch.backends.cudnn.enabled:
        return "torch.backends.cudnn.enabled is False"
    if data.dtype not in _CUDNN_DTYPES:
        return f"cuDNN has no recurrent layers in {data.dtype}"
    if data.numel() == 0:
        return "the input is empty"
    if torch._C._functorch.is_functorch_wrapped_tensor(data):
        return "it runs under a function transform"
    return ""


def _check_devices(recorder: Recorder, data: torch.Tensor, states: list[torch.Tensor], weights: list[torch.Tensor]) -> None:
    """A layer checks its hidden state and its weights against its input, in words of its own."""
    here = recorder.is_cuda(data)
    name = ("cpu", "cuda:0")
    for kind, tensors in (("hidden", states), ("parameter", weights)):
        strays = [t for t in tensors if recorder.is_cuda(t) != here]
        if not strays:
            continue
        on_host = strays if here else [data]
        if recorder.move is not None:
            for stray in on_host:
                recorder.move(stray)
            return
        text = (
            f"Input and {kind} tensors are not at the same device, found input tensor at {name[here]} and {kind} tensor at "
            f"{name[not here]}"
        )
        mismatch.note(recorder, "recurrent layer", on_host, text)
        for stray in on_host:
            recorder.copied("h2d", stray, pinned=False, non_blocking=False, began=recorder.last)
        return


def _form(
    op: str, args: Any, states: list[torch.Tensor], weights: list[torch.Tensor], sizes: torch.Tensor | None, out: Any,
    lowerer: Lowerer,
) -> Form:  # fmt: skip  # Any: torch's forms
    data = args[0]
    rest = args[4:] if sizes is not None else args[3:]
    _, layers, dropout, train, bidirectional = rest[:5]
    batch_first = sizes is None and bool(rest[5])
    if sizes is not None:
        batch, steps, tokens = int(sizes[0]), int(sizes.shape[0]), int(data.shape[0])
    else:
        batch, steps = (data.shape[0], data.shape[1]) if batch_first else (data.shape[1], data.shape[0])
        tokens = batch * steps
    # A gate block per weight row: LSTM has 4, GRU 3; the cell's width is what the recurrent weight's rows say.
    hidden = weights[1].shape[0] // {"cudnn::lstm": 4, "cudnn::gru": 3, "cudnn::rnn": 1}[op]
    said: dict[str, Any] = {  # Any: JSON values
        "hidden": hidden, "input": data.shape[-1], "layers": layers, "bidirectional": bool(bidirectional), "batch": batch,
        "timesteps": steps, "train": bool(train), "dropout": float(dropout),
    }  # fmt: skip
    if sizes is not None:
        said |= {"packed": True, "tokens": tokens}
    if states[0].shape[-1] != hidden:
        said["projection"] = states[0].shape[-1]
    inputs = [(t, lowerer.mark_of(t)) for t in (data, *states, *weights)]
    outputs = [tuple(o.shape) for o in out]
    forward = device_call(op, inputs, outputs, **said)
    backward = device_call(f"{op}_backward", inputs, [tuple(t.shape) for t, _ in inputs], **said)
    return Form((forward,), (backward,))
