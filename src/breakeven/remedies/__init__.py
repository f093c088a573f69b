"""Remedies: what to do about a finding. The catalogue says what each does, when it is safe, and which what-if prices it.

Edits of the source come with `breakeven fix`; a remedy whose effect a stream can show names its rewrite here.
"""

from __future__ import annotations

from breakeven.remedies.catalogue import REMEDIES, Remedy, remedy

__all__ = ["REMEDIES", "Remedy", "remedy"]
