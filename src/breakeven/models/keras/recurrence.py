"""Keras's recurrent layers, by the path that they take on PyTorch: one fused call on a GPU, or a loop over the time steps.

Source: keras/src/layers/rnn/{lstm,gru,simple_rnn}.py and keras/src/backend/torch/rnn.py (3.15): `cudnn_ok` and before.
"""

from __future__ import annotations

from collections.abc import Mapping

from breakeven.errors import InputError
from breakeven.models.keras.activations import FUNCTIONS, function, named
from breakeven.models.keras.arguments import At
from breakeven.models.translation import Axes, Piece, recurrent

CELLS = {"LSTM": "lstm", "GRU": "gru", "SimpleRNN": "rnn"}


def lost(at: At) -> str | None:
    """The argument for which a layer does not run as one fused call; None: it does."""
    if at.kind == "SimpleRNN":
        return "SimpleRNN itself (no fused call of Keras knows it)"
    if at.masked:
        return "the mask of its input"
    if at.real("recurrent_dropout", 0.0):
        return f"recurrent_dropout={at.config['recurrent_dropout']}"
    if at.kind == "GRU" and not at.flag("reset_after", True):
        return "reset_after=False"
    if (state := named(at, "activation", "tanh")) != "tanh":
        return f'activation="{state}"'
    if (gates := named(at, "recurrent_activation", "sigmoid")) != "sigmoid":
        return f'recurrent_activation="{gates}"'
    if at.flag("unroll", False):
        return "unroll=True"
    return None if at.flag("use_bias", True) else "use_bias=False"


def path_in_a_script(kind: str, name: str, arguments: Mapping[str, str | float | bool]) -> str:
    """Which path a layer of a running script takes, in a sentence.

    >>> path_in_a_script("LSTM", "lstm", {"unroll": True})
    "LSTM 'lstm' does not run as one fused call but as a loop over its time steps: unroll=True loses it."
    """
    own = [f"{key}={value}" for key, value in arguments.items() if key.endswith("activation") and value not in FUNCTIONS]
    reason = own[0] if own else lost(At(kind, name, dict(arguments), ()))
    if reason is not None:
        return f"{kind} {name!r} does not run as one fused call but as a loop over its time steps: {reason} loses it."
    return (
        f"{kind} {name!r} runs as one fused call (cuDNN) on a GPU, unless a mask comes with its input. On the CPU it is a loop "
        "in Python, and the host's time for the GPU comes from there, so the GPU may be faster than predicted."
    )


def _observe(at: At) -> str | None:
    """Says which path a layer takes."""
    reason = lost(at)
    if reason is None:
        at.notes.append(f"{at.kind} {at.name!r} runs as one fused call (cuDNN) on a GPU.")
        return None
    steps = at.fed[0][0]
    at.notes.append(
        f"{at.kind} {at.name!r} does not run as one fused call but as a loop over its {steps} time steps: {reason} loses it."
    )
    return reason


def layer(at: At) -> Piece:
    """LSTM, GRU, SimpleRNN."""
    if len(at.fed[0]) != 2:
        raise InputError(f"takes sequences of vectors, and {'×'.join(map(str, at.fed[0]))} goes in")
    for key in ("return_state", "stateful"):
        if at.flag(key, False) and key == "return_state":
            raise InputError(f"{key}=True: states that are handed on are not understood here")
        if at.flag(key, False):
            at.notes.append(f"{at.kind} {at.name!r}: {key}=True is left out; each step begins with a state of zeros.")
    fused = _observe(at) is None
    module, arrays = _module(at, fused)
    call = _call(at, fused, "$me")
    cell, units = CELLS[at.kind], at.whole("units")
    steps, inputs = at.fed[0]
    flops, products = recurrent(cell, units, inputs, steps)
    makes, needs = _made(at, module, fused, "$me")
    sequence = at.flag("return_sequences", False)
    shape: Axes = (steps, units) if sequence else (units,)
    return Piece(call, shape, makes, arrays, needs, flops, products)


