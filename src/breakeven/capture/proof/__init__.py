"""The proof: two versions of a script run in children, a block of steps each in turn, and what they compute compared.

The parent (`arms.py`, `prove.py`, `equality.py`) imports no torch; `proving.py` and `watch.py` run in the children.
"""
