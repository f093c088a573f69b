"""Profilers' traces to Timelines."""
