"""Pure figures: typed data → `plotly.graph_objects.Figure`, one file per figure.

Every trace of a live figure has exactly one point per step of its data, in order, and the number of traces does not
depend on the data: the tail of such a figure is what a running chart appends (`appending.py`).
"""
