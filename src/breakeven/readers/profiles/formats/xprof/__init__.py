"""XLA's profiles: the same planes and lines, as protocol buffers and as Chrome JSON."""
