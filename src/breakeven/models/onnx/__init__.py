"""ONNX files: the graph as a description of a network. Nothing of the file is run, and no other file is opened."""
