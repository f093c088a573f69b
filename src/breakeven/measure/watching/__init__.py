"""Watching a loop of this process while it runs: its rhythm, its parts, and what is wrong with how it is timed."""
