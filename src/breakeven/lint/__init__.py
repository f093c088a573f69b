"""Sites in source, by static reading: one file per check."""
