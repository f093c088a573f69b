"""Magics for IPython and Jupyter: `%load_ext breakeven`, then `%%why` and `%%time_devices` on a cell."""
