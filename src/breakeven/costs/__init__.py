"""How long an operation takes: one small formula per family, fitted constants as data."""
