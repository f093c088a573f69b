"""What of a configuration is refused before it is read: code, and names that only the user's own program knows."""

from __future__ import annotations

import re
from typing import Any, Final

from breakeven.errors import InputError

#: Deepest nesting: a model in a model in a … has about six levels each.
DEEPEST: Final = 200
#: Most objects of a configuration.
MOST: Final = 2_000_000
_OWN: Final = re.compile(r"keras(\.[A-Za-z0-9_.]+)?|tf_keras(\.[A-Za-z0-9_.]+)?|tensorflow\.(python\.)?keras(\.[A-Za-z0-9_.]+)?")
#: Classes by which Keras writes plain values, not objects.
_VALUES: Final = frozenset(["__tuple__", "__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"])


def check(config: Any, file: str) -> None:  # Any: JSON
    """Refuse lambda layers and custom objects.

    Raises:
        InputError: naming it.
    """
    waiting: list[tuple[Any, int, str]] = [(config, 0, "")]
    seen = 0
    while waiting:
        value, depth, owner = waiting.pop()
        seen += 1
        if depth > DEEPEST or seen > MOST:
            raise InputError(f"{file}: its configuration is too deep or too large to be a model's")
        if isinstance(value, dict):
            owner = _checked(value, file, owner)
            waiting += [(one, depth + 1, owner) for one in value.values()]
        elif isinstance(value, list):
            waiting += [(one, depth + 1, owner) for one in value]


def _checked(value: dict[str, Any], file: str, owner: str) -> str:
    """Checks one object; returns the name of the layer that what is in it belongs to."""
    kind = value.get("class_name")
    if not isinstance(kind, str):
        return owner
    inner = value.get("config")
    named = inner.get("name") if isinstance(inner, dict) else None
    said = f"{kind[:60]} {str(named)[:60]!r}" if named else repr(kind[:60]) + (f" of {owner}" if owner else "")
    if kind in ("Lambda", "__lambda__"):
        raise InputError(
            f"{file}: {said} is a lambda: it holds code, and no code of a file is run. Write it with Keras's own layers"
        )
    module, registered = value.get("module"), value.get("registered_name")
    if kind in _VALUES:
        return owner
    if kind == "function" and isinstance(inner, str):
        if (module is None or module == "builtins" or _OWN.fullmatch(str(module))) and ">" not in str(registered or ""):
            return owner  # a word that the reader looks up in its own table
        kind = said = inner[:60]
    if ">" in kind or ">" in str(registered or "") or (module is not None and not _OWN.fullmatch(str(module))):
        where = f" (registered as {str(registered)[:60]!r})" if registered and registered != kind else ""
        came = f" of module {str(module)[:60]!r}" if module else ""
        raise InputError(
            f"{file}: {said} is a custom object{came}{where}; only Keras's own are read, as no code of a file is run"
        )
    return said
