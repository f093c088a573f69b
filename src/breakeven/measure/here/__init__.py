"""This machine as it can be looked at from a process: the host, its accelerators, and why one is not usable."""
