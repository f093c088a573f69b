"""What NVTX ranges mean: PyTorch's operations (`emit_nvtx`), and which ranges are steps of a program."""

from __future__ import annotations

import re
from typing import Final

_SUFFIX: Final = re.compile(r",? (?:op_id|seq|sizes|input_op_ids) ?= ?.*$", re.DOTALL)
#: `step 12`, `iteration_7`, `train batch #3`, `ProfilerStep#5`, `Iter[4]`: a word for a step, alone but for a number.
_STEP: Final = re.compile(
    r"^\W*(?:(?:train(?:ing)?|eval(?:uation)?|val(?:idation)?|global|inference)[\W_]*)?"
    r"(?:profilerstep|step|iter|iteration|batch|microbatch|mini-?batch)[\W_]*\d*\W*$",
    re.IGNORECASE,
)


def operation_name(text: str) -> str:
    """The operation that a range names, without the numbers that make each one distinct.

    >>> operation_name("aten::mm, op_id = 12"), operation_name("step 3")
    ('aten::mm', 'step 3')
    """
    return _SUFFIX.sub("", text)


def is_step(name: str) -> bool:
    """Whether a range is a step of the program.

    >>> is_step("iteration_12"), is_step("Step 3"), is_step("Optimizer.step#SGD.step"), is_step("forward")
    (True, True, False, False)
    """
    return bool(_STEP.match(name))
