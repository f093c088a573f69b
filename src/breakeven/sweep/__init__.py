"""Sweeps: grids over a script's parameters, cells that are measured or priced, crossing points, engines.

A cell is one choice of values. Some cells are run: timed on the CPU and recorded on the virtual GPU. The others are priced by
the laws that those show, which are checked where a cell was run and left out of the law.
"""
