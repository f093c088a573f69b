"""Sizes from `.mat` files of both forms; damaged and hostile ones are refused, and nothing in them runs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from breakeven.errors import InputError
from breakeven.models.matlab.data import given
from breakeven.models.matlab.values import Cell, Sized


@pytest.mark.parametrize("compressed", [False, True])
def test_version_5_tells_the_sizes_of_arrays_and_of_sequences_in_cells(tmp_path: Path, compressed: bool) -> None:
    cells = np.empty((3, 1), dtype=object)
    for at, steps in enumerate((5, 7, 5)):
        cells[at, 0] = np.zeros((12, steps))
    file = tmp_path / "data.mat"
    savemat(file, {"XTrain": cells, "Y": np.zeros((3, 1)), "images": np.zeros((28, 28, 1, 9))}, do_compression=compressed)
    values = given([str(file)])
    assert values["XTrain"] == Cell((Sized((12, 5)), Sized((12, 7)), Sized((12, 5))), (3, 1))
    assert values["images"] == Sized((28, 28, 1, 9))


def test_version_7_3_tells_them_too_with_dimensions_turned_round(tmp_path: Path) -> None:
    file = tmp_path / "data.mat"
    with h5py.File(file, "w", userblock_size=512) as made:
        made.create_dataset("images", data=np.zeros((9, 1, 28, 28)))
        refs = made.create_group("#refs#")
        inside = [refs.create_dataset(str(n), data=np.zeros((steps, 12))) for n, steps in enumerate((5, 7))]
        made.create_dataset("XTrain", data=np.array([[d.ref for d in inside]], dtype=h5py.ref_dtype))
    values = given([str(file)])
    assert values["images"] == Sized((28, 28, 1, 9))
    assert values["XTrain"] == Cell((Sized((12, 5)), Sized((12, 7))), (2, 1))


def test_a_link_out_of_the_file_is_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other.create_dataset("secret", data=np.zeros((4, 4)))
    with h5py.File(tmp_path / "data.mat", "w") as made:
        made["X"] = h5py.ExternalLink("other.h5", "secret")
        made["soft"] = h5py.SoftLink("/nowhere")
        made.create_dataset("Y", data=np.zeros((3, 2)))
    assert given([str(tmp_path / "data.mat")]) == {"Y": Sized((2, 3))}


class _Runs:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (str(self.marker),))


def test_nothing_in_a_file_runs(tmp_path: Path) -> None:
    """A pickle that calls itself a `.mat`, and one inside of it."""
    marker = tmp_path / "ran"
    hostile = pickle.dumps(_Runs(marker))
    (tmp_path / "plain.mat").write_bytes(hostile)
    with h5py.File(tmp_path / "inside.mat", "w") as made:
        made.create_dataset("X", data=np.frombuffer(hostile, dtype=np.uint8).reshape(1, -1))
    with pytest.raises(InputError, match="cannot be read"):
        given([str(tmp_path / "plain.mat")])
    assert given([str(tmp_path / "inside.mat")]) == {"X": Sized((len(hostile), 1))}
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["5", "7.3"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "data.mat"
    if kind == "5":
        savemat(file, {"X": np.arange(400.0).reshape(20, 20)}, do_compression=True)
    else:
        with h5py.File(file, "w", userblock_size=512) as made:
            made.create_dataset("X", data=np.zeros((20, 20)))
    whole = file.read_bytes()
    for length in (0, 1, 100, 130, len(whole) // 2, len(whole) - 5):
        file.write_bytes(whole[:length])
        try:
            given([str(file)])  # what is left may still tell the sizes
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017  # either is right, and this is what the error has to be
