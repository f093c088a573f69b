"""Which cells of a large grid get draws of their own, and from which of these the others take theirs."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A block of so many cells gets draws for each; of a larger one so many, and the others take the relative draws of the one that
#: is most like them. On grids of 512 and 855 cells the ends of intervals then lie 0.4 to 1.2 % off in the mean, 11 % at most (64
#: that were even in space: 0.2 to 1.0 %, and 31 % at most).
ALL_DRAWN: Final = 64
MOST_DRAWN: Final = 24


def alike(regime: Floats) -> tuple[Ints, Ints]:
    """Cells that get draws of their own, and which of these each cell takes them from.

    All of a few; of many the ones that lie farthest from each other, one after the other (Gonzalez 1985), beginning with the
    smallest part of the device.

    Args:
        regime: shape (m, 2).
    """
    count = len(regime)
    if count <= ALL_DRAWN:
        return np.arange(count), np.arange(count)
    chosen = [int(np.argmin(regime[:, 0]))]
    nearest, apart = np.zeros(count, dtype=np.int64), np.linalg.norm(regime - regime[chosen[0]], axis=1)
    while len(chosen) < MOST_DRAWN and apart.max() > 0:
        chosen.append(int(np.argmax(apart)))
        to_new = np.linalg.norm(regime - regime[chosen[-1]], axis=1)
        nearest[to_new < apart] = len(chosen) - 1
        apart = np.minimum(apart, to_new)
    return np.array(chosen), nearest
