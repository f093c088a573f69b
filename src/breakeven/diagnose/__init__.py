"""From a Timeline to an account, and from both to findings."""
