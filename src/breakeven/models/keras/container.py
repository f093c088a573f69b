"""The configuration in a Keras file: `.keras` (a zip), `.h5` (HDF5), `.json` (`to_json()`). Text alone; no object is made of it.

Sizes are bounded before anything is unpacked. Of a zip only `config.json` is opened, of an HDF5 file only two attributes:
weights, assets and data sets (in which pickles may hide) stay where they are.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, Final

from breakeven.errors import InputError, MissingExtra

#: Most bytes of a configuration: the largest of keras.applications has about 1 MB.
LARGEST: Final = 64 * 2**20
#: Most members of a `.keras` file, whose own have three and their assets.
MEMBERS: Final = 10_000

Config = dict[str, Any]  # Any: JSON


def configuration(path: Path) -> Config:
    """The model's configuration, with `compile_config` in it where it was compiled.

    Raises:
        InputError: it is no such file, it is damaged or too large, a member's path leads out of it.
        MissingExtra: an HDF5 file, and h5py is not here.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".keras" and zipfile.is_zipfile(path):
            return _parsed(_of_zip(path), path)
        if suffix == ".json":
            with path.open("rb") as file:
                return _parsed(file.read(LARGEST + 1), path)
        return _of_hdf5(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as a Keras model: {_line(error)}") from None


def _of_zip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) > MEMBERS:
            raise InputError(f"{path}: {len(names):,} members; a Keras file has at most {MEMBERS:,}")
        for name in names:
            plain = PurePosixPath(name.replace("\\", "/"))
            if plain.is_absolute() or ".." in plain.parts or ":" in plain.parts[0] if plain.parts else False:
                raise InputError(f"{path}: the member {name[:80]!r} leads out of the file; it is not opened")
        if "config.json" not in names:
            raise InputError(f"{path}: no config.json in it, so it is no Keras model (a file of weights alone has no layers)")
        with archive.open("config.json") as member:
            return member.read(LARGEST + 1)


def _of_hdf5(path: Path) -> Config:
    try:
        import h5py  # type: ignore[import-untyped]  # it has no types
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{path}: needs h5py: pip install 'breakeven[keras]'") from error
    with h5py.File(path, "r") as file:
        if "model_config" not in file.attrs:
            raise InputError(f"{path}: no model_config in it: it holds weights alone, or is no Keras model")
        config = _parsed(_text(file, "model_config", path), path)
        if "training_config" in file.attrs:
            training = _object(_text(file, "training_config", path), path)
            config["compile_config"] = {"optimizer": training.get("optimizer_config"), **training}
    return config


def _text(file: Any, name: str, path: Path) -> bytes:  # Any: h5py has no types
    kind = file.attrs.get_id(name)
    if kind.shape not in ((), (1,)) or kind.dtype.kind not in "SOU":
        raise InputError(f"{path}: {name} is no text")
    if kind.dtype.kind == "O":
        import h5py

        if h5py.check_string_dtype(kind.dtype) is None:
            raise InputError(f"{path}: {name} is no text")
    value = file.attrs[name]
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, str | bytes):
        raise InputError(f"{path}: {name} is no text")
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


def _parsed(text: bytes, path: Path) -> Config:
    config = _object(text, path)
    if not isinstance(config.get("config"), dict | list):
        raise InputError(f"{path}: not the configuration of a Keras model")
    return config


def _object(text: bytes, path: Path) -> Config:
    if len(text) > LARGEST:
        raise InputError(f"{path}: a configuration of more than {LARGEST // 2**20} MB; it is not read")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: its configuration is no JSON: {_line(error)}") from None
    if not isinstance(config, dict):
        raise InputError(f"{path}: not the configuration of a Keras model")
    return config


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
