"""`python -m breakeven`: the command line."""

from __future__ import annotations

import sys

from breakeven.cli import main

if __name__ == "__main__":
    sys.exit(main())
