"""Engines: where the tasks of a sweep run, and in which order. They know nothing of what a task computes."""
