"""Samples to estimates with intervals; says when a number is not to be trusted."""
