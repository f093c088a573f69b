"""One file per remedy: its rewrite, its edit, when it is safe."""
