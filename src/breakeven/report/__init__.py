"""An answer as text, JSON or a page; computes nothing."""
