"""A network in one line: `embed 1→8, rnn 256, linear 1`."""
