"""Models of other frameworks, made in a child; the names of those models, without importing the frameworks."""

from __future__ import annotations

import ast
from pathlib import Path


def _names(file: str) -> list[str]:
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    for one in tree.body:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict) and getattr(one.targets[0], "id", "") == "MODELS":
            return [key.value for key in one.value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    raise AssertionError(f"no models in {file}")


def keras_zoo_names() -> list[str]:
    """The architectures of `keras_zoo.py`."""
    return _names("keras_zoo.py")


def onnx_zoo_names() -> list[str]:
    """The models of `onnx_zoo.py`."""
    return _names("onnx_zoo.py")
