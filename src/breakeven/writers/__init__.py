"""Timelines to trace files."""
