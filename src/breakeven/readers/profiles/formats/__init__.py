"""One module per format; they know nothing of each other."""
