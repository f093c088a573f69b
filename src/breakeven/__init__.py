"""breakeven: which device a training should run on, why it is slow, and what to change."""

from __future__ import annotations

__version__ = "0.1.0"
