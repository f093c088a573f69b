"""Records to JSON and back: the field names are those of the records, the order is fixed, NaN and infinity never appear."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from pathlib import PurePath

import msgspec

from breakeven.errors import InputError
from breakeven.machine.records import Gpu
from breakeven.results import Interval, WhyReport

GPUS_SCHEMA = "breakeven/gpus/1"

#: What JSON is made of.
Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]


def why_json(report: WhyReport) -> bytes:
    """The answer of `breakeven why` as JSON (schema `breakeven/why/1`), UTF-8, with a newline at the end."""
    return encode(report)


def gpus_json(gpus: Iterable[Gpu]) -> bytes:
    """The catalog as JSON (schema `breakeven/gpus/1`)."""
    return encode({"schema": GPUS_SCHEMA, "gpus": list(gpus)})


def encode(value: object) -> bytes:
    """Any record, mapping or list of these as indented JSON; `schema` comes first, then the order of the fields.

    >>> encode({"ms": float("nan"), "schema": "breakeven/x/1"})
    b'{\\n  "schema": "breakeven/x/1",\\n  "ms": null\\n}\\n'
    """
    text = json.dumps(to_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    # An undecodable byte of a file's name is a lone surrogate here; as \udcXX it is valid JSON and comes back as it was.
    return (text + "\n").encode("utf-8", "backslashreplace")


def read_why(content: bytes, name: str = "the file") -> WhyReport:
    """Reads back what `why_json` wrote; fields that are not known are passed over.

    Raises:
        InputError: it is not JSON, or not of schema `breakeven/why/1`.
    """
    try:
        report = msgspec.json.decode(content, type=WhyReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name} is not an answer of `breakeven why`: {error}") from error
    if report.schema != "breakeven/why/1":
        raise InputError(f"{name} has schema {report.schema!r}; this version reads 'breakeven/why/1'")
    return report


def to_plain(value: object) -> Plain:
    """Records become objects, tuples lists; an interval with a number that is not finite is null, as is such a number.

    Raises:
        TypeError: something in it has no form in JSON.
    """
    if value is None or isinstance(value, (str, bool)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Interval) and not all(map(math.isfinite, (value.low, value.mid, value.high))):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return _object({f.name: getattr(value, f.name) for f in fields(value)})
    if isinstance(value, Mapping):
        return _object({str(key): item for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [to_plain(item) for item in sorted(value, key=str)]
    raise TypeError(f"{type(value).__name__} has no form in JSON: {value!r}")


def _object(items: dict[str, object]) -> Plain:
    first = {"schema": items["schema"]} if "schema" in items else {}
    return {key: to_plain(item) for key, item in {**first, **items}.items()}
