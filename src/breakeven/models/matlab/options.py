"""`trainingOptions`: solver, and every option with its name, into a training; what has no effect on a step becomes a note.

Defaults are those of the pages of trainingOptions and TrainingOptionsSGDM/ADAM/RMSProp.
"""

from __future__ import annotations

import math
from typing import Any

from breakeven.models.matlab.arguments import Arguments
from breakeven.models.matlab.values import Options, Value
from breakeven.models.network import Training

#: Options without an effect on the time of a step, which are passed over.
_HARMLESS = (
    "ValidationPatience", "OutputFcn", "CheckpointPath", "CheckpointFrequency", "CheckpointFrequencyUnit", "SequencePaddingValue",
    "SequencePaddingDirection", "ResetInputNormalization", "BatchNormalizationStatistics", "OutputNetwork", "InputDataFormats",
    "TargetDataFormats", "ObjectiveMetricName", "WorkerLoad", "CategoricalInputEncoding", "CategoricalTargetEncoding",
)  # fmt: skip
_SCHEDULES = ("none", "piecewise")
_METHODS = {"l2norm": "parameter", "global-l2norm": "all", "absolute-value": "value"}
_WHERE = ("auto", "cpu", "gpu", "multi-gpu", "parallel", "parallel-cpu", "parallel-gpu", "parallel-auto")


def training_options(a: Arguments) -> Options:
    """What a call of trainingOptions says.

    Raises:
        InputError: an option is wrong or not understood.
    """
    solver = a.choice(a.value(0, "the solver"), "the solver", ("sgdm", "adam", "rmsprop"))
    notes: list[str] = []
    schedule = a.text("LearnRateSchedule", "none", _SCHEDULES)
    period, factor = a.option("LearnRateDropPeriod"), a.number("LearnRateDropFactor", 0.1)
    whole_period = 10 if period is None else a.a_whole(period, "LearnRateDropPeriod")
    threshold = a.number("GradientThreshold", math.inf)
    method = a.text("GradientThresholdMethod", "l2norm", tuple(_METHODS))
    where = a.text("ExecutionEnvironment", "auto", _WHERE)
    if where not in ("auto", "cpu", "gpu"):
        notes.append(f"{a.place}: ExecutionEnvironment {where!r}: one CPU and one GPU are compared here.")
    rate = a.number("InitialLearnRate", 0.01 if solver == "sgdm" else 0.001)
    decay, momentum = a.number("L2Regularization", 1e-4), a.number("Momentum", 0.9)
    beta1 = a.number("GradientDecayFactor", 0.9)
    beta2 = a.number("SquaredGradientDecayFactor", 0.9 if solver == "rmsprop" else 0.999)
    epsilon = a.number("Epsilon", 1e-8)
    _in_range(a, rate, beta1, beta2, momentum, threshold, decay, epsilon, factor)
    solvers: dict[str, Any] = {"sgdm": "sgd", "adam": "adam", "rmsprop": "rmsprop"}  # Any: the literal's words
    methods: Any = _METHODS[method]  # Any: the same
    shuffle: Any = a.text("Shuffle", "once", ("once", "never", "every-epoch"))  # Any: the same
    training = Training(
        solver=solvers[solver], rate=rate, momentum=momentum if solver == "sgdm" else 0.0, beta1=beta1, beta2=beta2,
        epsilon=epsilon, decay=decay, epochs=_whole(a, "MaxEpochs", 30), batch=_whole(a, "MiniBatchSize", 128),
        period=whole_period if schedule == "piecewise" else None, factor=factor,
        threshold=None if math.isinf(threshold) else threshold, threshold_of=methods, shuffle=shuffle, read_every=_read_every(a),
        environment="cpu" if where == "cpu" else "cuda", place=a.place,
    )  # fmt: skip
    notes += _said(a)
    a.done(_HARMLESS)
    return Options(training, tuple(notes))


def _in_range(a: Arguments, *numbers: float) -> None:
    rate, beta1, beta2, momentum, threshold, decay, epsilon, factor = numbers
    checks = (
        ("InitialLearnRate", rate, 0 < rate < math.inf), ("GradientDecayFactor", beta1, 0 <= beta1 < 1),
        ("SquaredGradientDecayFactor", beta2, 0 <= beta2 < 1), ("Momentum", momentum, 0 <= momentum <= 1),
        ("GradientThreshold", threshold, threshold > 0), ("L2Regularization", decay, 0 <= decay < math.inf),
        ("Epsilon", epsilon, 0 < epsilon < math.inf), ("LearnRateDropFactor", factor, 0 <= factor <= 1),
    )  # fmt: skip
    for name, number, fits in checks:
        if not fits:
            raise a.wrong(f"{name} {number:g} cannot be")


def _whole(a: Arguments, name: str, default: int) -> int:
    value = a.option(name)
    return default if value is None else a.a_whole(value, name)


def _read_every(a: Arguments) -> int | None:
    """How often the loss is fetched: for a plot at every iteration, for lines of text at every 50th unless said otherwise."""
    plots = a.text("Plots", "none", ("none", "training-progress"))
    verbose: Value | None = a.option("Verbose")
    every = _whole(a, "VerboseFrequency", 50)
    if plots == "training-progress":
        return 1
    return None if verbose == 0.0 else every


def _said(a: Arguments) -> list[str]:
    """Notes on options that a step's time does not hold."""
    notes = []
    if a.options and any(name.lower() == "validationdata" for name in a.options):
        a.taken |= {name for name in a.options if name.lower() == "validationdata"}
        every = _whole(a, "ValidationFrequency", 50)
        notes.append(f"{a.place}: validation at every {every} iterations is not part of the step that is timed.")
    a.option("ValidationFrequency")  # without data to validate on it has no effect
    length = a.option("SequenceLength")
    if length is not None and length != "longest":
        notes.append(f"{a.place}: SequenceLength: the sequences are taken as long as the data says.")
    for name in ("DispatchInBackground", "PreprocessingEnvironment", "Metrics", "Acceleration"):
        if a.option(name) is not None:
            notes.append(f"{a.place}: {name} is left out: its cost is not part of the step here.")
    return notes
