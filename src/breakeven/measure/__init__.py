"""Honest timing, detection and probes of this machine."""
