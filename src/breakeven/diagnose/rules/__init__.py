"""One file per rule; the tuple of all rules is here."""
