"""Rewrites: one pure rewrite of an OpStream per file; a gain is the difference of two simulations."""
