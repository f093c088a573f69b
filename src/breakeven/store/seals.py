"""Sealed forecasts: a prediction is kept with the hash of its content, so that nobody can better it after the fact."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from breakeven.results.settled import Forecast, Measurement, Sealed
from breakeven.store.run import Run

#: What a part's value may hold besides its own: a list of sealed forecasts, and one of measurements.
FORECASTS: Final = "forecasts"
MEASUREMENTS: Final = "measurements"


def seal(forecast: Forecast) -> Sealed:
    """The forecast with the SHA-256 of its content."""
    return Sealed(forecast, _digest(forecast))


def is_whole(sealed: Sealed) -> bool:
    """Whether the forecast is still what was sealed."""
    return sealed.seal == _digest(sealed.forecast)


def forecasts(run: Run) -> Iterator[Sealed]:
    """Every sealed forecast in the parts of a run."""
    yield from _listed(run, FORECASTS, Sealed)


def measurements(run: Run) -> Iterator[Measurement]:
    """Every measurement in the parts of a run."""
    yield from _listed(run, MEASUREMENTS, Measurement)


def _listed(run: Run, name: str, kind: type[Any]) -> Iterator[Any]:  # Any: a record of that kind
    for key in run.keys():  # noqa: SIM118  # a run is no mapping
        value = run.get(key)
        for said in value.get(name, ()) if isinstance(value, dict) else ():
            try:
                yield msgspec.convert(said, kind)
            except msgspec.ValidationError as error:
                run.warnings.append(f"part {key!r}: one of its {name} cannot be read: {error}")


def _digest(forecast: Forecast) -> str:
    return hashlib.sha256(msgspec.json.encode(forecast, order="deterministic")).hexdigest()
