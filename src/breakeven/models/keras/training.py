"""The compile configuration as a training: optimizer and loss. Keras's defaults where it says nothing."""

from __future__ import annotations

from typing import Any, Final

from breakeven.errors import InputError
from breakeven.models.asked import Asked
from breakeven.models.keras.arguments import At
from breakeven.models.network import Training

#: Samples of a step where `fit` is given no batch size (Keras's documentation of `Model.fit`).
BATCH: Final = 32
_LOSSES: Final = {
    "mse": "squares", "mean_squared_error": "squares", "meansquarederror": "squares",
    "mae": "absolute", "mean_absolute_error": "absolute", "meanabsoluteerror": "absolute",
    "huber": "huber", "huber_loss": "huber",
    "categorical_crossentropy": "cross_entropy", "categoricalcrossentropy": "cross_entropy",
    "sparse_categorical_crossentropy": "cross_entropy", "sparsecategoricalcrossentropy": "cross_entropy",
    "binary_crossentropy": "binary_cross_entropy", "binarycrossentropy": "binary_cross_entropy",
}  # fmt: skip
_SOLVERS: Final = {
    "sgd": "sgd", "adam": "adam", "adamw": "adamw", "rmsprop": "rmsprop", "adagrad": "adagrad", "adadelta": "adadelta",
    "adamax": "adamax", "nadam": "nadam",
}  # fmt: skip
#: Learning rates where none is said (the classes in keras/src/optimizers).
_RATES: Final = {"sgd": 0.01}


def training(compiled: Any, last: str, asked: Asked, notes: list[str]) -> Training:  # Any: JSON
    """The training that a model was compiled for; what is asked for takes its place.

    Args:
        compiled: its compile configuration; None or empty: it was not compiled.
        last: the activation of its output.
        asked: what the user says beside the file.
        notes: what the user should know, gathered.

    Raises:
        InputError: an optimizer or a loss that is not read.
    """
    said = compiled if isinstance(compiled, dict) else {}
    loss = asked.loss or _loss(said.get("loss"), last, notes)
    if asked.optimizer is None and said.get("optimizer"):
        made = _optimizer(said["optimizer"], loss, notes)
    else:
        made = Training(loss=loss, batch=BATCH, epsilon=1e-7, epochs=1000)  # type: ignore[arg-type]  # words of the literal
        if asked.optimizer is None:
            notes.append("The file names no optimizer, so Adam stands in; --optimizer says another.")
    if said.get("metrics") or said.get("weighted_metrics"):
        notes.append("Metrics of the compile configuration are left out of the step.")
    return asked.applied(made)


def _loss(value: Any, last: str, notes: list[str]) -> str:  # Any: JSON
    config: Any = {}
    if isinstance(value, dict) and "class_name" in value:
        config = value.get("config")
        value = config if isinstance(config, str) else value["class_name"]
    elif isinstance(value, dict | list) and len(value) == 1:
        return _loss(next(iter(value.values() if isinstance(value, dict) else value)), last, notes)
    if value is None:
        guessed = {"softmax": "cross_entropy", "sigmoid": "binary_cross_entropy"}.get(last, "squares")
        notes.append(f"The file names no loss, so {guessed.replace('_', ' ')} stands in; --loss says another.")
        return guessed
    found = _LOSSES.get(str(value).lower())
    if found is None:
        raise InputError(
            f"the loss {str(value)[:60]!r} is not read ({', '.join(sorted(set(_LOSSES.values())))} are); name one with --loss"
        )
    wanted = {"cross_entropy": "softmax", "binary_cross_entropy": "sigmoid"}.get(found)
    logits = isinstance(config, dict) and config.get("from_logits")
    if wanted and last != wanted and not logits:
        notes.append(
            f"The loss expects what a {wanted} gives, and the output is {last}; it is computed from the output as it is."
        )
    return found


def _optimizer(value: Any, loss: str, notes: list[str]) -> Training:  # Any: JSON
    config: Any = value.get("config") if isinstance(value, dict) else {}
    name = str(value.get("class_name") if isinstance(value, dict) else value)
    solver = _SOLVERS.get(name.lower())
    if solver is None or not isinstance(config, dict):
        raise InputError(f"the optimizer {name[:60]!r} is not read ({', '.join(_SOLVERS)} are); name one with --optimizer")
    at = At(name, name, config, ())
    threshold, of = _threshold(at)
    if at.flag("amsgrad", False) or at.flag("centered", False) or at.flag("use_ema", False):
        notes.append(f"{name}: amsgrad, centered and use_ema are left out.")
    decay = at.real("weight_decay", 0.0)
    if solver == "adam" and decay:
        solver = "adamw"  # Keras takes the decay off the weights themselves, whatever the optimizer
    if at.config.get("gradient_accumulation_steps"):
        notes.append(f"{name}: gradient_accumulation_steps is left out; a step updates the weights each time.")
    if solver == "rmsprop" and at.real("momentum", 0.0):
        notes.append("RMSprop's momentum is left out.")
    return Training(
        loss=loss, solver=solver, rate=_rate(at, solver, notes), momentum=at.real("momentum", 0.0),  # type: ignore[arg-type]  # words of the literals
        beta1=at.real("beta_1", 0.9), beta2=at.real("rho", 0.9) if solver == "rmsprop" else at.real("beta_2", 0.999),
        epsilon=at.real("epsilon", 1e-7), decay=decay, batch=BATCH, epochs=1000, threshold=threshold,
        threshold_of=of, nesterov=at.flag("nesterov", False),  # type: ignore[arg-type]  # words of the literal
    )  # fmt: skip


def _threshold(at: At) -> tuple[float | None, str]:
    for key, of in (("global_clipnorm", "all"), ("clipnorm", "parameter"), ("clipvalue", "value")):
        if at.config.get(key) is not None:
            return at.real(key, 1.0), of
    return None, "all"


def _rate(at: At, solver: str, notes: list[str]) -> float:
    default = _RATES.get(solver, 1e-3)
    value = at.config.get("learning_rate", at.config.get("lr"))
    if isinstance(value, dict):
        inner = value.get("config")
        first = inner.get("initial_learning_rate", default) if isinstance(inner, dict) else default
        notes.append(
            f"The learning rate stays at its first value ({value.get('class_name')} is left out): no step depends on it."
        )
        return At("", "", {"rate": first}, ()).real("rate", default)
    return at.real("learning_rate" if "learning_rate" in at.config else "lr", default)
