"""Diagnosis of imported timelines: steps, set-up, evidence, findings; what `breakeven trace` says."""