def bidirectional(at: At, inner: At, backward: At | None) -> Piece:
    """Bidirectional: two layers, each a call of its own."""
    one = layer(inner)
    back = backward or At(inner.kind, f"backward_{inner.name}", inner.config, inner.fed, inner.masked, [])
    if at.flag("return_state", False):
        raise InputError("return_state=True: states that are handed on are not understood here")
    how = at.config.get("merge_mode", "concat")
    if how not in ("concat", "sum", "mul", "ave"):
        raise at.wrong("merge_mode")
    if back.whole("units") != inner.whole("units") and how != "concat":
        raise at.wrong("merge_mode")
    other = layer(At(back.kind, back.name, {**back.config, "go_backwards": True}, back.fed, back.masked, []))
    sequence = inner.flag("return_sequences", False)
    first = one.calls.replace("$me", "$me[0]")
    second = other.calls.replace("$me", "$me[1]") + (".flip(1)" if sequence else "")
    text = {
        "concat": f"torch.cat([{first}, {second}], -1)",
        "sum": f"{first} + {second}",
        "mul": f"{first} * {second}",
        "ave": f"({first} + {second}) / 2",
    }[how]
    modules = [piece.makes[0].removeprefix("$me = ") for piece in (one, other)]
    makes = [f"$me = nn.ModuleList([{', '.join(modules)}])"]
    for at_, piece in enumerate((one, other)):
        makes += [line.replace("$me", f"$me[{at_}]") for line in piece.makes[1:]]
    units = one.shape[-1] + (other.shape[-1] if how == "concat" else 0)
    arrays = tuple((f"{side}_{name}", size) for side, p in (("forward", one), ("backward", other)) for name, size in p.arrays)
    needs = tuple(dict.fromkeys((*one.needs, *other.needs)))
    return Piece(
        text, (*one.shape[:-1], units), tuple(makes), arrays, needs, one.flops + other.flops, (*one.products, *other.products)
    )


def _module(at: At, fused: bool) -> tuple[str, tuple[tuple[str, Axes], ...]]:
    cell, units, inputs = CELLS[at.kind], at.whole("units"), at.fed[0][-1]
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[cell]
    rows = gates * units
    reset_after = cell == "gru" and at.flag("reset_after", True)
    bias = at.flag("use_bias", True)
    arrays: tuple[tuple[str, Axes], ...] = (("input_weights", (inputs, rows)), ("recurrent_weights", (units, rows)))
    arrays += (("bias", (2 * rows if reset_after else rows,)),) if bias else ()
    if fused:
        return f"nn.{cell.upper()}({inputs}, {units}, batch_first=True)", arrays
    said = [str(inputs), str(units), f'"{cell}"', f"state={function(named(at, 'activation', 'tanh'))}"]
    said += [] if cell == "rnn" else [f"gates={function(named(at, 'recurrent_activation', 'sigmoid'))}"]
    said += ["bias=False"] if not bias else []
    said += ["reset_after=False"] if cell == "gru" and not reset_after else []
    said += [f"recurrent_dropout={at.rate('recurrent_dropout')!r}"] if at.rate("recurrent_dropout") else []
    said += ["zero_output=True"] if at.flag("zero_output_for_mask", False) else []
    return f"Loop({', '.join(said)})", arrays


def _made(at: At, module: str, fused: bool, me: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    makes = (f"{me} = {module}",)
    if not fused:
        return makes, ("Loop",)
    two = CELLS[at.kind] == "gru"
    started = "unit-forget-gate" if at.flag("unit_forget_bias", True) and not two else "zeros"
    return (*makes, f'start_recurrent({me}, "glorot", "orthogonal", "{started}", biases={2 if two else 1})'), ("start_recurrent",)


def _call(at: At, fused: bool, me: str) -> str:
    text = "$0"
    if rate := at.rate("dropout"):
        text = f"{text} * F.dropout(torch.ones_like({text}[:, :1]), {rate!r}, self.training)"
    backwards = at.flag("go_backwards", False)
    text = f"({text}).flip(1)" if backwards and text != "$0" else "$0.flip(1)" if backwards else text
    mask = ""
    if at.masked:
        mask = f", {'$1.flip(1)' if backwards else '$1'}"
    sequence = at.flag("return_sequences", False)
    called = f"{me}({text}{mask})"
    if fused:
        return f"{called}[0]" if sequence else f"{called}[0][:, -1]"
    return called if sequence else f"{called}[:, -1]"
