"""Operation families: each says what an operation does to the device, in terms that its fitted constants turn into a time."""
