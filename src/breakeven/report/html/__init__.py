"""Answers as pages: one file each that opens from disk, loads nothing, and runs nothing but its own script."""

from __future__ import annotations
