"""The JSON of an answer: as INTERFACE says, valid whatever is in it, and the same again when read back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from breakeven.errors import InputError
from breakeven.report.json import encode, gpus_json, read_why, why_json
from breakeven.results import Interval
from tests.report.why_samples import CPU, CPU_WINS, SAMPLES

ORDER = [
    "schema", "script", "unit", "steps", "devices", "verdict", "verdicts", "break_even", "findings", "remedies", "warnings",
    "machine", "versions", "error", "failed",
]  # fmt: skip


def strict(content: bytes) -> dict[str, object]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in the JSON")

    said = json.loads(content, parse_constant=refuse)
    assert isinstance(said, dict)
    return said


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_reads_back_the_same(name: str) -> None:
    report = SAMPLES[name]
    again = read_why(why_json(report))
    assert again == report
    assert read_why(why_json(again)) == again


@pytest.mark.parametrize("name", SAMPLES)
def test_the_fields_are_there_and_in_order(name: str) -> None:
    assert list(strict(why_json(SAMPLES[name]))) == ORDER


def test_a_finding_looks_as_the_interface_says() -> None:
    said = json.loads(why_json(CPU_WINS))
    finding = said["findings"][0]
    assert list(finding) == ["id", "device", "cause", "price_ms", "sentence", "sites", "remedies"]
    assert finding["sites"][0] == {
        "file": "examples/char_rnn.py", "line": 58, "text": "loss.backward()", "price_ms": {"low": 0.5, "mid": 0.7, "high": 0.9},
    }  # fmt: skip
    assert said["schema"] == "breakeven/why/1"
    assert said["devices"][0]["step_ms"] == {"low": 1.31, "mid": 1.34, "high": 1.37}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_no_number_is_null(bad: float) -> None:
    report = replace(CPU_WINS, devices=(replace(CPU, step_ms=Interval(1.0, bad, 2.0)),), machine={"ratio": bad})
    said = json.loads(why_json(report))
    assert said["devices"][0]["step_ms"] is None
    assert said["machine"]["ratio"] is None
    strict(why_json(report))


def test_numpy_numbers_are_numbers() -> None:
    assert json.loads(encode({"a": np.float32(0.5), "b": np.int64(3), "c": np.float64(1.5)})) == {"a": 0.5, "b": 3, "c": 1.5}


def test_a_name_that_is_no_text_survives() -> None:
    report = replace(CPU_WINS, script="tr\udce4in.py")
    assert json.loads(why_json(report))["script"] == "tr\udce4in.py"


def test_what_has_no_form_is_refused_and_not_guessed() -> None:
    with pytest.raises(TypeError, match="object"):
        encode({"x": object()})


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "not an answer"), (b"[]", "not an answer"), (b'{"schema": 1}', "not an answer"), (b"\xff", "not an answer")],
)
def test_what_is_no_answer_is_said_so(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_why(content, "run.json")


def test_another_schema_is_refused() -> None:
    with pytest.raises(InputError, match="breakeven/why/9"):
        read_why(why_json(replace(CPU_WINS, schema="breakeven/why/9")))


def test_the_catalog_names_its_schema() -> None:
    assert strict(gpus_json(())) == {"schema": "breakeven/gpus/1", "gpus": []}
