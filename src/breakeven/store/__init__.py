"""A run is a folder, written whole or not at all."""
