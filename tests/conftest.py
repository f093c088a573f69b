"""What every room's tests may ask for: the repository's root, and the shared data where they are beside the checkout."""

from __future__ import annotations

import os
import pathlib

import hypothesis
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]

# No deadline: the tests share two cores with each other, and a slow example is no wrong one.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of shared data (`BREAKEVEN_SHARED`, else beside the checkout); skips where there is none."""
    folder = pathlib.Path(os.environ.get("BREAKEVEN_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared data are not beside this checkout (or name them in BREAKEVEN_SHARED)")
    return folder
