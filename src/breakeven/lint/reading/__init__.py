"""Reads a file of Python without running it: follows tensors, devices, loops and calls, and notes what may cost time."""
