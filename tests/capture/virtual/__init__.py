"""Tests of the virtual GPU."""
