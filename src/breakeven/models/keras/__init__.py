"""Keras models: the saved configuration as a description of a network. Nothing in the file is run, no weight is read."""
