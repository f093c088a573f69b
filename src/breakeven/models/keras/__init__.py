"""Keras models: the saved configuration as a description of a network. Nothing of the file is run, and its weights are not read."""
