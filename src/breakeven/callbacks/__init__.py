"""`breakeven.watch` where training loops live: a thin file for each framework, imported by who uses it."""
