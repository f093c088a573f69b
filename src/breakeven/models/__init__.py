"""Networks from where they are: a typed description, readers that make one, and a writer of PyTorch scripts from it."""
