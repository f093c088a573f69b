"""Grids, crossing points, engines."""
