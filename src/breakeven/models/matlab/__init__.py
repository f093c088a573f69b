"""MATLAB scripts that define and train a network, read without MATLAB and without running anything."""
